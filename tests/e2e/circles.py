"""Circles in a graph: who uses whom."""

from __future__ import annotations


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The groups of names of which each reaches all the others.

    Args:
        edges: What each name uses.
    """
    reached = {name: reach(edges, name) for name in edges}
    left, found = set(edges), []
    while left:
        name = left.pop()
        group = sorted({name} | {other for other in reached[name] if name in reached[other]})
        left -= set(group)
        if len(group) > 1:
            found.append(group)
    return found


def reach(edges: dict[str, set[str]], start: str) -> set[str]:
    """What a name uses, and what that uses, and so on."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in edges[waiting.pop()] - seen:
            seen.add(name)
            waiting.append(name)
    return seen
