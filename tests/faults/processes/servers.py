"""The servers, as they are started."""

from __future__ import annotations

_UVICORN = "uvicorn asgi.served:app --port 0 --no-access-log --no-use-colors"
_HYPERCORN = "hypercorn asgi.served:app --bind 127.0.0.1:0"
_GUNICORN = "gunicorn --bind 127.0.0.1:0 --workers 2 --no-control-socket"

# for each loop one that has it
SERVERS = {
    "asyncio": f"{_UVICORN} --loop asyncio",
    "uvloop": f"{_UVICORN} --loop uvloop",
    "trio": f"{_HYPERCORN} -k trio",
}
HYPERCORN = {loop: f"{_HYPERCORN} -k {loop} --workers 2" for loop in ("asyncio", "uvloop", "trio")}
GUNICORN = {loop: f"{_GUNICORN} -k faults.processes.workers.{loop.capitalize()}" for loop in ("asyncio", "uvloop")}


def booted(output: str) -> set[str]:
    """The process ids of all workers that gunicorn has ever started."""
    return {line.rpartition(" ")[2] for line in output.splitlines() if "Booting worker with pid" in line}
