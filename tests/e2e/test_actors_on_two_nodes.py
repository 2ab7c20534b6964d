"""Actors that run on another node than the program that has created them."""

from __future__ import annotations

import json
import os
import signal
import textwrap
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


class Counter:
    def __init__(self, start=0):
        self.n = start

    def add(self, n):
        self.n += n
        return self.n

    def node(self):
        here = ray.get_runtime_context().get_node_id()
        return next(n["NodeName"] for n in ray.nodes() if n["NodeID"] == here)

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


def test_it_restarts_and_calls_are_told(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        def told(call):
            try:
                return ray.get(call, timeout=30)
            except Exception as error:
                return [type(error).__name__, str(error)]

        counter = over_there(max_restarts=1).remote(10)
        first = ray.get(counter.pid.remote())
        told(counter.die.remote())
        again = told(counter.add.remote(1))
        second = ray.get(counter.pid.remote())
        ray.kill(counter)
        dead = told(counter.add.remote(1))

        tried = over_there(max_restarts=-1, max_task_retries=-1).remote(0)
        pid = ray.get(tried.pid.remote())
        calls = [tried.add.remote(1) for _ in range(500)]
        os.kill(pid, signal.SIGKILL)
        numbers = [told(c) for c in calls]

        leaves = over_there().remote()
        told(leaves.leave.remote())
        all_ran = numbers[-1] <= 500 and all(type(n) is int for n in numbers)
        show([again, first != second, dead, all_ran, told(leaves.pid.remote())])
        """,
    )
    again, other, dead, all_ran, left = seen
    assert again == 11 and other and all_ran, seen
    assert (
        dead[0] == "ActorDiedError" and "ray.kill" in dead[1] and "restarted as often as max_restarts allows" in dead[1]
    )
    assert left[0] == "ActorDiedError" and "ended on purpose" in left[1] and "class_name: Counter" in left[1]


def test_a_kill_that_lets_it_restart_is_over_when_it_returns(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        counter = over_there(max_restarts=-1).remote()
        pids = [ray.get(counter.pid.remote())]
        for _ in range(5):
            ray.kill(counter, no_restart=False)
            pids.append(ray.get(counter.pid.remote(), timeout=30))
        show(len(set(pids)))
        """,
    )
    assert seen == 6


def test_what_fails_at_the_start_says_why(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        class Fails:
            def __init__(self):
                raise ValueError("not today")

        class Dies:
            def __init__(self):
                os.kill(os.getpid(), 9)

            def __ray_ready__(self):
                return True

        said = []
        for make in (Fails, Dies):
            actor = ray.remote(num_cpus=0, resources={"b": 0.001})(make).remote()
            try:
                ray.get(actor.__ray_ready__.remote(), timeout=30)
            except Exception as error:
                said.append([type(error).__name__, str(error)])
        nowhere = ray.remote(num_cpus=0, resources={"b": 2})(Counter).remote()
        try:
            ray.get(nowhere.pid.remote(), timeout=30)
        except Exception as error:
            said.append([type(error).__name__, str(error)])
        show(said)
        """,
    )
    fails, dies, nowhere = seen
    assert "not today" in fails[1] and "SIGKILL" in dies[1], seen
    assert nowhere[0] == "ActorUnschedulableError" and "at most" in nowhere[1] and '"b": 2' in nowhere[1]


def test_handles_names_and_kinds_of_actors(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        import asyncio
        import threading

        class Waits:
            async def meet(self, n):
                self.here = getattr(self, "here", 0) + 1
                while self.here < n:
                    await asyncio.sleep(0.001)
                return self.here

        class Threads:
            def __init__(self):
                self.barrier = threading.Barrier(4)

            def meet(self):
                return self.barrier.wait(30) >= 0

        there = {"num_cpus": 0, "resources": {"b": 0.001}}
        waits, threads = ray.remote(**there)(Waits).remote(), ray.remote(max_concurrency=4, **there)(Threads).remote()
        named = over_there(name="named", get_if_exists=True).remote(1)
        ray.get(named.add.remote(1))
        same = over_there(name="named", get_if_exists=True).remote(50)
        uses = ray.remote(num_cpus=0.1)(lambda h: ray.get(h.add.remote(10)))
        inside = ray.get(over_there().remote().size.remote(np.zeros(8)))
        pid = ray.get(over_there().remote().pid.remote())  # its handle is gone
        for _ in range(3000):
            if not os.path.exists(f"/proc/{pid}"):
                break
            time.sleep(0.01)
        show([
            ray.get([waits.meet.remote(5) for _ in range(5)]), ray.get([threads.meet.remote() for _ in range(4)]),
            ray.get(same.add.remote(1)), ray.get(uses.remote(named)), inside, os.path.exists(f"/proc/{pid}"),
            ray.get_actor("named") == named,
        ])
        """,
    )
    assert seen == [[5] * 5, [True] * 4, 3, 13, 64, False, True]


