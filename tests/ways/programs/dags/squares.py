import logging

from airflow.sdk import dag, task


@dag
def squares():
    @task
    def square():
        logging.getLogger("shop").warning("step done")
        print("total", sum(each * each for each in range(4)))

    square()


squares()
