"""Steps of random programs in which the store loses objects: what a task made is made again, the rest says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import eagleray as ray
from eagleray._private.internal_api import _lose

from chaos import LIMIT
from chaos.boxes import derived, through
from chaos.model import DRIVER, Deaths, Node


class Losses:
    """Part of ``Run``, which has the rest of these."""

    chance: random.Random
    holders: list[Any]
    pids: list[int]
    variables: list[tuple[Any, Node]]
    deaths: Deaths
    new: Callable[[int], tuple[bool, list[Any], Node]]
    excused: Callable[[Node, Any], bool]
    same: Callable[[int, Node], None]
    verify: Callable[[Any, Node], None]

    def derive(self) -> None:
        """An object that can be made again only if another one is there, or can be made again."""
        found = [(ref, node) for ref, node in self.variables if node.owner == DRIVER and not self.deaths.lost(node)]
        if found:
            needed, needs = self.chance.choice(found)
            large, refs, node = self.new(DRIVER)
            node.made, node.source, node.given = True, needs, [needs, *node.given]
            self.variables.append((derived.remote(needed, needs.tag, node.tag, large, refs), node))

    def lose(self) -> None:
        """What a task of the driver's has made; somebody reads it then, or later."""
        found = [(ref, node) for ref, node in self.variables if node.large and node.made and not node.gone]
        if not found:
            return
        ref, node = self.chance.choice(found)
        ready, _ = ray.wait([ref], timeout=LIMIT)
        assert ready, f"object {node.tag} does not get ready"
        if not _lose([ref]):
            return  # somebody reads it
        node.away = True
        how = self.chance.choice(["later", "here", "argument", "holder"])
        if how == "here":
            self.verify(ref, node)
        elif how == "argument":
            again = through.remote(ref, [])
            self.excused(node, lambda: self.same(ray.get(again, timeout=LIMIT)[0], node))
        elif how == "holder":
            index = self.chance.randrange(len(self.holders))
            read = self.holders[index].read.remote([ref])
            self.excused(node, lambda: self.same(ray.get(read, timeout=LIMIT), node))

    def lose_put(self) -> None:
        """What was put is lost for good."""
        found = [(ref, node) for ref, node in self.variables if node.large and node.owner == DRIVER and not node.made]
        if found:
            ref, node = self.chance.choice(found)
            ready, _ = ray.wait([ref], timeout=LIMIT)
            assert ready, f"object {node.tag} does not get ready"
            if not node.gone and _lose([ref]):
                node.gone = True
