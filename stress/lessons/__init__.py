"""The lessons' tables: what was published of waits, pools, connections, log lines and batches, measured again."""
