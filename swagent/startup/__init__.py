"""The first steps of a process under `swagent run`: all that it imports of ours before there is a need for more.

These modules import nothing but each other, `os`, `sys` and the like. An application waits for them at each of its
starts, and most processes that a command starts record nothing.
"""
