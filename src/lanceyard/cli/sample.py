"""The sample catalog of `lanceyard demo`: always the same, made without a network."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lanceyard.cli.progress import Tell
from lanceyard.yard import Yard

SEED = 7
DIMENSION = 8
TOPICS = ("astronomy", "gardening", "cooking", "music")
FRUITS = ("apple", "banana", "cherry", "fig", "grape", "kiwi", "lemon", "mango", "pear", "plum")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo", "Ida", "Jon")
WORDS = {
    "astronomy": "telescope star planet orbit light comet",
    "gardening": "seed soil water tomato compost spring",
    "cooking": "oven salt butter simmer garlic dough",
    "music": "rhythm chord melody piano tempo choir",
}
VECTORS = pa.list_(pa.float32(), DIMENSION)
COLOURS = ("red", "green", "blue")
PICTURE = 16


def fill(yard: Yard, tell: Tell) -> None:
    """Fill an empty catalog: three namespaces, eight tables, versions, tags and indexes."""
    steps = [_shop, _media, _library]
    for done, step in enumerate(steps):
        tell(step.__name__.strip("_"), done, len(steps))
        step(yard, random.Random(SEED + done))
    tell("demo", len(steps), len(steps))


def _shop(yard: Yard, chance: random.Random) -> None:
    yard.create_namespace("shop", {"owner": "sales"})
    prices = [round(chance.uniform(1, 9), 2) for _ in FRUITS]
    products = yard.create_table(
        "shop.products",
        {"id": [*range(1, len(FRUITS) + 1)], "name": [*FRUITS], "price": prices},
        properties={"comment": "what there is"},
    )
    products.tag("opening").update({"price": "price * 0.9"}, where="price > 5")
    products.tag("sale").index("id")
    numbers = [*range(1, len(NAMES) + 1)]
    yard.create_table("shop.customers", {"id": numbers, "name": [*NAMES]})
    orders = yard.create_table("shop.orders", _orders(chance, 0, 40))
    for day in range(1, 4):
        orders.append(_orders(chance, day, 40))
    reviews = [
        {
            "product": fruit,
            "stars": chance.randint(2, 5),
            "text": f"A {word} {fruit}, {word} again.",
        }
        for fruit in FRUITS
        for word in chance.sample(("sweet", "ripe", "juicy", "sour", "fresh"), 2)
    ]
    yard.create_table("shop.reviews", reviews).index("text", "FTS")


def _orders(chance: random.Random, day: int, count: int) -> dict[str, list[Any]]:
    return {
        "day": [day] * count,
        "customer": [chance.randint(1, len(NAMES)) for _ in range(count)],
        "product": [chance.randint(1, len(FRUITS)) for _ in range(count)],
        "pieces": [chance.randint(1, 6) for _ in range(count)],
    }


def _media(yard: Yard, chance: random.Random) -> None:
    yard.create_namespace("media", {"owner": "studio"})
    colours = [tuple(chance.randrange(256) for _ in range(3)) for _ in range(20)]
    pictures = {
        "id": [*range(len(colours))],
        "picture": [_png(colour) for colour in colours],
        "colour": pa.array(
            [[part / 255 for part in c] for c in colours], pa.list_(pa.float32(), 3)
        ),
    }
    yard.create_table("media.images", pictures)
    labels = [COLOURS[colour.index(max(colour))] for colour in colours]
    yard.create_table("media.labels", {"image": [*range(len(colours))], "label": labels})


def _library(yard: Yard, chance: random.Random) -> None:
    yard.create_namespace("library", {"owner": "search"})
    documents = [*_documents(chance, 25)]
    schema = pa.schema(
        {"id": pa.int64(), "topic": pa.string(), "text": pa.string(), "vector": VECTORS}
    )
    held = yard.create_table("library.documents", documents[:60], schema=schema)
    held.tag("first").append(pa.Table.from_pylist(documents[60:], schema=schema))
    held.index("text", "FTS")
    asked = [{"question": f"What about {t}?", "vector": _vector(chance, t)} for t in TOPICS]
    yard.create_table(
        "library.questions", asked, schema=pa.schema({"question": pa.string(), "vector": VECTORS})
    )


def _documents(chance: random.Random, each: int) -> Iterator[dict[str, Any]]:
    for number in range(each * len(TOPICS)):
        topic = TOPICS[number % len(TOPICS)]
        text = " ".join(chance.choices(WORDS[topic].split(), k=8))
        yield {"id": number, "topic": topic, "text": text, "vector": _vector(chance, topic)}


def _vector(chance: random.Random, topic: str) -> list[float]:
    """Near those of the same topic."""
    spread = [chance.gauss(0, 0.2) for _ in range(DIMENSION)]
    spread[TOPICS.index(topic)] += 1
    return spread


def _png(colour: tuple[int, ...]) -> bytes:
    """A small picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", PICTURE, PICTURE, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(colour) * PICTURE) * PICTURE)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
