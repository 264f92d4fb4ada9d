"""The libraries that record by themselves, in rooms by kind: one module each, beside what those of a room share."""
