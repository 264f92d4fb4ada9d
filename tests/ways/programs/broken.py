import logging


def divide(by):
    return 1 / by


logging.warning("step done")
divide(0)
