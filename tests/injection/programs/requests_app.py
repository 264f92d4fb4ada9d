"""Flask, which calls itself by requests."""

import sys

import certifi
import idna
import requests
from dateutil.parser import isoparse
from flask import Flask, request
from six.moves.urllib.parse import urlsplit
from werkzeug.serving import run_simple

from shop import look_up

app = Flask(__name__)


@app.get("/items/<int:id>")
def item(id):
    assert certifi.where().endswith("cacert.pem")
    assert idna.encode("shop.example") == b"shop.example"
    port = urlsplit(request.url).port
    return f"{requests.get(f'http://127.0.0.1:{port}/stock/{id}', timeout=60).text} {isoparse('2020-02-02').year}"


@app.get("/stock/<int:id>")
def stock(id):
    return look_up(id)


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
