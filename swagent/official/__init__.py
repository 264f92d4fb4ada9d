"""The API of the official agent, served by this one: an application that has `from skywalking import agent, config` in
it runs unchanged.

Theory of operation
-------------------
The modules here have the names and the meaning of the official agent's public API, on top of swagent's own. A finder
serves them as the package `skywalking`. Under `swagent run` it is there from the start, behind all other finders: so a
distribution that is installed wins, unless SW_AGENT_COMPATIBILITY is `official`. Elsewhere a program calls `serve()`.
Until then nothing here is imported.
"""

from __future__ import annotations

from .serving import serve as serve
