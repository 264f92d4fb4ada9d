"""An asyncio script: the names and numbers of its tasks and threads are seen."""

import asyncio
import concurrent.futures
import logging
import threading


async def child():
    await asyncio.sleep(0)
    return asyncio.current_task().get_name()


async def main():
    print(asyncio.current_task().get_name(), await asyncio.gather(child(), child()))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        print(pool.submit(lambda: threading.current_thread().name).result())
    print(await asyncio.to_thread(lambda: threading.current_thread().name), len(asyncio.all_tasks()))
    logging.warning("step done")


asyncio.run(main())
