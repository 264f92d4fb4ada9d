"""One signal's pipeline, in driving order: encoder, channel, batcher, reporter, and the route to a collector."""
