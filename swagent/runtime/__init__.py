"""The parts that keep an agent alive: its tasks, its thread, its transports, and its recording."""
