import asyncio
import os

from arq import create_pool
from arq.connections import RedisSettings


async def add(ctx, a, b):
    print(f"adding {a} and {b}", flush=True)
    return a + b


class WorkerSettings:
    functions = [add]
    redis_settings = RedisSettings.from_dsn(os.environ["REDIS"])
    handle_signals = True


async def main():
    pool = await create_pool(WorkerSettings.redis_settings)
    jobs = [await pool.enqueue_job("add", number, 1, _job_id=f"job-{number}") for number in range(3)]
    print([await each.result(timeout=30) for each in jobs])
    await pool.aclose()


if __name__ == "__main__":
    asyncio.run(main())
