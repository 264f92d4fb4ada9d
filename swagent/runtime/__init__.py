"""What keeps an agent alive: its tasks, its thread, its transports, and what it puts in place."""
