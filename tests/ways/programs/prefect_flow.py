import logging

from prefect import flow, task


@task
def square(number: int) -> int:
    return number * number


@flow
def squares() -> int:
    return sum(square(each) for each in range(4))


if __name__ == "__main__":
    total = squares()
    logging.warning("step done")
    print("total", total)
