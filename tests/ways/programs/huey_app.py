import os

from huey import RedisHuey

huey = RedisHuey("shop", url=os.environ["REDIS"])


@huey.task()
def add(a, b):
    print(f"adding {a} and {b}", flush=True)
    return a + b


def produce():
    print([add(number, 1).get(blocking=True, timeout=30) for number in range(3)])
