"""What the requests of all applications do: one query."""

import sqlite3


def look_up(number):
    with sqlite3.connect(":memory:") as connection:
        (found,) = connection.execute("SELECT ? + 0", (number,)).fetchone()
    connection.close()
    return f"item {found}"
