"""A Python that has imported all that servers need, and forks off one on demand: a start in no time.

    python warm.py FD

FD is a Unix socket. `{"run": [module, argument...], "environ": {...}, "folder": "..."}`, with a descriptor for the
output, is answered by the process's id; `{"reap": id}` waits for its end and is answered by its status. What comes of
a fork runs as `python -m module argument...` would.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import socket
import sys
from typing import Any

# what every server would import
MODULES = (
    "gunicorn.app.wsgiapp", "hypercorn.asyncio.run", "hypercorn.run", "hypercorn.trio.run", "starlette.applications",
    "starlette.responses", "uvicorn.lifespan.on", "uvicorn.loops.uvloop", "uvicorn.protocols.http.httptools_impl",
    "uvicorn_worker", "swagent.asgi", "swagent_proto.wire", "swagent_proto.wire_json", "swagent_transports.grpc",
    "swagent_transports.http", "swagent_transports.kafka",
)  # fmt: skip


def wait_for_work(control: socket.socket) -> dict[str, Any]:
    """Obey orders. Returns in forked children only, with what they are to become."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not message:
            os._exit(0)
        order = json.loads(message)
        if "reap" in order:
            _, status = os.waitpid(order["reap"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if not answer:
                control.close()
                os.dup2(descriptors[0], 1)
                os.dup2(descriptors[0], 2)
                os.close(descriptors[0])
                return dict(order)
            os.close(descriptors[0])
        control.send(json.dumps(answer).encode())


def become(order: dict[str, Any]) -> None:
    """Be what `python -m` would have been."""
    os.setsid()
    os.environ.clear()
    os.environ.update(order["environ"])
    os.chdir(order["folder"])
    sys.path[:1] = [order["folder"], *os.environ["PYTHONPATH"].split(os.pathsep)]
    sys.argv[:] = order["run"]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for module in MODULES:
        importlib.import_module(module)
    become(wait_for_work(socket.socket(fileno=int(sys.argv[1]))))
