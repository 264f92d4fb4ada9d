"""How a process comes by its agent and parts with it: a thread for it, a late start, an agent that runs already."""
