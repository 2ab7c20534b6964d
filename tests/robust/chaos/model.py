"""What a random program's objects are supposed to be: who owns them, what they hold, whether they live."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    #: Numbers of nodes of the cluster: the owner's, and one that may have the only copy of what cannot be made again.
    home: int = 0
    at: int = 0

    @property
    def again(self) -> bool:
        """Whether it can be made again: small values cannot be lost."""
        return self.made and self.large


class Deaths:
    """The processes and the nodes that the program has killed."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        self.nodes: set[int] = set()  # of the cluster, by their numbers
        #: A task was cancelled with force: its worker is killed, and nobody says which that was.
        self.forced = False

    def any(self) -> bool:
        """Whether an owner may have died."""
        return self.forced or bool(self.pids) or bool(self.nodes)

    def lost(self, node: Node) -> bool:
        """Whether the object may be gone, and what it held with it: its owner was killed, or the store has lost it."""
        if node.gone or node.owner in self.pids or {node.home, node.at} & self.nodes:
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


def living(roots: Iterable[Node], empty: Callable[[Node], bool] = lambda _: False) -> tuple[set[Node], set[Node]]:
    """The objects that live because these do, and those that are only known yet, to be made again if need be.

    What a task has made in the store is made again when it is lost, so what the task was given has to be known. If that
    cannot be made again itself, its value has to stay; else the value goes when nobody else wants it.

    Args:
        roots: What the program has references to.
        empty: Whether an object has no value, which would hold others or would have to be made again.
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
        if empty(node):
            values.add(node)
            continue
        if wanted:
            values.add(node)
            todo += [(one, True) for one in node.inside]
        if node.again:
            todo += [(one, False) for one in node.given if one.owner == DRIVER]
    return values, known - values


@dataclass
class Census:
    """How many of what there should be while nothing is under way, if no owner was killed: at least, and at most.

    What was lost may have been made again. A task that needs an object which was lost for good may have run before, or
    it has failed: then its result holds nothing.
    """

    objects: tuple[int, int]
    owned: tuple[int, int]
    borrowed: tuple[int, int]

    @classmethod
    def of(cls, variables: list[Node], kept: list[Node], deaths: Deaths) -> Census:
        """Counts what variables of the driver and names of the holders lead to."""

        def failed(node: Node) -> bool:
            return node.source is not None and deaths.lost(node.source)

        def count(empty: Callable[[Node], bool]) -> tuple[list[Node], int, int]:
            values, known = living([*variables, *kept], empty)
            stored = [node for node in values if node.large and not node.gone]
            mine = {node for node in values if node.owner == DRIVER}
            held = {node for node in variables if node.owner != DRIVER}
            held |= {one for node in mine if not empty(node) for one in node.inside if one.owner != DRIVER}
            return stored, len(mine) + len(known), len(held)

        stored, owned, borrowed = count(failed)
        least = sum(not (node.away or deaths.lost(node)) for node in stored)
        most_stored, most_owned, most_borrowed = count(lambda _: False)
        return cls((least, len(most_stored)), (owned, most_owned), (borrowed, most_borrowed))
