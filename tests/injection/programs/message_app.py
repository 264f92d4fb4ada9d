"""Flask, and messages of protobuf."""

import sys

from flask import Flask
from google.protobuf import json_format, struct_pb2
from grpc import StatusCode
from werkzeug.serving import run_simple

from shop import look_up

app = Flask(__name__)


@app.get("/items/<int:id>")
def item(id):
    message = struct_pb2.Struct()
    message["item"] = look_up(id)
    found = json_format.MessageToDict(struct_pb2.Struct.FromString(message.SerializeToString()))
    return f"{StatusCode.OK.name}: {found['item']}"


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
