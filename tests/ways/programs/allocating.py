import gc
import logging
import tracemalloc

print("tracing", tracemalloc.is_tracing())
kept = [bytes(1000) for _ in range(100)]
found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)]).statistics("lineno")
print([each.count for each in found if each.size >= 100_000], gc.isenabled(), gc.get_threshold())
logging.warning("step done")
