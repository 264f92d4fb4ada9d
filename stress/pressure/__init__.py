"""Three services of one trace, and a collector that takes a fifth of what they record."""
