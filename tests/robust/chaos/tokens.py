"""Whether an exclusive actor was ever there twice: each of its calls writes a line, and the lines are checked.

A call writes down which actor it belongs to, the token of its incarnation, and when it began. All processes of the
chaos are on one machine and read one clock. Incarnations have rising tokens, so once a call of a token has begun, none
of a lower token may begin.
"""

from __future__ import annotations

import collections
import os
import time
from dataclasses import dataclass
from pathlib import Path


def now() -> float:
    """Seconds since the machine was started, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def note(path: str, actor: str, token: int) -> None:
    """Writes down that a call begins. Lines of one write do not mix."""
    line = f"{actor} {token} {now():.6f} {os.getpid()}\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


@dataclass(frozen=True)
class Call:
    """One line."""

    actor: str
    token: int
    began: float
    pid: int


def read(path: Path) -> list[Call]:
    """All calls, in the order of their beginnings."""
    calls = []
    for line in path.read_text().splitlines() if path.exists() else []:
        actor, token, began, pid = line.split()
        calls.append(Call(actor, int(token), float(began), int(pid)))
    return sorted(calls, key=lambda call: call.began)


def twice(calls: list[Call]) -> list[str]:
    """What is wrong: calls of an incarnation after a later one has begun, and tokens that two processes had."""
    newest: dict[str, Call] = {}
    process: dict[tuple[str, int], int] = {}
    wrong = []
    for call in calls:
        if process.setdefault((call.actor, call.token), call.pid) != call.pid:
            other = process[call.actor, call.token]
            wrong.append(f"exclusive actor {call.actor}: processes {other} and {call.pid} both had token {call.token}")
        before = newest.setdefault(call.actor, call)
        if call.token >= before.token:
            newest[call.actor] = call if call.token > before.token else before
            continue
        wrong.append(
            f"exclusive actor {call.actor} was there twice: a call of token {call.token} (process {call.pid}) began "
            f"{call.began - before.began:.3f} s after the first one of token {before.token} (process {before.pid})"
        )
    return wrong


def lives(calls: list[Call]) -> int:
    """How many incarnations there were beside the first ones."""
    tokens: dict[str, set[int]] = collections.defaultdict(set)
    for call in calls:
        tokens[call.actor].add(call.token)
    return sum(len(found) - 1 for found in tokens.values())
