"""What random programs are made of: values that can be told apart, tasks that make them, actors that keep them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import numpy as np
from arena import BIG, stats


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


#: Where tasks run, if the program says so: "SPREAD" is on all nodes in turn.
_STRATEGY = os.environ.get("EAGLERAY_CHAOS_STRATEGY")
PLACED: dict[str, Any] = {"scheduling_strategy": _STRATEGY} if _STRATEGY else {}


@ray.remote(num_cpus=0)
class Holder:
    """Keeps references under names."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def pid(self) -> int:
        return os.getpid()

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

    def entrust(self, other: Any, new: str, tag: int, large: bool, box: list[Any]) -> None:
        ray.get(other.keep.remote(new, [ray.put(make(tag, large, box))]))

    def items(self, plan: list[tuple[int, bool]], boxes: list[list[Any]]) -> Iterator[Any]:
        for (tag, large), box in zip(plan, boxes, strict=True):
            yield make(tag, large, box)

    def read(self, box: list[Any]) -> int:
        return tag_of(ray.get(box[0]))

    def open(self, name: str) -> int:
        return tag_of(ray.get(self.kept[name][0]))

    def clear(self) -> None:
        self.kept.clear()

    def own(self) -> list[Any]:
        """A reference that this process owns."""
        return [ray.put(0)]

    def stats(self) -> dict[str, int]:
        return stats()


@ray.remote(max_retries=-1, **PLACED)
def build(tag: int, large: bool, box: list[Any]) -> Any:
    """The value as a task's result: the caller owns it."""
    return make(tag, large, box)


@ray.remote(max_retries=-1, **PLACED)
def build_inside(tag: int, large: bool, box: list[Any]) -> Any:
    """A reference to the value: the worker owns it."""
    return [os.getpid(), ray.put(make(tag, large, box))]


@ray.remote(max_calls=1, max_retries=-1, **PLACED)
def build_and_leave(tag: int, large: bool, box: list[Any]) -> Any:
    """The same, by a worker that ends: its successor owns it."""
    return [os.getpid(), ray.put(make(tag, large, box))]


@ray.remote(max_calls=1, max_retries=-1, **PLACED)
def delegate(tag: int, large: bool, box: list[Any]) -> Any:
    """A worker that ends has another one compute the value."""
    return [os.getpid(), build.remote(tag, large, box)]


@ray.remote(max_retries=-1, **PLACED)
def through(value: Any, box: list[Any]) -> Any:
    """An argument's tag, and references passed through."""
    return [tag_of(value), *box]


@ray.remote(max_retries=-1, **PLACED)
def fail(box: list[Any]) -> None:
    """Holds references when it fails."""
    raise ValueError(len(box))


@ray.remote(max_retries=-1, **PLACED)
def linger(box: list[Any], seconds: float) -> Any:
    """Takes its time with references in its hands."""
    time.sleep(seconds)
    return box


@ray.remote(max_retries=-1, **PLACED)
def build_several(plan: list[tuple[int, bool]], boxes: list[list[Any]]) -> Any:
    """Several values, each a result of its own."""
    return [make(tag, large, box) for (tag, large), box in zip(plan, boxes, strict=True)]


@ray.remote(max_retries=-1, **PLACED)
def items(plan: list[tuple[int, bool]], boxes: list[list[Any]]) -> Iterator[Any]:
    """The same, one after the other."""
    for (tag, large), box in zip(plan, boxes, strict=True):
        yield make(tag, large, box)


@ray.remote(max_retries=-1, **PLACED)
def derived(needed: Any, its: int, tag: int, large: bool, box: list[Any]) -> Any:
    """A value that needs another one to be made."""
    assert tag_of(needed) == its
    return make(tag, large, box)


@ray.remote(max_retries=-1, **PLACED)
def relay(box: list[Any], depth: int) -> Any:
    """References go down through other tasks and come back."""
    return box if depth == 0 else ray.get(relay.remote(box, depth - 1))


class Bearer(Exception):
    """Carries references."""

    def __init__(self, pid: int, box: list[Any]) -> None:
        super().__init__(pid, box)
        self.pid = pid
        self.box = box


@ray.remote(max_retries=-1, **PLACED)
def fail_with(tag: int, large: bool, refs: list[Any], box: list[Any]) -> None:
    """Fails with references, one of them to a value of its own."""
    raise Bearer(os.getpid(), [ray.put(make(tag, large, refs)), *box])
