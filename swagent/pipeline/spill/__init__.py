"""Spill to disk: what a full channel would refuse waits in files, and comes back in order. Nothing here is imported
unless `SW_AGENT_SPILL` is set."""
