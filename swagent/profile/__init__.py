"""Explains slow requests: samples of the application's event loop and tasks meanwhile."""
