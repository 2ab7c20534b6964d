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
        """Whether the object's owner was killed: it may be gone, and what it held with it."""
        if node.owner in self.pids:
            return True
        return self.forced and node.owner != DRIVER and ended(node.owner)


def ended(pid: int) -> bool:
    """Whether a process has ended, or is about to."""
    try:
        until(lambda: not alive(pid), 0.2)
    except TimeoutError:
        return False
    return True


def reachable(roots: Iterable[Node]) -> set[Node]:
    """The objects that live because these do."""
    found: set[Node] = set()
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += node.inside
    return found


@dataclass
class Census:
    """How many of what there should be while nothing is under way, if no owner was killed."""

    objects: int
    owned: int
    borrowed: int

    @classmethod
    def of(cls, variables: list[Node], kept: list[Node]) -> Census:
        """Counts what variables of the driver and names of the holders lead to."""
        alive = reachable([*variables, *kept])
        mine = {node for node in alive if node.owner == DRIVER}
        held = {node for node in [*variables, *inside(mine)] if node.owner != DRIVER}
        return cls(objects=sum(node.large for node in alive), owned=len(mine), borrowed=len(held))


def inside(nodes: Iterable[Node]) -> Iterator[Node]:
    """What these hold."""
    for node in nodes:
        yield from node.inside
