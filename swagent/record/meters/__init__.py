"""Counters, gauges and histograms, and the registry that collects them."""
