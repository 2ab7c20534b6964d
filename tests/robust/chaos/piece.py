"""A piece of work: what is waited for, and what has to come of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import eagleray as ray
import numpy as np

from chaos import LIMIT

#: Numbers in an array that is too large for a message.
LARGE = 30_000


@dataclass
class Piece:
    """A submitted piece of work. Its check may say that another piece has to come right, too."""

    ref: Any
    check: Callable[[Any], bool | Piece]
    #: Errors that a death explains, after which the piece is begun again.
    excused: tuple[type[BaseException], ...] = ()
    kind: str = ""

    def look(self) -> bool | Piece:
        """What has come, once it is ready."""
        return self.check(ray.get(self.ref, timeout=LIMIT))


class Waited(Piece):
    """One whose value is not read: it is enough that it is ready."""

    def look(self) -> bool | Piece:
        """Goes on without the value."""
        return self.check(None)


class Caught(Piece):
    """One whose error is looked at in place of a value."""

    def look(self) -> bool | Piece:
        """What was raised, or the value."""
        try:
            found = ray.get(self.ref, timeout=LIMIT)
        except Exception as error:
            return self.check(error)
        return self.check(found)


def value(tag: int, large: bool) -> Any:
    """Something that can be told from others."""
    return np.full(LARGE, tag) if large else tag


def same(found: Any, tag: int) -> bool:
    """Whether this is ``value(tag, …)``, with a look at both ends of a large one."""
    if isinstance(found, int):
        return found == tag
    return len(found) == LARGE and int(found[0]) == int(found[-1]) == tag


def busy(seconds: float) -> None:
    """Works for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(100))
