"""Collectors that only count: what a measurement sends to, so that it measures the sender."""
