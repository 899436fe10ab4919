"""Embeddings without a model: the words of a text as a vector, the same on every machine."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from functools import cache

import numpy as np
import numpy.typing as npt

DIMENSIONS = 512
STEM = 5
"""So many letters of a word are its stem: *planet* and *planets* are nearly the same."""
STOP_WORDS = frozenset(
    """a about above after again all also an and another any are as at away be because been before
    below between both but by can did do does each even every few for from get had has have he her
    how i if in into is it its itself just keep long made make makes many may me more most much my
    need needs no not of off often on once one only or other others our out over own see she
    should so some such than that the their them then there these they this those through time to
    too two under until up was way we well were what when where which while who why will with
    without you your""".split()  # noqa: SIM905
)

Vector = npt.NDArray[np.float32]


def embed(text: str) -> Vector:
    """The direction of a text: texts that share words point the same way.

    A word that occurs again counts less each time. The length is 1, unless there are no words.
    """
    words = Counter(word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS)
    total = np.zeros(DIMENSIONS, np.float32)
    for word, times in words.items():
        total += (1 + math.log(times)) * (_direction(word) + _direction(word[:STEM] + "*"))
    return total / (float(np.linalg.norm(total)) or 1.0)


def embed_document(title: str, text: str) -> list[float]:
    """The direction of a document, as Spark takes it."""
    return [float(part) for part in embed(f"{title} {text}")]


@cache
def _direction(feature: str) -> Vector:
    """The bits of a hash as signs; those of two features are nearly at right angles."""
    digest = hashlib.blake2b(feature.encode(), digest_size=DIMENSIONS // 8).digest()
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))
    return bits.astype(np.float32) * 2 - 1
