import huey_app

huey_app.produce()
