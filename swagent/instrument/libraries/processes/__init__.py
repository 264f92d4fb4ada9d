"""The standard library's pools of processes."""
