"""A simulated world: the real agent, on a virtual clock, among collectors and networks that do whatever a seed says.

    python -m stress world --seeds 1000
    python -m stress world --seed 417 --verbose

One seed decides everything: settings, the work of the application, faults, delays, answers, and the order in which
ready tasks run. So one seed is one history, byte by byte, and a failure can be looked at as often as it takes. A
failing seed is run again with fewer faults, until none can be left out.

    application --records--> agent: runtime, pipeline, transport --bytes--> network --> collectors
         |                     |                                               |           |
         +------ plan, faults, clock ------------------------------------------+-----------+--> watch, history

All of the agent is real, down to the functions that open a socket or look up a name (`sockets`). It runs on an asyncio
loop (gRPC and HTTP) and on trio (HTTP); over gRPC, trio would need a thread, which has a will of its own. The kernel's
buffers are in `network`, the servers' protocols in `http_server` and `grpc_server`, and what a collector takes and
answers in `collector`. Some seeds have a `disk` to spill to; `spilled` looks at what becomes of the records there,
through all deaths of the application.

What must hold (`watch`), after each turn of asyncio's loop and each step of a task of trio's: the ledger adds up, and
what it says is there; bounds of items and bytes; no more than four batches under way; no batch without a verdict
beyond its time; no flood of attempts to connect. At each verdict: a collector has granted the records that are
confirmed, and none has taken those that go back or were rejected; those that are ambiguous have left; those that are
sent are not too old, and in order.
At each stop: its budget, nothing left in queues, connections, tasks. At the end, when the last fault is over for as
long as the contract allows: each record is confirmed within a second, the heart beats, a flush says yes, and the stop
takes no time and costs no record. And no record was taken more often than the contract says.

`mutations` are faults planted in the agent, to see whether all this finds them; `table` says by which seed each is.

`plan` draws, `run` runs one seed, `shrink` makes a failing plan smaller, `command` reads the arguments.
"""
