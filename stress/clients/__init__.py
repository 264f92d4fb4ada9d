"""The choice of libraries, measured again: what else could carry the records, and hand them over."""
