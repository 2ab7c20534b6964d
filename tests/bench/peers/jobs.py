"""The functions that peers run in their workers: plain ones of a module, which all of them can send by name."""

from __future__ import annotations

from typing import Any

import numpy as np


def nothing() -> None:
    return None


def one() -> int:
    return 1


def same(value: Any) -> Any:
    return value


def ends(array: np.ndarray) -> int:
    return int(array[0]) + int(array[-1])


def double(number: int) -> int:
    return 2 * number


def spin_one(count: int) -> int:
    from figures import speedup

    value: int = vars(speedup)["spin"](count)
    return value
