"""Random programs that put, nest, pass on and drop references, beside a model that knows what lives."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import eagleray as ray
import numpy as np
from arena import BIG, stats

LIMIT = 30.0


def make(tag: int, large: bool, refs: list[Any]) -> Any:
    """A value that can be told from others, with references inside."""
    return {"tag": np.full(BIG, tag) if large else tag, "refs": refs}


def tag_of(value: Any) -> int:
    """The tag, with a look at both ends of a large one."""
    tag = value["tag"]
    if isinstance(tag, int):
        return tag
    assert tag[0] == tag[-1] and len(tag) == BIG
    return int(tag[0])


@ray.remote
class Holder:
    """Keeps references under names."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def keep(self, name: str, box: list[Any]) -> None:
        self.kept[name] = box

    def take(self, name: str) -> Any:
        return self.kept[name]

    def drop(self, name: str) -> None:
        del self.kept[name]

    def give(self, name: str, other: Any, new: str) -> None:
        ray.get(other.keep.remote(new, self.kept[name]))

    def put(self, name: str, tag: int, large: bool, box: list[Any]) -> None:
        self.kept[name] = [ray.put(make(tag, large, box))]

    def open(self, name: str) -> int:
        return tag_of(ray.get(self.kept[name][0]))

    def clear(self) -> None:
        self.kept.clear()

    def stats(self) -> dict[str, int]:
        return stats()


@ray.remote
def build(tag: int, large: bool, box: list[Any]) -> Any:
    """The value as a task's result: the caller owns it."""
    return make(tag, large, box)


@ray.remote
def build_inside(tag: int, large: bool, box: list[Any]) -> Any:
    """A reference to the value: the worker owns it."""
    return [ray.put(make(tag, large, box))]


@ray.remote(max_calls=1)
def build_and_leave(tag: int, large: bool, box: list[Any]) -> Any:
    """The same, by a worker that ends: its heir owns it."""
    return [ray.put(make(tag, large, box))]


@ray.remote(max_calls=1)
def delegate(tag: int, large: bool, box: list[Any]) -> Any:
    """A worker that ends has another one compute the value."""
    return [build.remote(tag, large, box)]


@ray.remote
def through(value: Any, box: list[Any]) -> Any:
    """An argument's tag, and references passed through."""
    return [tag_of(value), *box]


@dataclass
class Model:
    """What an object is supposed to hold."""

    tag: int
    inside: list[Model] = field(default_factory=list)


class Run:
    """One program: its variables are references, each with the model of its object."""

    def __init__(self, seed: int, holders: list[Any]) -> None:
        self.random = random.Random(seed)
        self.holders = holders
        self.variables: list[tuple[Any, Model]] = []
        self.kept: list[tuple[int, str, Model]] = []
        self.names = 0
        self.tags = 0
        self.pending: list[Any] = []

    def run(self, steps: int) -> None:
        """Does that many steps, looks at everything that lives, and drops it."""
        actions = [
            self.put,
            self.task,
            self.inside,
            self.keep,
            self.actor_puts,
            self.take,
            self.give,
            self.drop,
            self.forget,
            self.open,
            self.pass_through,
            self.look,
        ]
        weights = [3, 3, 2, 3, 2, 2, 2, 2, 4, 2, 2, 2]
        for _ in range(steps):
            self.random.choices(actions, weights)[0]()
        ray.get(self.pending, timeout=LIMIT)
        for ref, model in self.variables:
            self.verify(ref, model)
        for index, name, model in self.kept:
            assert ray.get(self.holders[index].open.remote(name), timeout=LIMIT) == model.tag
        ray.get([holder.clear.remote() for holder in self.holders], timeout=LIMIT)

    def verify(self, ref: Any, model: Model) -> None:
        """Follows the references to the end."""
        value = ray.get(ref, timeout=LIMIT)
        assert tag_of(value) == model.tag and len(value["refs"]) == len(model.inside)
        for inner, its in zip(value["refs"], model.inside, strict=True):
            self.verify(inner, its)

    def new(self) -> tuple[int, bool, list[Any], Model]:
        """A fresh value's tag and size, and up to three references to put inside."""
        self.tags += 1
        chosen = self.random.sample(self.variables, min(self.random.randint(0, 3), len(self.variables)))
        if self.random.random() < 0.3:
            chosen = []
        return (
            self.tags,
            self.random.random() < 0.5,
            [ref for ref, _ in chosen],
            Model(self.tags, [model for _, model in chosen]),
        )

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def put(self) -> None:
        tag, large, refs, model = self.new()
        self.variables.append((ray.put(make(tag, large, refs)), model))

    def task(self) -> None:
        tag, large, refs, model = self.new()
        self.variables.append((build.remote(tag, large, refs), model))

    def inside(self) -> None:
        tag, large, refs, model = self.new()
        (how,) = self.random.choices([build_inside, build_and_leave, delegate], [5, 1, 1])
        (ref,) = ray.get(how.remote(tag, large, refs), timeout=LIMIT)
        self.variables.append((ref, model))

    def keep(self) -> None:
        if self.variables:
            ref, model = self.random.choice(self.variables)
            index, name = self.random.randrange(len(self.holders)), self.name()
            self.pending.append(self.holders[index].keep.remote(name, [ref]))
            self.kept.append((index, name, model))

    def actor_puts(self) -> None:
        tag, large, refs, model = self.new()
        index, name = self.random.randrange(len(self.holders)), self.name()
        self.pending.append(self.holders[index].put.remote(name, tag, large, refs))
        self.kept.append((index, name, model))

    def take(self) -> None:
        if self.kept:
            index, name, model = self.random.choice(self.kept)
            (ref,) = ray.get(self.holders[index].take.remote(name), timeout=LIMIT)
            self.variables.append((ref, model))

    def give(self) -> None:
        if self.kept:
            index, name, model = self.random.choice(self.kept)
            other = (index + 1) % len(self.holders)
            new = self.name()
            ray.get(self.holders[index].give.remote(name, self.holders[other], new), timeout=LIMIT)
            self.kept.append((other, new, model))

    def drop(self) -> None:
        if self.kept:
            index, name, _ = self.kept.pop(self.random.randrange(len(self.kept)))
            self.pending.append(self.holders[index].drop.remote(name))

    def forget(self) -> None:
        if self.variables:
            self.variables.pop(self.random.randrange(len(self.variables)))

    def open(self) -> None:
        """What is inside becomes variables of their own."""
        if self.variables:
            ref, model = self.random.choice(self.variables)
            for inner, its in zip(ray.get(ref, timeout=LIMIT)["refs"], model.inside, strict=True):
                self.variables.append((inner, its))

    def pass_through(self) -> None:
        """References go into a task and come back while the variables may be gone."""
        if self.variables:
            ref, model = self.random.choice(self.variables)
            chosen = self.random.sample(self.variables, min(2, len(self.variables)))
            found = through.remote(ref, [one for one, _ in chosen])
            for _ in range(self.random.randint(0, 2)):
                self.forget()
            del ref
            models = [its for _, its in chosen]
            chosen.clear()
            tag, *refs = ray.get(found, timeout=LIMIT)
            assert tag == model.tag
            self.variables += zip(refs, models, strict=True)

    def look(self) -> None:
        if self.variables:
            self.verify(*self.random.choice(self.variables))
