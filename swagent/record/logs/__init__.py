"""The capture of log records: where they come from, what is kept of them, what keeps the capture from itself."""
