from flask import Flask

from shop import look_up

app = Flask(__name__)


@app.get("/items/<int:id>")
def item(id):
    return look_up(id)
