"""The agent in a process that serves already: what `swagent attach` and `swagent detach` have it do.

Theory of operation
-------------------
The command has the process run a few lines in its main thread, which call `obey` and return at once. All else is done
in a thread: the application goes on meanwhile. The agent starts first, in a thread of its own, so that no request waits
for it. Then the libraries are instrumented, and with them the servers that serve already.

The other way round, the libraries become what they were, then the agent sends what it has and stops. A request that is
under way is served to its end by what it began with. If it ends after the agent does, it is not recorded.

An answer goes to the socket that the command listens at.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from contextlib import ExitStack
from functools import partial

from .agent_log import say
from .startup import import_hook
from .startup.import_hook import importing_for_ourselves
from .system_thread import Flag, SystemThread, new_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .agent import Agent
    from .ledger import SignalStatistics

# Released to end an attachment that has a time; there is one where an agent is attached.
_end: Flag | None = None
_LONGEST_ANSWER = 5.0  # seconds
_LONGEST_WAIT = 15.0
# One order at a time: a detachment amid an attachment would leave half of that.
_under_way = new_lock()


def obey(order: Mapping[str, Any]) -> None:
    """Do as a command says, in a thread. Returns at once and never raises: it is called in the application's thread.

    :param order: `do` is `attach` or `detach`; `answer` is the path of the socket for the answer; `settings` are
        variables that win over those of the process, and `seconds` is the time after which it is detached, or None
    """
    try:
        SystemThread(partial(_obey, order), "swagent attach").start()
    except RuntimeError as error:
        _answer(order["answer"], {"error": f"no thread can be started: {error}"})


def _obey(order: Mapping[str, Any]) -> None:
    said: dict[str, Any]
    try:
        said = _alone(lambda: _attach(order) if order["do"] == "attach" else _detach())
    except Exception as error:  # noqa: BLE001, RUF100  (it is the command that has to hear of it)
        said = {"error": str(error) or repr(error)}
    _answer(order["answer"], said)
    if order["do"] == "attach" and "error" not in said and order["seconds"] is not None:
        try:
            _detach_after(order["seconds"])
        except Exception as error:  # noqa: BLE001, RUF100  (no command waits for it, and the application has not failed)
            say(logging.ERROR, "the agent could not be detached", exc_info=error)


def _alone(do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not _under_way.acquire(timeout=_LONGEST_WAIT):
        return {"error": "the agent is just being attached or detached"}
    try:
        return do()
    finally:
        _under_way.release()


def _attach(order: Mapping[str, Any]) -> dict[str, Any]:
    global _end  # noqa: PLW0603, RUF100
    if _end is not None:
        return {"error": "the agent is attached to this process already"}
    with importing_for_ourselves():
        from .agent import running  # noqa: PLC0415, RUF100  (all of it not before an agent is wanted)
        from .hosting import late_start  # noqa: PLC0415, RUF100

        if running() is not None or late_start.followed() is not None:
            return {"error": "this process has an agent already"}
        _end = Flag()
        try:
            return _begin(order["settings"])
        except BaseException:
            _undo()
            raise


def _begin(settings: Mapping[str, str]) -> dict[str, Any]:
    from .abc import addresses_of  # noqa: PLC0415, RUF100
    from .agent import running  # noqa: PLC0415, RUF100
    from .config.without_code import read_without_code  # noqa: PLC0415, RUF100
    from .errors import AgentStateError  # noqa: PLC0415, RUF100
    from .hosting import late_start  # noqa: PLC0415, RUF100
    from .instrument import instrument, living  # noqa: PLC0415, RUF100
    from .instrument.installation import recording  # noqa: PLC0415, RUF100
    from .runtime.transport_choice import find_transport  # noqa: PLC0415, RUF100

    config = read_without_code({**os.environ, **settings})
    addresses = addresses_of(find_transport(config), config)
    late_start.follow(config, sys.orig_argv)
    late_start.start_now()
    if running() is None:
        raise AgentStateError("the agent does not start; the log of the process says why")
    import_hook.resume()
    with living.searching():
        instrument(config=config)
    return {
        "service": config.service_name,
        "addresses": ", ".join(map(str, addresses)),
        "protocol": config.protocol,
        "recorded": recording(),
    }


def _detach() -> dict[str, Any]:
    if _end is None:
        return {"error": "no agent is attached to this process"}
    _end.set()
    from .agent import running  # noqa: PLC0415, RUF100

    agent: Agent | None = running()
    _undo()
    if agent is None:
        return {"sent": 0, "lost": 0}
    return count(agent.statistics().segment)


def count(ledger: SignalStatistics) -> dict[str, int]:
    """How many segments were delivered, and how many were not.

    Requests that were under way may end while the agent stops, and are refused then. They are left out: how many of
    them are in the ledger depends on the moment at which it is read.
    """
    from .ledger import Refusal  # noqa: PLC0415, RUF100

    late = ledger.refused.get(Refusal.SHUTDOWN.value, 0)
    return {"sent": ledger.confirmed, "lost": ledger.offered - ledger.confirmed - late}


def _detach_after(seconds: float) -> None:
    end = _end
    if end is not None:
        end.wait(min(seconds, threading.TIMEOUT_MAX))
        # by a command meanwhile, and perhaps attached anew
        _alone(lambda: _detach() if end is _end and not end.is_set() else {})


def _undo() -> None:
    """Leave the libraries as they were, and stop the agent."""
    global _end  # noqa: PLW0603, RUF100
    from .hosting import agent_thread, late_start  # noqa: PLC0415, RUF100
    from .instrument import uninstrument  # noqa: PLC0415, RUF100
    from .request.following import follow_no_more  # noqa: PLC0415, RUF100

    with ExitStack() as steps:
        # the last one first, and each one whatever became of the others
        steps.callback(agent_thread.stop_own)
        steps.callback(import_hook.pause)
        steps.callback(follow_no_more)
        steps.callback(uninstrument)
        steps.callback(late_start.unfollow)
        _end = None


def _answer(path: str, said: Mapping[str, Any]) -> None:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_LONGEST_ANSWER)
            connection.connect(path)
            connection.sendall(json.dumps(said).encode())
    except OSError:
        # the command waits no more
        return
