import os

import redis
from rq import Queue
from script import step

if __name__ == "__main__":
    queue = Queue(connection=redis.Redis.from_url(os.environ["REDIS"]))
    for number in range(3):
        queue.enqueue(step, number, job_id=f"job-{number}")
    print(queue.count, "jobs")
