"""multiprocessing and concurrent.futures: a job in another process belongs to the trace of its caller.

The context travels beside the job, in a place that neither pickle nor a child without the agent minds: as an attribute
of an object that is pickled anyway (`Process`, an executor's call), or of the empty dictionary of keywords that a
pool's task has. The job itself is pickled as it is, and runs in every child as before.

It is the context of the call that hands over the job. So a pool's workers, which live on, do not belong to the request
in which the pool happened to be made.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...arguments import Args, Kwargs, argument, with_argument
from ...call import safely
from ...instrumentation import STANDARD_LIBRARY, Instrumentation
from ...looking import at_end_of_call, before_call
from ...patches import Patches
from ...rewriting import rewriting_call
from .process_job import SENT, attributes_of, sent_with_job
from .process_worker import begin_work

# Whose processes serve many callers: the jobs of those that are known have contexts of their own.
_POOLS = ("multiprocessing.", "concurrent.futures.", "joblib.", "loky.")


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "multiprocessing.process":
        patches.wrap(module.BaseProcess, "start", _sending)
        patches.wrap(module.BaseProcess, "_after_fork", _beginning)
    elif module.__name__ == "multiprocessing.context":
        patches.wrap(module.SpawnProcess, "_after_fork", _beginning)
    elif module.__name__ == "multiprocessing.pool":
        patches.wrap(module.ApplyResult, "__init__", before_call(_note_result))
        patches.wrap(module.IMapIterator, "__init__", before_call(_note_result))
        patches.wrap(module.Pool, "_handle_tasks", rewriting_call(_with_contexts))
    else:
        # made in the call of `submit`
        patches.wrap(module._WorkItem, "__init__", before_call(_note_context))  # noqa: SLF001
        queue = module._SafeQueue  # noqa: SLF001
        patches.wrap(queue, "put", before_call(_add_to_call))
        # its base's, where pickle would look for it
        queue.put.__module__, queue.put.__qualname__ = queue.__module__, f"{queue.__qualname__}.put"


def _note_context(thing: Any, *_: object) -> None:
    sent = sent_with_job()
    if sent is not None:
        attributes_of(thing)[SENT] = sent


# -- Process ----------------------------------------------------------------------------------------------------------


def _forget_context(thing: Any) -> None:
    attributes_of(thing).pop(SENT, None)


def _note_process(process: Any, *_: object) -> None:
    module = getattr(attributes_of(process).get("_target"), "__module__", None)
    if not (isinstance(module, str) and module.startswith(_POOLS)):
        _note_context(process)


def _sending(start: Callable[..., Any]) -> Callable[..., Any]:
    return at_end_of_call(_forget_context)(before_call(_note_process)(start))


def _beginning(after_fork: Callable[..., Any]) -> Callable[..., Any]:
    """multiprocessing calls it in each child, before what the child is there for."""

    def beginning(*args: Any, **kwargs: Any) -> Any:
        found = after_fork(*args, **kwargs)
        safely(begin_work)
        return found

    return beginning


# -- Pool -------------------------------------------------------------------------------------------------------------


def _note_result(result: Any, args: Args, kwargs: Kwargs) -> None:
    # made in the call that hands over its tasks
    if _has_processes(argument(args, kwargs, 0, "pool")._inqueue):  # noqa: SLF001
        _note_context(result)


def _has_processes(queue: Any) -> bool:
    """Whether a pool's queue leads to processes, and not to the threads of a ThreadPool."""
    return hasattr(queue, "_writer")


def _with_contexts(args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """For the thread that sends tasks to the workers."""
    if not _has_processes(argument(args, kwargs, 2, "outqueue")):
        return args, kwargs
    tasks = _Tasks(argument(args, kwargs, 0, "taskqueue"), argument(args, kwargs, 4, "cache"))
    return with_argument(args, kwargs, 0, "taskqueue", tasks)


class _Tasks:
    """The queue of what is to be sent, as its reader sees it."""

    def __init__(self, tasks: Any, results: Any) -> None:
        self._tasks = tasks
        self._results = results

    def get(self) -> Any:
        """The next tasks; None: there will be none."""
        item = self._tasks.get()
        return item if item is None else (self._carrying(item[0]), *item[1:])

    def _carrying(self, tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            yield safely(self._add_context, task) or task

    def _add_context(self, task: Any) -> Any:
        number, index, function, args, kwargs = task
        result = self._results.get(number)
        sent = attributes_of(result).get(SENT) if result is not None else None
        module: Any = sys.modules["multiprocessing.pool"]
        if sent is None or function is module._helper_reraises_exception:  # noqa: SLF001
            return None
        if type(kwargs) is dict and not kwargs:
            carrier: OrderedDict[str, Any] = OrderedDict()
            attributes_of(carrier)[SENT] = sent
            return number, index, function, args, carrier
        # of `apply`, whose only task needs no number
        return (number, sent, function, args, kwargs) if type(result) is module.ApplyResult else None


# -- ProcessPoolExecutor ----------------------------------------------------------------------------------------------


def _add_to_call(queue: Any, args: Args, kwargs: Kwargs) -> None:
    # the call that a worker gets is made of the work item later, in a thread of the executor's
    call = argument(args, kwargs, 0, "obj")
    item = queue.pending_work_items.get(call.work_id) if call is not None else None
    if item is not None and SENT in attributes_of(item):
        attributes_of(call)[SENT] = attributes_of(item)[SENT]


INSTRUMENTATION = Instrumentation(
    name="multiprocessing",
    module="multiprocessing.process",
    also=("multiprocessing.context", "multiprocessing.pool", "concurrent.futures.process"),
    hook=_hook,
    distribution=STANDARD_LIBRARY,
)
