"""The lessons: published tables of waits, pools, connections, log lines and batches, measured again."""
