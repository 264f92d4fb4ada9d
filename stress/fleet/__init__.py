"""A fleet of agents against a few collectors behind one name: the connections alone, on a virtual clock.

    python -m stress fleet
    python -m stress fleet --agents 1000 --collectors 3 --ages 0,240

The agents' decisions are real: when to try again (`Failover`), to which address (`shuffled`), when to make a connection
anew (`ConnectionAge`). Modelled are the calls that an agent makes, the network, and how many connections a collector
takes a second. Calls that change nothing are no events, so 10,000 agents take seconds.

`agent` is one agent, `collectors` are those and their name, `scenario` is what happens to them, `course` counts what
came of it, `command` prints the table.
"""
