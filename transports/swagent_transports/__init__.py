"""The transports that come with swagent: one module each, found through the entry point group `swagent.transports`."""
