"""The capture of log records: where they come from, what is kept of them, and how the capture does not capture
itself."""
