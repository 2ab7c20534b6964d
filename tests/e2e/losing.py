"""What the tests of lineage share: losing objects, and counting how often something ran."""

from __future__ import annotations

import pathlib
from typing import Any

import msgpack
import pytest
from eagleray._private.internal_api import _lose
from pace import PATIENCE_S

np = pytest.importorskip("numpy")

BIG = 200_000  # bytes: goes through the store


def stored() -> int:
    """How many objects the node's store has."""
    from eagleray._private.state import process

    count: int = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))["objects"]
    return count


def lose(*refs: Any) -> None:
    """The store loses what the references refer to, which is ready."""
    import eagleray

    eagleray.wait(list(refs), num_returns=len(refs), timeout=PATIENCE_S)
    assert _lose(list(refs)) == len(refs)


class Runs:
    """How often something ran: one line in a file for each time."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "runs"
        self.path.touch()

    def __len__(self) -> int:
        return len(self.path.read_text().split())


def noted(path: pathlib.Path) -> None:
    with path.open("a") as file:
        file.write("ran\n")


def maker(ray: Any, runs: Runs) -> Any:
    """A task that returns a large array of one number."""
    path = runs.path

    @ray.remote
    def make(number: int, more: Any = None) -> Any:
        noted(path)
        return np.full(BIG, (number + (0 if more is None else int(more[0]))) % 256, np.uint8)

    return make
