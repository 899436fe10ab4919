"""Exit codes: one for each class of errors, all of them here."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """How a command ended; `meaning` says it in words."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Take a code and what it means."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    DONE = 0, "it was done"
    FAILED = 1, "it failed: storage, or something that should not happen"
    USAGE = 2, "the command, a name, a value or a query is not valid; or `serve` could not start"
    MISSING = 3, "the catalog, object, version, column or file does not exist"
    TAKEN = 4, "the name is taken, or the namespace is not empty"
    CONFLICT = 5, "others changed it meanwhile, or its state does not allow it"
    FORBIDDEN = 6, "not permitted, or nobody said who asks"
    UNAVAILABLE = 7, "the server or storage does not answer now: try again later"
    UNSUPPORTED = 8, "this catalog cannot do that, or a package is not installed"
    UNCONFIRMED = 9, "it would destroy something, and was not confirmed"
    FINDINGS = 10, "it was done, and something is left to be looked at"
    INTERRUPTED = 130, "it was interrupted"


BY_CODE = {
    0: Exit.UNSUPPORTED,
    **dict.fromkeys((1, 4, 6, 8, 10, 11, 12, 22), Exit.MISSING),
    **dict.fromkeys((2, 3, 5, 7, 9, 23), Exit.TAKEN),
    **dict.fromkeys((13, 20), Exit.USAGE),
    **dict.fromkeys((14, 19), Exit.CONFLICT),
    **dict.fromkeys((15, 16), Exit.FORBIDDEN),
    **dict.fromkeys((17, 21), Exit.UNAVAILABLE),
    18: Exit.FAILED,
}
"""Exit codes by the specification's codes of errors."""
