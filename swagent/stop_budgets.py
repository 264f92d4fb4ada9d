"""The time that stopping may take: every budget in one place, in seconds.

| budget | for what | inside of |
| --- | --- | --- |
| `shutdown_timeout` (setting, 5 s) | the last flush | |
| `LAST_EVENT` | of the last flush, the part that the event of the end has at least | the last flush |
| `CANCELLED_FLUSH` | the last flush, once the host is cancelled from outside | the last flush |
| `TERMINATED_FLUSH` | the last flush of a worker that waits for work, and is ended by a signal | |
| `CLOSE` | closing hard the connections that a peer will not let go of, after the flush | |
| `CALL_END` | a transport's call that was cancelled, before it is left behind | `CLOSE` |
| `TRANSPORT_CALL_END` | the time that transports allow their own tasks for the same | `CALL_END` |
| `SPILL_END` | what is in memory goes to disk, with `SW_AGENT_SPILL` | `CLOSE` |
| `REQUESTS_END` | requests that the server has cut off, before the agent stops | |
| `THREAD_END` | the agent thread, beyond `shutdown_timeout`, for the caller that waits for it | |

So an agent has stopped after `shutdown_timeout + CLOSE` at the latest, whatever the peer does.
"""

from __future__ import annotations

LAST_EVENT = 0.2
CANCELLED_FLUSH = 1.0
TERMINATED_FLUSH = 1.0
CLOSE = 0.5
CALL_END = 0.25
TRANSPORT_CALL_END = 0.2
SPILL_END = 0.2
REQUESTS_END = 0.1
THREAD_END = 2 * CLOSE
