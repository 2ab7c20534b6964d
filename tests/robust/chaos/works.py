"""What a run under kills consists of: kinds of work, each with what has to come out of it.

A kind of work is a method of ``Kinds``, which submits one piece and returns its reference with a check of the value.
``KINDS`` lists them with how often they are chosen; a new ability of the runtime adds its kind here. Those about
objects are in ``spread``, those about calls in ``turns``.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import numpy as np

from chaos import LIMIT
from chaos.piece import Piece, busy, same, value
from chaos.recovery import report_end, report_start
from chaos.spread import Spread
from chaos.turns import Turns


@ray.remote(max_retries=-1)
def compute(tag: int, large: bool, seconds: float) -> Any:
    report_start()
    busy(seconds)
    report_end()
    return value(tag, large)


@ray.remote(max_retries=-1)
def add(first: Any, tag: int) -> Any:
    """The next link of a chain."""
    report_start()
    return first + tag


@ray.remote(max_retries=-1)
def outer(tag: int, depth: int, large: bool) -> Any:
    """Tasks within tasks."""
    report_start()
    if depth == 0:
        return value(tag, large)
    inner = [outer.remote(tag + part, depth - 1, large) for part in range(2)]
    return sum(int(np.max(one)) for one in ray.get(inner))


@ray.remote(max_retries=-1)
def puts(tag: int, large: bool) -> int:
    """Objects of a task's own, read by another task."""
    report_start()
    refs = [ray.put(value(tag + part, large)) for part in range(3)]
    found = ray.get(total.remote(refs))
    assert found == 3 * tag + 3
    return found


@ray.remote(max_retries=-1)
def total(refs: list[Any]) -> int:
    report_start()
    return sum(int(np.max(one)) for one in ray.get(refs))


@ray.remote(max_retries=-1)
def gives(tag: int, large: bool) -> list[Any]:
    """Objects that the worker owns, and whose owner may be killed."""
    report_start()
    return [ray.put(value(tag, large)), compute.remote(tag, large, 0)]


@ray.remote(max_retries=-1)
def opens(box: list[Any]) -> Any:
    report_start()
    return ray.get(box[0])


@ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)
class Account:
    """Counts its calls, and says in which life."""

    def __init__(self, number: int) -> None:
        report_start(number)
        self.number = number
        self.life = time.monotonic()
        self.calls = 0
        self.kept: Any = None

    def call(self, tag: int, large: bool, seconds: float) -> tuple[int, float, int, Any]:
        """The actor, its life, how many calls it had in it, and a value."""
        busy(seconds)
        self.calls += 1
        return self.number, self.life, self.calls, value(tag, large)

    def keep(self, box: list[Any]) -> float:
        """Holds references in its state."""
        self.kept = box
        return self.life

    def read(self, box: list[Any]) -> Any:
        """Reads a reference that came in an argument."""
        return ray.get(box[0])

    def read_kept(self) -> bool:
        """Whether what it keeps can be read; nothing is kept in a fresh life."""
        if self.kept is None:
            return True
        found = ray.get(self.kept[0])
        return same(found, int(found[0]))

    def look_into(self, box: list[Any]) -> int:
        """Reads what a task has put, of others' and of its own."""
        found = ray.get(box[0])
        return sum(int(np.max(ray.get(found[one]))) for one in ("given", "own"))

    def items(self, tag: int, number: int) -> Iterator[Any]:
        """Small and large ones by turns."""
        for n in range(number):
            yield value(tag + n, n % 2 == 1)

    def make(self, tag: int) -> Any:
        """Something that may be lost."""
        return value(tag, True)

    def where(self) -> int:
        """The actor's number."""
        return self.number


