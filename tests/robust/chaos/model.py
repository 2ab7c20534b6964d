"""What a random program's objects are supposed to be: who owns them, what they hold, whether they live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from processes import alive, until

#: The owner that is this process.
DRIVER = 0


@dataclass(eq=False)
class Node:
    """One object."""

    tag: int
    large: bool
    owner: int  # its process id; ``DRIVER``
    inside: list[Node] = field(default_factory=list)
    #: A task of the driver's made it, and makes it again when it is lost, from a value that that needs to have.
    made: bool = False
    source: Node | None = None
    #: All that the task was given: it stays known as long as the task may have to run again.
    given: list[Node] = field(default_factory=list)
    #: The store has lost it: until somebody asks for it, or for good.
    away: bool = False
    gone: bool = False

    @property
    def again(self) -> bool:
        """Whether it can be made again: small values cannot be lost."""
        return self.made and self.large


class Deaths:
    """The processes that the program has killed."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        #: A task was cancelled with force: its worker is killed, and nobody says which that was.
        self.forced = False

    def any(self) -> bool:
        """Whether an owner may have died."""
        return self.forced or bool(self.pids)

    def lost(self, node: Node) -> bool:
        """Whether the object may be gone, and what it held with it: its owner was killed, or the store has lost it."""
        if node.gone or node.owner in self.pids:
            return True
        if node.source is not None and self.lost(node.source):
            return True  # it may not have been made before that was lost, or is to be made again
        return self.forced and node.owner != DRIVER and ended(node.owner)


def ended(pid: int) -> bool:
    """Whether a process has ended, or is about to."""
    try:
        until(lambda: not alive(pid), 2)
    except TimeoutError:
        return False
    return True


def living(roots: Iterable[Node]) -> tuple[set[Node], set[Node]]:
    """The objects that live because these do, and those that are only known yet, to be made again if need be.

    What a task has made in the store is made again when it is lost, so what the task was given has to be known. If that
    cannot be made again itself, its value has to stay; else the value goes when nobody else wants it.
    """
    values: set[Node] = set()
    known: set[Node] = set()
    todo = [(node, True) for node in roots]
    while todo:
        node, wanted = todo.pop()
        wanted |= node.owner == DRIVER and not node.again
        if node in values or (node in known and not wanted):
            continue
        known.add(node)
        if wanted:
            values.add(node)
            todo += [(one, True) for one in node.inside]
        if node.again:
            todo += [(one, False) for one in node.given if one.owner == DRIVER]
    return values, known - values


@dataclass
class Census:
    """How many of what there should be while nothing is under way, if no owner was killed."""

    objects: tuple[int, int]  # at least, at most: what was lost may have been made again
    owned: int
    borrowed: int

    @classmethod
    def of(cls, variables: list[Node], kept: list[Node], deaths: Deaths) -> Census:
        """Counts what variables of the driver and names of the holders lead to."""
        values, known = living([*variables, *kept])
        stored = [node for node in values if node.large and not node.gone]
        mine = {node for node in values if node.owner == DRIVER}
        held = {node for node in [*variables, *inside(mine)] if node.owner != DRIVER}
        least = len(stored) - sum(node.away or deaths.lost(node) for node in stored)
        return cls(objects=(least, len(stored)), owned=len(mine) + len(known), borrowed=len(held))


def inside(nodes: Iterable[Node]) -> Iterator[Node]:
    """What these hold."""
    for node in nodes:
        yield from node.inside
