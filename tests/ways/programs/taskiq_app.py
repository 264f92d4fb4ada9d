"""One process: taskiq's own broker in memory."""

import asyncio

from taskiq import InMemoryBroker

broker = InMemoryBroker()


@broker.task
async def add(a, b):
    return a + b


async def main():
    await broker.startup()
    tasks = [await add.kiq(number, 1) for number in range(3)]
    print([(await each.wait_result(timeout=30)).return_value for each in tasks])
    await broker.shutdown()


asyncio.run(main())
