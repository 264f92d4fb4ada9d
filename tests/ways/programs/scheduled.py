import asyncio
import logging

from apscheduler.schedulers.asyncio import AsyncIOScheduler


async def main():
    done = asyncio.Event()
    scheduler = AsyncIOScheduler()
    ran = []

    async def job():
        ran.append(len(ran))
        if len(ran) == 3:
            done.set()

    scheduler.add_job(job, "interval", seconds=0.1, max_instances=3)
    scheduler.start()
    await done.wait()
    scheduler.shutdown()
    print("ran", ran)
    logging.warning("step done")


asyncio.run(main())
