"""Actors that run on another node than the program that has created them."""

from __future__ import annotations

import json
import os
import signal
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pace import until
from two_nodes import LIMIT, Node, TwoNodes

pytestmark = pytest.mark.timeout(300)

#: What every program of these tests begins with. Only the node "two" has the resource b, and GPUs that are declared.
BEGIN = """
import json
import os
import signal
import time

import eagleray as ray
import numpy as np

ray.init(namespace="of the test")
HERE = ray.get_runtime_context().get_node_id()
NAMES = {n["NodeID"]: n["NodeName"] for n in ray.nodes()}


class Counter:
    def __init__(self, start=0):
        self.n = start

    def add(self, n):
        self.n += n
        return self.n

    def node(self):
        return NAMES[ray.get_runtime_context().get_node_id()]

    def pid(self):
        return os.getpid()

    def gpus(self):
        return ray.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def leave(self):
        ray.actor.exit_actor()

    def size(self, value):
        return int(value.nbytes)

    def make(self, n):
        return np.ones(n, dtype=np.uint8)

    def count(self, n):
        for i in range(n):
            yield i


def over_there(**options):
    return ray.remote(num_cpus=0, resources={"b": 0.001}, **options)(Counter)


def show(value):
    print(json.dumps(value, default=lambda number: number.item()), flush=True)

"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes(second=("--num-gpus=2",)) as made:
        yield made


def run(node: Node, source: str) -> Any:
    """Runs a program and returns what it showed."""
    return json.loads(node.python(program(source)).splitlines()[-1])


def program(source: str) -> str:
    return BEGIN + textwrap.dedent(source)


def test_an_actor_whose_resource_only_the_other_node_has(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        counter = over_there().remote(5)
        home = ray.remote(num_cpus=0)(Counter).remote()
        added = ray.get([counter.add.remote(1) for _ in range(1000)])
        show([
            added == list(range(6, 1006)), ray.get(counter.node.remote()), ray.get(home.node.remote()),
            ray.get(counter.size.remote(np.zeros(3_000_000))), ray.get(counter.make.remote(5_000_000)).nbytes,
            [ray.get(r) for r in counter.count.options(num_returns="streaming").remote(5)],
        ])
        """,
    )
    assert seen == [True, "two", "one", 24_000_000, 5_000_000, [0, 1, 2, 3, 4]]


def test_gpus_of_the_other_node(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        halves = [ray.remote(num_cpus=0, num_gpus=0.5)(Counter).remote() for _ in range(2)]
        whole = ray.remote(num_cpus=0, num_gpus=1)(Counter).remote()
        show([ray.get(a.gpus.remote()) for a in (*halves, whole)] + [ray.get(whole.node.remote())])
        """,
    )
    assert seen[:2] == [seen[0]] * 2 and seen[3] == "two"
    assert sorted([seen[0][1], seen[2][1]]) == ["0", "1"] and [int(seen[2][1])] == seen[2][0]


def test_two_hundred_over_two_nodes(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        began = time.monotonic()
        actors = [ray.remote(Counter).remote(i) for i in range(200)]
        added = ray.get([a.add.remote(1) for a in actors])
        took = time.monotonic() - began
        places = ray.get([a.node.remote() for a in actors])
        show([added == list(range(1, 201)), places.count("one"), places.count("two"), took])
        """,
    )
    assert seen[0] and seen[1] >= 20 and seen[2] >= 20, seen
