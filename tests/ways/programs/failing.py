import logging

logging.warning("step done")
raise SystemExit(3)
