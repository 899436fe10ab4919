"""What other processes do in the tests of transactions."""

from __future__ import annotations

import os
import random
import time
from multiprocessing.connection import Connection

import pyarrow as pa

from lanceyard.errors import ConcurrentModificationError
from tests.transactions.conftest import open_yard

ACCOUNTS = [f"account{number:02}" for number in range(20)]


def rows(*found: int) -> pa.Table:
    return pa.table({"n": pa.array(found, pa.int64())})


def add(root: str, mark: str, number: int) -> None:
    """Take part in a transaction."""
    yard = open_yard(root)
    with yard.transaction(mark) as tx:
        tx.table("shop.a").insert(rows(number))
        tx.table("shop.b").insert(rows(number))


def die(root: str) -> None:
    """Begin a transaction, and be gone."""
    tx = open_yard(root).transaction()
    tx.table("shop.a").insert(rows(666))
    tx.create_table("shop.c", {"n": [666]})
    os._exit(1)


def begin(told: Connection) -> float:
    """Tell that this process is there, and wait until all are; the time at which to end."""
    told.send(None)
    return float(told.recv())


def move_money(root: str, seed: int, told: Connection) -> None:
    """Transfer random amounts until the time is over, and tell how many landed and did not."""
    chance = random.Random(seed)
    yard = open_yard(root)
    landed = refused = 0
    deadline = begin(told)
    while time.time() < deadline:
        source, target = chance.sample(ACCOUNTS, 2)
        amount = chance.randint(1, 10)
        try:
            with yard.transaction() as tx:
                tx.table(source).update({"money": f"money - {amount}"})
                tx.table(target).update({"money": f"money + {amount}"})
        except ConcurrentModificationError:
            refused += 1
        else:
            landed += 1
    yard.close()
    told.send((landed, refused))


def count_money(root: str, told: Connection) -> None:
    """Sum all accounts at one state after the other, and tell which sums there were."""
    yard = open_yard(root)
    sums: set[int] = set()
    looks = 0
    deadline = begin(told)
    while time.time() < deadline:
        state = yard.states()[-1]
        then = yard.as_of(state.version)
        sums.add(sum(then.table(name).read()["money"].to_pylist()[0] for name in ACCOUNTS))
        looks += 1
    told.send((looks, sums))
