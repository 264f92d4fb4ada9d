import os

from celery import Celery

app = Celery("celery_app", broker=os.environ["REDIS"], backend=os.environ["REDIS"])
app.conf.broker_connection_retry_on_startup = True
app.conf.beat_schedule = {"often": {"task": "celery_app.add", "schedule": 0.5, "args": (1, 2)}}


@app.task
def add(a, b):
    print(f"adding {a} and {b}")
    return a + b


if __name__ == "__main__":
    import celery_app

    print([celery_app.add.delay(number, 1).get(timeout=30) for number in range(5)], flush=True)
