"""The lines that are measured on a ``Cluster`` of this machine. Each takes a ``Field`` and returns its value."""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MIB = 1 << 20
MANY = 1000
PULL_BYTES = 100 * MIB
#: Of each node: enough for two of the large objects.
STORE_BYTES = 400 * MIB
CPUS = 4
SLEEP_S = 0.05


@dataclass
class Field:
    """A cluster, and how much is to be done on it."""

    ray: Any
    cluster: Any
    ours: bool
    nodes: int
    seconds: float
    times: int
    actors: int
    tasks: int


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    name: str
    unit: str
    func: Callable[[Field], float]
    more_is_better: bool
    #: Clusters that it is measured on; empty: all.
    only: tuple[int, ...] = ()
    #: How many times better than Ray it is to be.
    aim: float = 0.0


LINES: list[Line] = []


def line(
    name: str, unit: str, *, aim: float = 0.0, only: tuple[int, ...] = ()
) -> Callable[[Callable[[Field], float]], Callable[[Field], float]]:
    """Adds a function to the table."""

    def add(func: Callable[[Field], float]) -> Callable[[Field], float]:
        LINES.append(Line(name, unit, func, unit.endswith("/s"), only, aim))
        return func

    return add


@contextmanager
def field(module: str, nodes: int, insecure: bool, **sizes: Any) -> Iterator[Field]:
    """A cluster whose nodes 2, 3, … have the resources n2, n3, …; the program is on the node with the head."""
    ray = importlib.import_module(module)
    cluster = importlib.import_module(f"{module}.cluster_utils").Cluster()
    small: dict[str, Any] = {"object_store_memory": STORE_BYTES, "num_cpus": CPUS, "num_gpus": 0}
    try:
        cluster.add_node(**small, **({"insecure": True} if insecure else {}))
        for number in range(2, nodes + 1):
            cluster.add_node(resources={f"n{number}": MANY}, **small)
        cluster.wait_for_nodes(timeout=120)
        ray.init(address=cluster.address, log_to_driver=False)
        yield Field(ray, cluster, module == "eagleray", nodes, **sizes)
        ray.shutdown()
    finally:
        cluster.shutdown()


def rate(seconds: float, func: Callable[[], None], count: int = 1) -> float:
    """How often something is done in a second, after a first time that does not count."""
    func()
    began, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds or not done:
        func()
        done += count
    return done / spent


def other(number: int) -> dict[str, Any]:
    """Options that place something on one of the other nodes."""
    return {"num_cpus": 0, "resources": {f"n{number}": 0.001}}


@line("task on another node, one by one", "1/s")
def tasks_one_by_one(f: Field) -> float:
    nothing = f.ray.remote(**other(2))(lambda: None)
    return rate(f.seconds, lambda: f.ray.get(nothing.remote()))


@line("tasks on other nodes, 1,000 at once", "1/s")
def tasks_at_once(f: Field) -> float:
    kinds = [f.ray.remote(**other(number))(lambda: None) for number in range(2, f.nodes + 1)]
    return rate(f.seconds, lambda: f.ray.get([kinds[i % len(kinds)].remote() for i in range(MANY)]), MANY)


class Echo:
    """An actor that returns what it gets, and says where it is."""

    def same(self, value: Any) -> Any:
        return value

    def where(self, module: str) -> str:
        return str(importlib.import_module(module).get_runtime_context().get_node_id())


def echoes(f: Field) -> list[Any]:
    """An actor on each of the other nodes; each has answered."""
    made = [f.ray.remote(Echo).options(**other(number)).remote() for number in range(2, f.nodes + 1)]
    places = f.ray.get([actor.where.remote(f.ray.__name__) for actor in made], timeout=120)
    assert len({*places, f.ray.get_runtime_context().get_node_id()}) == f.nodes, f"the actors are on {places}"
    return made


def end(f: Field, actors: list[Any]) -> None:
    for actor in actors:
        f.ray.kill(actor)


@line("call of an actor on another node, one by one", "1/s", aim=5)
def calls_one_by_one(f: Field) -> float:
    made = echoes(f)
    found = rate(f.seconds, lambda: f.ray.get(made[0].same.remote(None)))
    end(f, made)
    return found


@line("calls of actors on other nodes, 1,000 at once", "1/s", aim=15)
def calls_at_once(f: Field) -> float:
    made = echoes(f)
    found = rate(f.seconds, lambda: f.ray.get([made[i % len(made)].same.remote(None) for i in range(MANY)]), MANY)
    end(f, made)
    return found


@line("100 MiB of another node, pulled by get", "MiB/s", aim=2)
def pulled(f: Field) -> float:
    def make(number: int) -> Any:
        import numpy

        data = numpy.frombuffer(numpy.random.default_rng(number).bytes(PULL_BYTES), dtype=numpy.uint8).copy()
        data[0] = data[-1] = number  # between them is nothing that can be compressed
        return data

    task, found = f.ray.remote(**other(2))(make), []
    for number in range(f.times + 1):
        ref = task.remote(number)
        f.ray.wait([ref], fetch_local=False, timeout=120)
        began = time.perf_counter()
        value = f.ray.get(ref)
        found.append(time.perf_counter() - began)
        assert value.nbytes == PULL_BYTES and value[0] == value[-1] == number
        del value, ref
    return PULL_BYTES / MIB / statistics.median(found[1:])


@line("a node joins, to the result of its first task", "s", only=(2,))
def joined(f: Field) -> float:
    found = []
    for number in range(f.times):
        name = f"new{number}"
        where = f.ray.remote(num_cpus=0, resources={name: 1})(lambda: os.getpid())
        began = time.perf_counter()
        node = f.cluster.add_node(
            num_cpus=1, num_gpus=0, object_store_memory=STORE_BYTES, resources={name: 1}, wait=False
        )
        while True:
            try:
                f.ray.get(where.remote(), timeout=60)
                break
            except Exception as error:  # a cluster that does not know the node yet may say that nobody has the resource
                if "schedulable" not in str(error) or time.perf_counter() - began > 60:
                    raise
        found.append(time.perf_counter() - began)
        f.cluster.remove_node(node)
    return statistics.median(found)


def crowd(f: Field, **options: Any) -> float:
    """Makes many actors, calls each and ends them."""
    end(f, echoes(f))  # where actors cannot be on other nodes, the many would wait for ever
    began = time.perf_counter()
    made = [f.ray.remote(Echo).options(**options).remote() for _ in range(f.actors)]
    places = f.ray.get([actor.where.remote(f.ray.__name__) for actor in made], timeout=1200)
    found = len(made) / (time.perf_counter() - began)
    end(f, made)
    assert len(set(places)) > 1, "all actors are on one node"
    return found


@line("actors over all nodes (SPREAD), made and called", "actors/s", only=(8,))
def actors_spread(f: Field) -> float:
    return crowd(f, num_cpus=0, scheduling_strategy="SPREAD")


@line("many_actors, sized down", "actors/s", only=(4, 8))
def many_actors(f: Field) -> float:
    return crowd(f, num_cpus=0.9 * f.nodes * CPUS / f.actors)


@line("many_tasks, sized down: tasks of 50 ms on all CPUs", "1/s", only=(4, 8))
def many_tasks(f: Field) -> float:
    sleeps = f.ray.remote(num_cpus=1)(lambda: time.sleep(SLEEP_S))
    f.ray.get([sleeps.remote() for _ in range(2 * f.nodes * CPUS)])
    began = time.perf_counter()
    f.ray.get([sleeps.remote() for _ in range(f.tasks)])
    return f.tasks / (time.perf_counter() - began)
