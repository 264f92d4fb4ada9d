import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=os.environ["REDIS"]))


@dramatiq.actor
def add(a, b):
    print(f"adding {a} and {b}", flush=True)
    if a == 2:
        print("all added", flush=True)


if __name__ == "__main__":
    for number in range(3):
        add.send(number, 1)
