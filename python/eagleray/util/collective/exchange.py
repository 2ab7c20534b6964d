"""The actor in which the members of a group meet: it waits until all have come, and gives each what it gets."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from eagleray._private import numpy_extra
from eagleray.util.collective import bfloat16
from eagleray.util.collective.types import ReduceOp


class Exchange:
    """Joins the members of a group. A call that some do not make ends with an error for those that wait.

    Attributes:
        size: How many members there are.
        timeout: Seconds that a call waits for the others.
    """

    def __init__(self, size: int, timeout: float, ranks: dict[str, int] | None) -> None:
        self.size = size
        self.timeout = timeout
        self._ranks = ranks  # of actors that a driver has declared, by their ids
        self._joined: dict[int, str] = {}
        self._meetings: dict[int, _Meeting] = {}
        self._mail: dict[tuple[int, int], deque[Any]] = {}
        self._arrived = asyncio.Condition()

    async def declared(self) -> tuple[int, dict[str, int] | None]:
        """Returns how many members there are, and the ranks of actors that were declared."""
        return self.size, self._ranks

    async def join(self, rank: int, size: int, who: str) -> str | None:
        """Enters a member and waits for the others. Returns what is wrong."""
        if size != self.size:
            return f"it has {self.size} members, and rank {rank} says {size}"
        if rank in self._joined:
            return f"rank {rank} is in it already"
        async with self._arrived:
            self._joined[rank] = who
            self._arrived.notify_all()
            try:
                await asyncio.wait_for(self._arrived.wait_for(lambda: len(self._joined) == self.size), self.timeout)
            except asyncio.TimeoutError:
                missing = [one for one in range(self.size) if one not in self._joined]
                del self._joined[rank]
                return f"the ranks {missing} have not come within {self.timeout:g} s"
        return None

    async def leave(self, rank: int) -> bool:
        """Takes a member out. Returns whether it was the last one."""
        self._joined.pop(rank, None)
        return not self._joined

    async def meet(self, number: int, rank: int, call: tuple[Any, ...], part: Any) -> tuple[str | None, Any]:
        """One call of a member.

        Args:
            number: Of the call, counted by each member.
            rank: Of the member.
            call: What it calls: all must call the same.
            part: What it brings.

        Returns:
            What is wrong, and what the member gets.
        """
        meeting = self._meetings.setdefault(number, _Meeting())
        meeting.parts[rank] = call, part
        if len(meeting.parts) == self.size:
            meeting.settle()
            del self._meetings[number]
        try:
            await asyncio.wait_for(meeting.settled.wait(), self.timeout)
        except asyncio.TimeoutError:
            missing = [one for one in range(self.size) if one not in meeting.parts]
            meeting.problem = f"the ranks {missing} have not made this call within {self.timeout:g} s"
            meeting.settled.set()  # the others need not wait any longer
            self._meetings.pop(number, None)
        return meeting.problem, meeting.part_of(rank)

    async def send(self, source: int, target: int, value: Any) -> None:
        """Keeps a value for a member."""
        async with self._arrived:
            self._mail.setdefault((source, target), deque()).append(value)
            self._arrived.notify_all()

    async def receive(self, source: int, target: int) -> tuple[str | None, Any]:
        """Returns the next value of a member for another one."""
        mail = self._mail.setdefault((source, target), deque())
        async with self._arrived:
            try:
                await asyncio.wait_for(self._arrived.wait_for(lambda: mail), self.timeout)
            except asyncio.TimeoutError:
                return f"rank {source} has sent nothing to rank {target} within {self.timeout:g} s", None
            return None, mail.popleft()


class _Meeting:
    """One call of all members."""

    def __init__(self) -> None:
        self.parts: dict[int, tuple[tuple[Any, ...], Any]] = {}
        self.settled = asyncio.Event()
        self.problem: str | None = None
        self.shared: Any = None  # what each member gets
        self.own: dict[int, Any] = {}  # what one member gets

    def part_of(self, rank: int) -> Any:
        return self.own.get(rank, self.shared)

    def settle(self) -> None:
        """Makes what the members get; all have come."""
        calls = {rank: call for rank, (call, _) in sorted(self.parts.items())}
        first = calls[0]
        for rank, call in calls.items():
            if call != first:
                self.problem = f"rank 0 calls {_words(first)}, and rank {rank} calls {_words(call)}"
                break
        else:
            parts = [self.parts[rank][1] for rank in sorted(self.parts)]
            try:
                self._combine(first, parts)
            except Exception as problem:
                self.problem = f"the values cannot be combined: {problem}"
        self.parts = {rank: (call, None) for rank, (call, _) in self.parts.items()}
        self.settled.set()

    def _combine(self, call: tuple[Any, ...], parts: list[Any]) -> None:
        kind = call[0]
        if kind == "allreduce":
            self.shared = reduced(parts, call[1])
        elif kind == "reduce":
            self.own[call[2]] = reduced(parts, call[1])
        elif kind == "broadcast":
            self.shared = parts[call[1]]
        elif kind == "allgather":
            self.shared = parts
        elif kind == "reducescatter":
            for rank in range(len(parts)):
                self.own[rank] = reduced([part[rank] for part in parts], call[1])


def _words(call: tuple[Any, ...]) -> str:
    return f"{call[0]}({', '.join(str(one) for one in call[1:])})"


def reduced(arrays: list[Any], op: ReduceOp) -> Any:
    """Returns one array of several: combined in the order of the ranks, so that all members get the same bits."""
    np = numpy_extra.need("a collective operation")
    function = {
        ReduceOp.SUM: np.add,
        ReduceOp.PRODUCT: np.multiply,
        ReduceOp.MIN: np.minimum,
        ReduceOp.MAX: np.maximum,
    }[op]
    short = arrays[0].dtype == bfloat16.TYPE
    out = bfloat16.widened(arrays[0]) if short else np.array(arrays[0])
    for one in arrays[1:]:
        function(out, bfloat16.widened(one) if short else one, out=out)
    return bfloat16.rounded(out) if short else out
