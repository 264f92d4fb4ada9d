"""Traces as a file: written by the page's server, taken in by it again, and read by tests."""
