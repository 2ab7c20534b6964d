"""What the tests of generators share: a diary of what they did, and draining them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LIMIT = 60.0


class Diary:
    """What a generator did, told through a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, line: object) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    def read(self) -> list[str]:
        return self.path.read_text().split() if self.path.exists() else []


def drained(ray: Any, gen: Any) -> list[Any]:
    """What a generator gives: values, and the class's name of what it fails with."""
    found = []
    for ref in gen:
        try:
            found.append(ray.get(ref, timeout=LIMIT))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def count(n: int) -> Any:
    yield from range(n)


def closes(diary: Diary) -> Any:
    def endless() -> Any:
        try:
            while True:
                diary.write("item")
                yield bytes(150_000)
        finally:
            diary.write("closed")

    return endless
