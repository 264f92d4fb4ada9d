"""A script: it works, it logs, it ends."""

import logging
import threading


def step(number):
    """Add up.

    >>> step(3)
    6
    """
    return sum(range(number + 1))


class Odd(threading.Thread):
    def run(self):
        self.result = step(5)


def main():
    thread = Odd()
    thread.start()
    thread.join()
    print("total", step(4) + thread.result, thread.name)
    logging.warning("step done")


if __name__ == "__main__":
    main()