class Kinds(Spread, Turns):
    """The kinds of work, with the actors that some of them need."""

    def __init__(self, actors: int) -> None:
        super().__init__()
        self.actors = [Account.remote(number) for number in range(actors)]
        #: By actor: life and count of the last call that was looked at, which have to grow in the calls' order.
        self.seen = [(0.0, 0)] * actors
        self.order: list[list[list[tuple[float, int]]]] = [[] for _ in range(actors)]

    def plain(self, chance: random.Random, tag: int) -> Piece:
        ref = compute.remote(tag, chance.random() < 0.3, chance.choice([0, 0.001, 0.005, 0.02]))
        return Piece(ref, lambda found: same(found, tag))

    def argument(self, chance: random.Random, tag: int) -> Piece:
        """An object of the driver's, small or in the arena."""
        ref = add.remote(ray.put(value(tag, chance.random() < 0.5)), 1)
        return Piece(ref, lambda found: same(found if not isinstance(found, np.integer) else int(found), tag + 1))

    def chain(self, chance: random.Random, tag: int) -> Piece:
        length = chance.randint(2, 6)
        ref = compute.remote(tag, chance.random() < 0.5, 0)
        for _ in range(length):
            ref = add.remote(ref, 1)
        return Piece(ref, lambda found: same(found, tag + length))

    def nested(self, chance: random.Random, tag: int) -> Piece:
        return Piece(outer.remote(tag, 2, chance.random() < 0.3), lambda found: found == 4 * tag + 4)

    def inside(self, chance: random.Random, tag: int) -> Piece:
        return Piece(puts.remote(tag, chance.random() < 0.5), lambda found: found == 3 * tag + 3)

    def given(self, chance: random.Random, tag: int) -> Piece:
        """A worker's own objects, read after it may have died: right, or OwnerDiedError."""
        large = chance.random() < 0.5

        def check(found: Any) -> bool:
            return all(same(one, tag) for one in ray.get(found, timeout=LIMIT))

        return Piece(gives.remote(tag, large), check, excused=(ray.exceptions.OwnerDiedError,))

    def passed(self, chance: random.Random, tag: int) -> Piece:
        """A reference inside an argument, of a task's result that is not there yet."""
        ref = opens.remote([compute.remote(tag, chance.random() < 0.5, 0.002)])
        return Piece(ref, lambda found: same(found, tag))

    def called(self, chance: random.Random, tag: int) -> Piece:
        """Calls of an actor: each once more if it died, and in order."""
        number = chance.randrange(len(self.actors))
        refs = [
            self.actors[number].call.remote(tag + part, chance.random() < 0.1, chance.choice([0, 0.002]))
            for part in range(chance.randint(1, 12))
        ]
        line: list[tuple[float, int]] = []
        self.order[number].append(line)

        def check(_: Any) -> bool:
            found = ray.get(refs, timeout=LIMIT)
            line.extend((life, count) for _, life, count, _ in found)
            right = all(of == number and same(its, tag + part) for part, (of, _, _, its) in enumerate(found))
            return right and self.in_order(number)

        return Piece(refs[-1], check)

    def in_order(self, number: int) -> bool:
        """Looks at an actor's calls whose answers are there, from the first on: lives and counts only grow."""
        lines = self.order[number]
        while lines and lines[0]:
            for now in lines.pop(0):
                if now <= self.seen[number]:
                    return False
                self.seen[number] = now
        return True

    def held(self, chance: random.Random, tag: int) -> Piece:
        """A reference into an actor's state, and one that it reads."""
        actor = chance.choice(self.actors)
        actor.keep.remote([ray.put(value(tag, True))])
        ref = actor.read.remote([ray.put(value(tag, chance.random() < 0.5))])
        return Piece(ref, lambda found: Piece(actor.read_kept.remote(), bool) if same(found, tag) else False)

    def close(self) -> None:
        """Ends the actors."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors.clear()
        self.order.clear()


#: Names of ``Kinds``' methods, and how often they are chosen.
KINDS = {
    "plain": 16,
    "argument": 6,
    "chain": 4,
    "nested": 2,
    "inside": 4,
    "given": 4,
    "passed": 4,
    "called": 8,
    "held": 4,
    "large": 4,
    "lost": 2,
    "lost_call": 2,
    "lost_put": 1,
    "several": 3,
    "entrusted": 3,
    "relayed": 3,
    "captured": 1,
    "flow": 6,
    "taken": 2,
    "cancelled": 4,
    "told": 2,
    "waits": 2,
    "named": 1,
}
