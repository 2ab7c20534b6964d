"""Kinds of the storm's work that fill the store: large objects that wait on disk, lost ones, references that travel."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import Any

import eagleray as ray
import numpy as np
from eagleray._private.internal_api import _lose

from chaos import LIMIT
from chaos.piece import Piece, Waited, same, value

#: Numbers in an array of which many do not fit into the store at once.
HUGE = 250_000
#: How many of those wait to be looked at: more than the store has room for.
WAITING = 60


def huge(tag: int) -> Any:
    """A value that can be told from others; some of them become smaller on disk."""
    return np.random.Generator(np.random.SFC64(tag)).integers(0, 2**62 if tag % 200 else 9, HUGE)


def huge_is(found: Any, tag: int) -> bool:
    """Whether this is ``huge(tag)``."""
    return np.array_equal(found, huge(tag))


@ray.remote(max_retries=-1)
def make_huge(tag: int) -> Any:
    return huge(tag)


@ray.remote(max_retries=-1)
def give_huge(tag: int) -> list[Any]:
    """One that the worker owns."""
    return [ray.put(huge(tag))]


@ray.remote(max_retries=-1)
def judge(found: Any, tag: int) -> bool:
    """Looks at one that came as an argument."""
    return huge_is(found, tag)


@ray.remote(max_retries=-1)
def plus(found: Any, tag: int) -> Any:
    """The next link of a chain that is lost."""
    return found + tag


@ray.remote(max_retries=-1)
def parts(tag: int, number: int) -> Any:
    """Several results: small and large ones by turns, the last with a reference of the worker's."""
    return [*(value(tag + n, n % 2 == 1) for n in range(number - 1)), [ray.put(value(tag, True))]]


@ray.remote(max_retries=-1)
def entrust(tag: int, box: list[Any], actor: Any) -> Any:
    """Puts what it was given beside something of its own, and has an actor look at both."""
    outer = ray.put({"given": box[0], "own": ray.put(value(tag + 1, True))})
    return ray.get(actor.look_into.remote([outer]))


@ray.remote(max_retries=-1)
def relay(box: list[Any], depth: int) -> Any:
    """Hands references down through other tasks; the last one reads."""
    if depth == 0:
        return ray.get(box[0])
    return ray.get(relay.remote(box, depth - 1))


@dataclass
class Kept:
    """A large object that is looked at later."""

    ref: Any
    tag: int
    excused: tuple[type[BaseException], ...]


class Spread:
    """Kinds of work about objects; ``Kinds`` has the actors."""

    actors: list[Any]

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    # Large objects: more of them wait than the store has room for.

    def large(self, chance: random.Random, tag: int) -> Piece:
        """A task's result, the driver's own object, or a worker's: looked at when many others have come."""
        how = chance.choices(["task", "driver", "worker"], [4, 2, 1])[0]
        pick = chance.getrandbits(32)
        if how == "driver":
            own = ray.put(huge(tag))
            return Waited(own, lambda _: self._keep(Kept(own, tag, ()), pick))
        if how == "task":
            ref = make_huge.remote(tag)
            return Waited(ref, lambda _: self._keep(Kept(ref, tag, ()), pick))
        died = (ray.exceptions.OwnerDiedError,)
        return Piece(give_huge.remote(tag), lambda box: self._keep(Kept(box[0], tag, died), pick), died)

    def _keep(self, one: Kept, pick: int) -> bool | Piece:
        self.kept.append(one)
        if len(self.kept) <= WAITING:
            return True
        return self.look(self.kept.pop(pick % len(self.kept)), pick)

    def look(self, one: Kept, pick: int) -> Piece:
        """Reads one, here or in a task."""
        if pick % 3 == 0:
            return Piece(one.ref, lambda found: huge_is(found, one.tag), one.excused)
        return Piece(judge.remote(one.ref, one.tag), lambda right: right is True, one.excused)

    # Lost objects.

    def lost(self, chance: random.Random, tag: int) -> Piece:
        """A chain whose links the store forgets, and that is computed again for who asks."""
        first = make_huge.remote(tag)
        second = plus.remote(first, 1)
        third = plus.remote(second, 1)
        if chance.random() < 0.5:
            del second

        def forget(_: Any) -> Piece:
            _lose([first, third])
            # Tasks wait until it is back, not this program.
            return Piece(judge.remote(plus.remote(third, -2), tag), lambda right: right is True)

        return Waited(third, forget)

    def lost_call(self, chance: random.Random, tag: int) -> Piece:
        """The same for what an actor made; the task that needs it is there before it is."""
        ref = chance.choice(self.actors).make.remote(tag)

        def forget(_: Any) -> Piece:
            _lose([ref])
            return Piece(relay.remote([ref], 1), lambda found: same(found, tag))

        return Waited(ref, forget)

    def lost_put(self, chance: random.Random, tag: int) -> Piece:
        """What nobody can compute again is lost, and says so."""
        ref = ray.put(value(tag, True))
        if not _lose([ref]):
            return Piece(ref, lambda found: same(found, tag))
        del chance
        return Waited(relay.remote([ref], 0), functools.partial(self._fails, ref))

    def _fails(self, ref: Any, _: Any) -> bool:
        try:
            ray.get(ref, timeout=LIMIT)
        except ray.exceptions.ObjectLostError:
            return True
        return False

    # Several results, one of which may be lost.

    def several(self, chance: random.Random, tag: int) -> Piece:
        number = chance.randint(2, 5)
        refs = parts.options(num_returns=number).remote(tag, number)
        drop = chance.randrange(number)
        died = (ray.exceptions.OwnerDiedError,)

        wanted = [(n, ref) for n, ref in enumerate(refs[:-1]) if n != drop]

        def whole(found: Any) -> bool:
            values = ray.get([ref for _, ref in wanted], timeout=LIMIT)
            return same(found, tag) and all(same(one, tag + n) for (n, _), one in zip(wanted, values, strict=True))

        def rest(box: list[Any]) -> Piece:
            inner = box[0]
            large = [ref for n, ref in wanted if n == 1]
            if large and _lose(large):
                back = relay.remote(large, 0)
                return Piece(back, lambda one: Piece(inner, whole, died) if same(one, tag + 1) else False)
            return Piece(inner, whole, died)

        last = refs.pop()
        refs.clear()
        return Piece(last, rest, died)

    # References that travel.

    def entrusted(self, chance: random.Random, tag: int) -> Piece:
        """Inside what a worker puts, to an actor that it does not know."""
        ref = entrust.remote(tag, [ray.put(value(tag, chance.random() < 0.5))], chance.choice(self.actors))
        return Piece(ref, lambda found: found == 2 * tag + 1)

    def relayed(self, chance: random.Random, tag: int) -> Piece:
        """Down through several tasks, while nobody here holds it any more."""
        ref = relay.remote([ray.put(value(tag, chance.random() < 0.5))], chance.randint(0, 3))
        return Piece(ref, lambda found: same(found, tag))

    def captured(self, chance: random.Random, tag: int) -> Piece:
        """By a function that is gone when it runs."""
        ref = ray.put(value(tag, chance.random() < 0.5))

        @ray.remote(max_retries=-1)
        def reads() -> Any:
            return ray.get(ref)

        return Piece(reads.remote(), lambda found: same(found, tag))

    def rest(self) -> list[Piece]:
        """The large ones that nobody has looked at."""
        pieces = [self.look(one, pick) for pick, one in enumerate(self.kept)]
        self.kept.clear()
        return pieces
