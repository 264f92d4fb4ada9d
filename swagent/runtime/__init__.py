"""The agent's tasks, and where they run."""
