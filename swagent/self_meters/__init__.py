"""The meters of the process and of the agent itself."""
