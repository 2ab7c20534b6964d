"""Kinds of the storm's work about how a call goes: item by item, cancelled, failing, waited for, by an actor's name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import eagleray as ray

from chaos import LIMIT
from chaos.piece import Caught, Piece, Waited, busy, same, value


@ray.remote(max_retries=-1)
def items(tag: int, number: int) -> Iterator[Any]:
    """Small and large ones by turns."""
    for n in range(number):
        yield value(tag + n, n % 2 == 1)


@ray.remote(max_retries=-1)
def takes(tag: int, number: int, limit: int) -> bool:
    """A generator of a task's own, read to its end by that task."""
    gen = items.options(_generator_backpressure_num_objects=limit).remote(tag, number)
    found = [same(ray.get(ref), tag + n) for n, ref in enumerate(gen)]
    return len(found) == number and all(found)


class Told(Exception):
    """Carries references."""

    def __init__(self, tag: int, box: list[Any]) -> None:
        super().__init__(tag, box)
        self.tag = tag
        self.box = box


class Again(Exception):
    """Passes when it is tried again."""


@ray.remote(max_retries=-1, retry_exceptions=[Again])
def raises(tag: int, box: list[Any]) -> None:
    """Fails after some tries, with what it was given and something of its own."""
    if random.SystemRandom().random() < 0.3:
        raise Again(box)
    raise Told(tag, [*box, ray.put(value(tag + 1, True))])


@ray.remote(max_retries=-1)
def linger(tag: int, depth: int) -> int:
    """Waits for a task of its own; the last one takes its time."""
    if depth == 0:
        busy(0.02)
        return tag
    return int(ray.get(linger.remote(tag, depth - 1)))


@ray.remote(max_retries=-1)
def some(tag: int) -> bool:
    """Waits for the first, for some, and for all of its tasks."""
    refs = [echo.remote(tag + n, n % 2 == 1) for n in range(4)]
    for number in (1, 3):
        ready, late = ray.wait(refs, num_returns=number)
        if len(ready) < number or len(ready) + len(late) != len(refs):
            return False
    ray.wait(refs, num_returns=4, timeout=0.001)
    return all(same(one, tag + n) for n, one in enumerate(ray.get(refs)))


@ray.remote(max_retries=-1)
def echo(tag: int, large: bool) -> Any:
    return value(tag, large)


@ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)
class Clerk:
    """An actor that others find by its name."""

    def __init__(self, tag: int) -> None:
        self.tag = tag

    def add(self, box: list[Any]) -> int:
        found = ray.get(box[0])
        return self.tag + int(found if isinstance(found, int) else found[0])


@ray.remote(max_retries=-1)
def asks(name: str, box: list[Any]) -> int:
    """Calls an actor by its name."""
    return int(ray.get(ray.get_actor(name).add.remote(box)))


@dataclass
class Flow(Piece):
    """A generator of which one item is taken each time that one is ready."""

    tag: int = 0
    number: int = 0
    #: How many are taken before it is closed; all of them if there are no more.
    wanted: int = 0
    taken: int = 0

    def look(self) -> bool | Piece:
        """Takes an item."""
        ref = next(self.ref, None)
        if ref is None:
            return self.taken == self.number
        if not same(ray.get(ref, timeout=LIMIT), self.tag + self.taken):
            return False
        self.taken += 1
        return self if self.taken < self.wanted else True


class Turns:
    """Kinds of work about calls; ``Kinds`` has the actors."""

    actors: list[Any]

    def flow(self, chance: random.Random, tag: int) -> Piece:
        """A generator, a task's or an actor's, read to its end or closed early."""
        number = chance.randint(1, 6)
        limit = chance.choice([-1, 1, 3])
        by_actor = chance.random() < 0.3
        if by_actor:  # with a limit it would keep all who call the actor waiting for this program's turn
            gen = chance.choice(self.actors).items.remote(tag, number)
        else:
            gen = items.options(_generator_backpressure_num_objects=limit).remote(tag, number)
        wanted = chance.choice([number + 1, number + 1, 1, 2])
        return Flow(gen, lambda _: True, tag=tag, number=number, wanted=wanted)

    def taken(self, chance: random.Random, tag: int) -> Piece:
        return Piece(takes.remote(tag, chance.randint(1, 6), chance.choice([-1, 1, 3])), lambda right: right is True)

    def cancelled(self, chance: random.Random, tag: int) -> Piece:
        """Right, or cancelled, whatever it was doing."""
        ref = linger.remote(tag, chance.choice([0, 0, 1, 2]))
        force, early = chance.random() < 0.2, chance.random() < 0.5
        ends: tuple[type[BaseException], ...] = (ray.exceptions.TaskCancelledError,)
        if force:
            ends += (ray.exceptions.WorkerCrashedError,)
        if early:
            ray.cancel(ref, force=force)
            return Caught(ref, lambda found: isinstance(found, ends) or found == tag)

        def later(_: Any) -> Piece:
            ray.cancel(ref, force=force)
            return Caught(ref, lambda found: isinstance(found, ends) or found == tag)

        return Waited(echo.remote(tag, False), later)

    def told(self, chance: random.Random, tag: int) -> Piece:
        """An exception that carries references: the driver's, and one of the worker's, who may be dead."""
        ref = raises.remote(tag, [ray.put(value(tag, chance.random() < 0.5))])

        def check(found: Any) -> bool | Piece:
            if not isinstance(found, Told) or found.tag != tag:
                return False
            given, own = found.box
            if not same(ray.get(given, timeout=LIMIT), tag):
                return False
            return Piece(own, lambda one: same(one, tag + 1), (ray.exceptions.OwnerDiedError,))

        return Caught(ref, check)

    def waits(self, chance: random.Random, tag: int) -> Piece:
        """With a time that is too short, here and in a task."""
        refs = [echo.remote(tag + n, n == 1) for n in range(3)]
        ready, late = ray.wait(refs, num_returns=3, timeout=chance.choice([0, 0.001]))
        if len(ready) + len(late) != 3:
            return Piece(refs[0], lambda _: False)

        def check(right: Any) -> bool:
            return right is True and all(same(one, tag + n) for n, one in enumerate(ray.get(refs, timeout=LIMIT)))

        return Piece(some.remote(tag), check)

    def named(self, chance: random.Random, tag: int) -> Piece:
        """An actor that is found by its name, detached or not, and ended in one way or another."""
        detached = chance.random() < 0.5
        name = f"clerk {tag}"
        clerk = Clerk.options(name=name, lifetime="detached" if detached else None).remote(tag)
        ref = asks.remote(name, [ray.put(value(tag, chance.random() < 0.5))])

        def check(found: Any) -> bool:
            nonlocal clerk
            if detached:
                ray.kill(clerk)
            clerk = None
            return bool(found == 2 * tag)

        return Piece(ref, check)
