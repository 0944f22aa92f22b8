"""An agent that writes during a read, in another process; its arguments choose how.

Each transaction adds a message with its part, and writes their number into the session's title. A
reader that sees different numbers did not see one moment of the database.
"""

import json
import sqlite3
import sys
import time

SESSION = "ses_1b7Nora"
ENOUGH = 20_000
PAUSE = 0.002
"""How long it waits between two transactions: without a rollback journal's locks being free at
times, nobody else gets in.
"""


def connect(path: str, journal: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    return connection


def add(connection: sqlite3.Connection, number: int) -> None:
    user = json.dumps({"role": "user", "time": {"created": number}})
    part = json.dumps({"type": "text", "text": f"words {number} " + "x" * 2000})
    connection.execute(
        "INSERT INTO message VALUES (?, ?, ?, ?, ?)",
        [f"msg_{number:06}", SESSION, number, number, user],
    )
    connection.execute(
        "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)",
        [f"prt_{number}", f"msg_{number:06}", SESSION, 1, 1, part],
    )
    connection.execute("UPDATE session SET title = ? WHERE id = ?", [str(number), SESSION])


def ready() -> None:
    print("ready", flush=True)


def writing(path: str, journal: str) -> None:
    """Write all the time, over one connection."""
    connection = connect(path, journal)
    for number in range(1, ENOUGH):
        connection.execute("BEGIN IMMEDIATE")
        add(connection, number)
        connection.execute("COMMIT")
        if number == 1:
            ready()
        time.sleep(PAUSE)


def coming_and_going(path: str, journal: str) -> None:
    """Write all the time, over a new connection each time, so that the log comes and goes."""
    for number in range(1, ENOUGH):
        connection = connect(path, journal)
        connection.execute("BEGIN IMMEDIATE")
        add(connection, number)
        connection.execute("COMMIT")
        connection.close()
        if number == 1:
            ready()
        time.sleep(PAUSE)


def once(path: str, journal: str) -> None:
    """Write once, and exit."""
    connection = connect(path, journal)
    add(connection, 1)
    connection.close()


def idle(path: str, journal: str) -> None:
    """Write once, and wait."""
    connection = connect(path, journal)
    add(connection, 1)
    _stay()


def unfinished(path: str, journal: str) -> None:
    """Begin a transaction that is larger than the cache, and wait in the middle of it."""
    connection = connect(path, journal)
    add(connection, 1)
    connection.execute("PRAGMA cache_size = 5")
    connection.execute("BEGIN IMMEDIATE")
    for number in range(2, 200):
        add(connection, number)
    _stay()


def exclusive(path: str, journal: str) -> None:
    """Lock everybody else out."""
    connection = connect(path, journal)
    connection.execute("BEGIN EXCLUSIVE")
    _stay()


def _stay() -> None:
    ready()
    time.sleep(300)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
