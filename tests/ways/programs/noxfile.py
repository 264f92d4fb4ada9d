import nox


@nox.session
def script(session):
    session.run("python", "script.py")
