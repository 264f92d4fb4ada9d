"""Libraries that log."""
