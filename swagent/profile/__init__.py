"""Why something was slow: what the event loop and the tasks of the application were doing meanwhile."""
