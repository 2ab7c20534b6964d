"""Steps of random programs in which references come and go in other ways than as arguments and results.

Item by item from generators, as one of several results, captured by functions, with exceptions, through tasks below
tasks, with actors that nobody holds a handle of, to third parties.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import eagleray as ray
import numpy as np

from chaos import LIMIT
from chaos.boxes import PLACED, Bearer, Holder, build_several, fail_with, items, linger, relay, tag_of
from chaos.model import DRIVER, Deaths, Node

#: Bytes, and how many of them, that leave room for few other objects in a store of ``STORE`` bytes.
STORE = 80_000_000
BALLAST, PARTS = 9_880_000, 8


@dataclass
class Flow:
    """A generator that is not taken to its end."""

    gen: Any
    nodes: list[Node]


def made_together(nodes: list[Node]) -> None:
    """One task makes them: it is given what all of them hold."""
    given = [one for node in nodes for one in node.given]
    for node in nodes:
        node.made, node.given = True, given


class Travels:
    """Part of ``Run``, which has the rest of these."""

    chance: random.Random
    holders: list[Any]
    pids: list[int]
    variables: list[tuple[Any, Node]]
    kept: list[tuple[int, str, Node]]
    pending: list[tuple[Any, int]]
    deaths: Deaths
    new: Callable[[int], tuple[bool, list[Any], Node]]
    name: Callable[[], str]
    some: Callable[[], list[Any]]
    excused: Callable[[Node, Any], bool]
    same: Callable[[int, Node], None]
    forget: Callable[[], None]
    owners_know: Callable[[], None]
    home: Callable[[int], int]
    home_of: Callable[[Any], int]

    def __init__(self) -> None:
        self.flows: list[Flow] = []
        self.lodgers: list[tuple[str, Node]] = []
        self.spared: dict[str, int] = {}  # detached actors' processes, which are not to be killed
        self.makers: set[int] = set()  # processes that own objects of tasks
        self.ballast: list[Any] = []

    # Generators.

    def open_flow(self) -> None:
        """A task's, or a holder's, with objects that come one by one."""
        made = [self.new(DRIVER) for _ in range(self.chance.randint(1, 5))]
        nodes = [node for _, _, node in made]
        plan = [(node.tag, large) for large, _, node in made]
        boxes = [refs for _, refs, _ in made]
        if self.chance.random() < 0.3:
            index = self.chance.randrange(len(self.holders))
            gen = self.holders[index].items.remote(plan, boxes)
            self.pending.append((gen.completed(), self.pids[index]))
            for node in nodes:
                node.at = self.home(index)
        else:
            made_together(nodes)
            limit = self.chance.choice([-1, -1, 1, 2])
            gen = items.options(_generator_backpressure_num_objects=limit).remote(plan, boxes)
        self.flows.append(Flow(gen, nodes))

    def next_item(self) -> None:
        if self.flows:
            self.take_item(self.chance.choice(self.flows))

    def take_item(self, flow: Flow) -> None:
        """One more of a generator's objects, or its end."""
        ready, _ = ray.wait([flow.gen], timeout=LIMIT)
        assert ready, "a generator does not go on"
        ref = next(flow.gen, None)
        if not flow.nodes:
            assert ref is None, "a generator goes on after its end"
            self.flows.remove(flow)
            return
        assert ref is not None, f"a generator ends before object {flow.nodes[0].tag}"
        self.variables.append((ref, flow.nodes.pop(0)))

    def close_flow(self) -> None:
        """Leaves it, or cancels it first."""
        if self.flows:
            flow = self.flows.pop(self.chance.randrange(len(self.flows)))
            if self.chance.random() < 0.3:
                end = flow.gen.completed()
                self.pending = [call for call in self.pending if call[0] != end]
                ray.cancel(flow.gen)

    def end_flows(self) -> None:
        """Takes all that is to come."""
        while self.flows:
            self.take_item(self.flows[0])

    # Several results, exceptions, functions.

    def several(self) -> None:
        """One task makes some objects; some of them nobody wants."""
        made = [self.new(DRIVER) for _ in range(self.chance.randint(2, 4))]
        plan = [(node.tag, large) for large, _, node in made]
        refs = build_several.options(num_returns=len(made)).remote(plan, [box for _, box, _ in made])
        made_together([node for _, _, node in made])
        for ref, (_, _, node) in zip(refs, made, strict=True):
            if self.chance.random() < 0.7:
                self.variables.append((ref, node))

    def fails_with(self) -> None:
        """References come with an exception: some that the task was given, and one to its own."""
        large, refs, node = self.new(-1)
        chosen = self.chance.sample(self.variables, min(2, len(self.variables)))
        try:
            ray.get(fail_with.remote(node.tag, large, refs, [ref for ref, _ in chosen]), timeout=LIMIT)
        except Bearer as error:
            node.owner, (own, *back) = error.pid, error.box
            node.home = self.home_of(own)
            self.makers.add(node.owner)
            self.variables.append((own, node))
            self.variables += zip(back, [its for _, its in chosen], strict=True)
            return
        raise AssertionError("a task that fails did not")

    def capture(self) -> None:
        """A function that has a reference is called, and forgotten."""
        if self.variables:
            ref, node = self.chance.choice(self.variables)

            @ray.remote(max_retries=-1, **PLACED)
            def read() -> int:
                return tag_of(ray.get(ref))

            found = read.remote()
            self.excused(node, lambda: self.same(ray.get(found, timeout=LIMIT), node))

    # Through others.

    def relay(self) -> None:
        """Down through tasks and back, while the variables may be gone."""
        chosen = self.chance.sample(self.variables, min(2, len(self.variables)))
        found = relay.remote([ref for ref, _ in chosen], self.chance.randint(0, 2))
        nodes = [node for _, node in chosen]
        chosen.clear()
        for _ in range(self.chance.randint(0, 2)):
            self.forget()
        self.variables += zip(ray.get(found, timeout=LIMIT), nodes, strict=True)

    def entrust(self) -> None:
        """A holder puts something and gives it to another one, of whom nobody here knows what it has."""
        index, new = self.chance.randrange(len(self.holders)), self.name()
        other = (index + 1) % len(self.holders)
        large, refs, node = self.new(self.pids[index])
        node.home = self.home(index)
        ray.get(self.holders[index].entrust.remote(self.holders[other], new, node.tag, large, refs), timeout=LIMIT)
        self.kept.append((other, new, node))

    def lodge(self) -> None:
        """A detached actor keeps something, and nobody has a handle of it."""
        if self.variables:
            ref, node = self.chance.choice(self.variables)
            name = f"lodger {self.name()} {id(self)}"
            actor = Holder.options(name=name, lifetime="detached").remote()
            ray.get(actor.keep.remote("it", [ref]), timeout=LIMIT)
            self.spared[name] = ray.get(actor.pid.remote(), timeout=LIMIT)
            self.lodgers.append((name, node))
            self.lodged(name, actor)

    def lodged(self, name: str, actor: Any) -> None:
        """A detached actor has begun to keep something."""

    def visit(self) -> None:
        """What a detached actor keeps comes back; it may end then."""
        if self.lodgers:
            name, node = self.chance.choice(self.lodgers)
            actor = ray.get_actor(name)
            (ref,) = ray.get(actor.take.remote("it"), timeout=LIMIT)
            self.variables.append((ref, node))
            if self.chance.random() < 0.5:
                self.lodgers.remove((name, node))
                self.end_lodger(name)

    def end_lodgers(self) -> None:
        """Ends all detached actors."""
        for name, _ in self.lodgers:
            self.end_lodger(name)
        self.lodgers.clear()

    def end_lodger(self, name: str) -> None:
        """Ends a detached actor. What its process owned is lost: it may have run tasks before."""
        self.owners_know()
        pid = self.spared.pop(name)
        if pid in self.makers:
            self.deaths.pids.add(pid)
        ray.kill(ray.get_actor(name))

    # Meanwhile.

    def wait_short(self) -> None:
        """Waits for less time than it takes."""
        refs = [linger.remote(self.some(), seconds) for seconds in (0, 0.002, 0.01)]
        number = self.chance.randint(1, 3)
        ready, late = ray.wait(refs, num_returns=number, timeout=self.chance.choice([0, 0.001, 0.02]))
        assert len(ready) <= number and {*ready, *late} == {*refs}, "wait has lost some"
        self.pending += [(ref, DRIVER) for ref in refs]

    def crowd(self) -> None:
        """Fills the store, so that other objects have to go to disk, or empties it again."""
        if self.ballast:
            self.ballast.clear()
            return
        for _ in range(PARTS):
            self.ballast.append(ray.get(ray.put(np.zeros(BALLAST, np.uint8))))
