from deprecated import deprecated
from flask import Flask
from wrapt import decorator

from shop import look_up

app = Flask(__name__)


@decorator
def twice(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs) and wrapped(*args, **kwargs)


@twice
def answer(id):
    return f"item {id}"


@deprecated(version="1", reason="only here")
def old():
    return 1


@app.get("/items/<int:id>")
def item(id):
    look_up(id)
    return answer(id)
