"""Reads the tracer's files and joins the stamps of all processes to the stages of each call."""

from __future__ import annotations

import bisect
import glob
import json
import os
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

_HEAD = 4096
_RING = struct.Struct("<QQ48x")
_STAMP = struct.Struct("<qQIIIHH")
_FORMAT = "eagleray trace 1"

#: The points of a call's way, in order; "write" and "read" are taken from the spans of the descriptor.
POINTS = (
    "called",
    "packed",
    "queued",
    "framed",
    "write",
    "wrote",
    "read",
    "arrived",
    "begun",
    "taken",
    "decoded",
    "ran",
    "encoded",
    "answered",
    "write back",
    "wrote back",
    "read back",
    "settled",
    "found",
    "given",
)

UNKNOWN = 2**63 - 1

Call = tuple[int, int]  # four bytes of its owner's id, and its number there


class Span(NamedTuple):
    """A read, a write or a poll, in ns."""

    begin: int
    end: int  # UNKNOWN of a write that had not returned when its process was ended
    size: int

    @property
    def took(self) -> int:
        return self.end - self.begin if self.end != UNKNOWN else 0


class Way(NamedTuple):
    """A call's points in ns, one for each of POINTS."""

    call: Call
    method: bool
    points: tuple[int, ...]


class Process:
    """The stamps of one process."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
            body = file.read()
        try:
            self.about: dict[str, Any] = json.loads(head.rstrip(b"\0"))
        except ValueError:
            raise ValueError(f"{path} is not a trace file: it does not begin with the trace format") from None
        if self.about.get("format") != _FORMAT:
            raise ValueError(f"{path} has the format {self.about.get('format')!r}, this version reads {_FORMAT!r}")
        self.role, self.pid = str(self.about["role"]), int(self.about["pid"])
        names: list[str] = self.about["stages"]
        written, _ = _RING.unpack_from(body)
        kept = min(written, self.about["stamps"])
        self.lost = written - kept
        self.stages: dict[str, dict[Call, int]] = {name: {} for name in names}
        self.fds: dict[str, dict[Call, int]] = {"framed": {}, "answered": {}, "arrived": {}, "settled": {}}
        self.spans: dict[str, dict[int, list[Span]]] = {"wrote": {}, "read": {}, "polled": {}}
        self.methods: set[Call] = set()
        self._read(names, _STAMP.iter_unpack(body[_RING.size : _RING.size + kept * _STAMP.size]))

    def _read(self, names: list[str], stamps: Iterable[tuple[int, ...]]) -> None:
        by_token: dict[int, Call] = {}
        inside: list[tuple[str, int, int]] = []
        for ns, key, owner, aux, size, stage, kind in stamps:
            name = names[stage] if stage < len(names) else ""
            if name in self.spans:
                self.spans[name].setdefault(aux, []).append(Span(key, ns or UNKNOWN, size))
            elif owner == 0:
                inside.append((name, key, ns))
            else:
                call = owner, key
                if name == "taken":
                    by_token[aux] = call
                elif name in self.fds:
                    self.fds[name][call] = aux
                elif kind:
                    self.methods.add(call)
                self.stages[name][call] = ns
        for name, token, ns in inside:
            found = by_token.get(token & 0xFFFFFFFF)
            if found is not None:
                self.stages[name][found] = ns
        for per_fd in self.spans.values():
            for spans in per_fd.values():
                spans.sort()

    def written(self, stage: str, call: Call) -> Span | None:
        """The write that took what lay in the call's socket at that stage."""
        spans = self.spans["wrote"].get(self.fds[stage].get(call, -1), [])
        at = bisect.bisect_left(spans, (self.stages[stage][call], 0, 0))
        return spans[at] if at < len(spans) else None

    def was_read(self, stage: str, call: Call) -> Span | None:
        """The read that brought what was handled at that stage."""
        spans = self.spans["read"].get(self.fds[stage].get(call, -1), [])
        at = bisect.bisect_right(spans, (self.stages[stage][call], 0, 0)) - 1
        return spans[at] if at >= 0 else None


def load(folder: str) -> list[Process]:
    """All processes that have stamped into the folder.

    Raises:
        ValueError: there are none, or a file is none of the tracer's.
    """
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*.trace")))
    if not paths:
        raise ValueError(f"{folder} holds no *.trace files: run the program with EAGLERAY_TRACE={folder}")
    return [Process(path) for path in paths]


def ways(processes: list[Process]) -> tuple[list[Way], int]:
    """The calls of which every stage is known, in the order in which they were called, and how many others there are.

    Stages are missing of calls that failed, were not waited for by ``get``, ran on or came from Go, are under way, or
    are so old that the ring has let go of them.
    """
    found: list[Way] = []
    others = 0
    for owner in processes:
        for call in owner.stages["queued"]:
            worker = next((one for one in processes if call in one.stages["taken"]), None)
            way = _way(owner, worker, call) if worker is not None else None
            if way is None:
                others += 1
            else:
                found.append(way)
    found.sort(key=lambda way: way.points[0])
    return found, others


def _way(owner: Process, worker: Process, call: Call) -> Way | None:
    mine, theirs = owner.stages, worker.stages
    if any(call not in mine[name] for name in ("called", "packed", "framed", "settled", "found", "given")):
        return None
    if any(call not in theirs[name] for name in ("arrived", "begun", "decoded", "encoded", "answered")):
        return None
    out, back = owner.written("framed", call), worker.written("answered", call)
    came, answer = worker.was_read("arrived", call), owner.was_read("settled", call)
    if out is None or back is None or came is None or answer is None:
        return None
    # A write may return after the other side has read: it is over when that has.
    after = {name: theirs[name][call] for name in ("arrived", "begun", "taken", "decoded", "encoded", "answered")}
    after["ran"] = theirs["ran"].get(call, after["encoded"])  # a coroutine that returns None encodes nothing
    points = (
        *(mine[name][call] for name in ("called", "packed", "queued", "framed")),
        out.begin,
        min(out.end, came.end),
        came.end,
        *(after[name] for name in ("arrived", "begun", "taken", "decoded", "ran", "encoded", "answered")),
        back.begin,
        min(back.end, answer.end),
        answer.end,
        *(mine[name][call] for name in ("settled", "found", "given")),
    )
    return Way(call, call in owner.methods, points)