HOLDS = """
    owned = ray.remote(num_cpus=0, num_gpus=1)(Counter).remote()
    made = ray.get(ray.remote(num_cpus=0.1)(lambda: [ray.remote(num_cpus=0, num_gpus=1)(Counter).remote()]).remote())
    print("holds", ray.get([owned.node.remote(), made[0].node.remote()]), flush=True)
    time.sleep(600)
"""

WATCHES = """
    def free():
        return ray.available_resources().get("GPU", 0)

    assert free() == 0
    print("watches", flush=True)
    input()
    began = time.monotonic()
    while free() < 2:
        assert time.monotonic() < began + 30
        time.sleep(0.005)
    show(time.monotonic() - began)
"""


def test_a_driver_is_killed_and_its_accelerators_are_free(cluster: TwoNodes) -> None:
    holder = cluster.first.popen(program(HOLDS))
    assert holder.stdout is not None and holder.stdout.readline() == "holds ['two', 'two']\n"
    watcher = cluster.second.popen(program(WATCHES))
    assert watcher.stdout is not None and watcher.stdout.readline() == "watches\n"
    holder.send_signal(signal.SIGKILL)
    out, _ = watcher.communicate("\n", timeout=LIMIT)
    holder.communicate()
    assert watcher.returncode == 0, out
    assert float(out) < 2, out


LEAVES = """
    class Keeper:
        def __init__(self):
            self.own = ray.remote(num_cpus=0, resources={"b": 0.001})(Counter).remote(100)
            self.home = ray.remote(num_cpus=0, resources={"only": 0.001})(Counter).remote(200)
            ray.get(self.home.node.remote())

        def work(self):
            task = ray.remote(num_cpus=0.1)(lambda n: n + 1)
            far = ray.remote(num_cpus=0.1, resources={"only": 0.001})(lambda n: n + 1)
            return ray.get([self.own.add.remote(1), self.home.add.remote(1), task.remote(1), far.remote(1)])

        def pid(self):
            return os.getpid()

    keeper = ray.remote(num_cpus=0, resources={"b": 0.001})(Keeper).options(name="keeper", lifetime="detached").remote()
    bound = over_there().remote()
    print(ray.get(keeper.work.remote()), ray.get(bound.pid.remote()), flush=True)
"""

RETURNS = """
    keeper = ray.get_actor("keeper")
    time.sleep(3)  # a job without detached actors is over after two seconds
    first, pid = ray.get(keeper.work.remote(), timeout=30), ray.get(keeper.pid.remote())
    ray.kill(keeper)
    show(first)
"""


def test_what_a_detached_actor_has_submitted_goes_on_without_the_driver() -> None:
    with TwoNodes('--resources={"only": 1}') as cluster:
        said = cluster.first.python(program(LEAVES)).split("] ")
        assert said[0] == "[101, 201, 2, 2"
        until(lambda: not os.path.exists(f"/proc/{int(said[1])}"))
        assert run(cluster.first, RETURNS) == [102, 202, 2, 2]
        until(lambda: "0 actors" in cluster.first("status") and "0 actors" in cluster.second("status"))


def test_it_restarts_on_another_node_when_its_node_is_gone() -> None:
    with TwoNodes() as cluster:
        watcher = cluster.first.popen(
            program("""
            counter = ray.remote(num_cpus=0.1, max_restarts=-1, max_task_retries=-1)(Counter).options(
                num_cpus=2, resources={}
            ).remote(7)
            print(ray.get(counter.node.remote()), flush=True)
            input()
            print(ray.get(counter.add.remote(1), timeout=60), ray.get(counter.node.remote()), flush=True)
            """)
        )
        assert watcher.stdout is not None and watcher.stdout.readline() == "two\n"
        third = Node(cluster.mark)
        try:
            cluster.join(third, "--num-cpus=2", "--node-name=three")
            os.kill(cluster.second.pid("pid"), signal.SIGKILL)
            until(lambda: "dead node" in cluster.first("status"))
            out, _ = watcher.communicate("\n", timeout=LIMIT)
            assert out == "8 three\n", out
        finally:
            third("stop", "--grace-period=20")


def test_the_first_call_after_its_node_is_gone_has_not_begun_before() -> None:
    with TwoNodes() as cluster:
        caller = cluster.first.popen(
            program("""
            counter = ray.remote(num_cpus=0.1, max_restarts=-1)(Counter).options(num_cpus=2, resources={}).remote(7)
            print(ray.get(counter.node.remote()), flush=True)
            input()
            print(ray.get(counter.add.remote(1), timeout=60), ray.get(counter.node.remote()), flush=True)
            """)
        )
        assert caller.stdout is not None and caller.stdout.readline() == "two\n"
        third = Node(cluster.mark)
        try:
            cluster.join(third, "--num-cpus=2", "--node-name=three")
            os.kill(cluster.second.pid("pid"), signal.SIGKILL)
            # The caller does nothing meanwhile. It hears of the end from the socket that refuses the call.
            until(lambda: "1 actor," in third("status") and "dead node" in cluster.first("status"))
            out, _ = caller.communicate("\n", timeout=LIMIT)
            assert out == "8 three\n", out
        finally:
            third("stop", "--grace-period=20")
