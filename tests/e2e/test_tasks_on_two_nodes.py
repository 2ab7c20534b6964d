"""Tasks that run on another node than the program that has submitted them."""

from __future__ import annotations

import json
import signal
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from pace import until
from two_nodes import LIMIT, Node, TwoNodes

pytestmark = pytest.mark.timeout(300)

#: What every program of these tests begins with. Only the node "two" has the resource b.
BEGIN = """
import json
import os
import time

import eagleray as ray
import numpy as np

ray.init()
HERE = ray.get_runtime_context().get_node_id()


def node():
    return ray.get_runtime_context().get_node_id()


def over_there(f, **options):
    return ray.remote(num_cpus=0.1, resources={"b": 0.01}, **options)(f)


def show(value):
    print(json.dumps(value, default=lambda number: number.item()))

"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes() as made:
        yield made


def run(node: Node, source: str) -> Any:
    """Runs a program and returns what it showed."""
    return json.loads(node.python(program(source)).splitlines()[-1])


def program(source: str) -> str:
    return BEGIN + textwrap.dedent(source)


def test_a_task_on_the_other_node(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        f = over_there(lambda x: (x + 1, node(), os.getpid()))
        one, there, pid = ray.get(f.remote(1))
        names = {n["NodeID"]: n["NodeName"] for n in ray.nodes()}
        show([one, there == HERE, names[there], pid == os.getpid()])
        """,
    )
    assert seen == [2, False, "two", False]


def test_a_thousand(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        f = over_there(lambda x: (x * x, node()))
        done = ray.get([f.remote(i) for i in range(1000)])
        places = {n for _, n in done}
        show([[x for x, _ in done] == [i * i for i in range(1000)], len(places), HERE in places])
        """,
    )
    assert seen == [True, 1, False]


def test_work_that_has_no_room_at_home_goes_to_the_other_node(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        @ray.remote
        def sleeps():
            time.sleep(0.5)
            return node()

        began = time.monotonic()
        places = ray.get([sleeps.remote() for _ in range(9)])  # three CPUs, one of them here
        show([sorted(places.count(n["NodeID"]) for n in ray.nodes()), time.monotonic() - began])
        """,
    )
    assert seen[0][0] >= 1 and sum(seen[0]) == 9, seen


def test_a_task_too_large_for_its_own_node(cluster: TwoNodes) -> None:
    assert run(cluster.first, "show(ray.get(ray.remote(num_cpus=2)(node).remote()) != HERE)\n") is True
    assert run(cluster.second, "show(ray.get(ray.remote(num_cpus=2)(node).remote()) == HERE)\n") is True


def test_borrowed_three_ways(cluster: TwoNodes) -> None:
    """A reference goes to the other node and from there home to another process; one made there comes back."""
    seen = run(
        cluster.first,
        """
        home = ray.remote(num_cpus=0.1)(lambda refs: ray.get(refs[0]) + 1)

        def outer(refs):
            mine = ray.put(5)
            again = over_there(lambda refs: ray.get(refs[0]) * 2).remote(refs)
            return ray.get(refs[0]) + ray.get(again) + ray.get(home.remote([mine])) + ray.get(home.remote(refs)), [mine]

        ref = ray.put(100)
        total, kept = ray.get(over_there(outer).remote([ref]))
        del ref
        time.sleep(0.5)
        show([total, ray.get(kept[0])])
        """,
    )
    assert seen == [100 + 200 + 6 + 101, 5]


def test_large_values_both_ways(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        here = np.arange(2_000_000, dtype=np.float64)  # 16 MB
        ref = ray.put(here)
        total = over_there(lambda x: float(x.sum()))
        twice = over_there(lambda x: x * 2)
        back = twice.remote(ref)
        show([
            ray.get(total.remote(ref)) == here.sum(),
            ray.get(total.remote(here)) == here.sum(),
            bool((ray.get(back) == here * 2).all()),
            ray.get(total.remote(twice.remote(back))) == 4 * here.sum(),
            ray.get(ray.remote(num_cpus=0.1)(lambda x: float(x.sum())).remote(back)) == 2 * here.sum(),
        ])
        """,
    )
    assert seen == [True] * 5


def test_errors_and_deaths_over_there(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        def fails():
            raise ValueError("no such thing")

        def dies():
            os.kill(os.getpid(), 9)

        said = []
        for f in (over_there(fails), over_there(dies, max_retries=0)):
            try:
                ray.get(f.remote())
            except Exception as error:
                said.append([type(error).__name__, str(error)])
        two = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == "two")
        show([said, two, ray.get(over_there(lambda: 7).remote())])
        """,
    )
    (failed, died), two, after = seen
    assert failed[0] == "RayTaskError(ValueError)" and "no such thing" in failed[1] and "ip=" in failed[1]
    assert died[0] == "WorkerCrashedError" and "SIGKILL" in died[1] and two in died[1]
    assert after == 7


def test_retried_over_there(cluster: TwoNodes, tmp_path: Any) -> None:
    seen = run(
        cluster.first,
        f"""
        def dies_twice():
            with open({str(tmp_path / "runs")!r}, "a") as f:
                f.write("x")
            if len(open({str(tmp_path / "runs")!r}).read()) < 3:
                os.kill(os.getpid(), 9)
            return node() != HERE

        show(ray.get(over_there(dies_twice, max_retries=2).remote()))
        """,
    )
    assert seen is True
    assert (tmp_path / "runs").read_text() == "xxx"


def test_generators_environments_and_cancellation(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        def counts():
            for i in range(20):
                yield np.full(100_000, i)  # each lies in the store over there

        totals = [int(ray.get(r)[0]) for r in over_there(counts, num_returns="streaming").remote()]
        variable = over_there(lambda: os.environ.get("ONLY_THERE"), runtime_env={"env_vars": {"ONLY_THERE": "yes"}})
        nested = over_there(lambda: ray.get(variable.remote()))
        waits = over_there(lambda: time.sleep(60)).remote()
        ready, _ = ray.wait([waits], timeout=1)
        ray.cancel(waits)
        try:
            ray.get(waits, timeout=30)
        except ray.exceptions.TaskCancelledError:
            cancelled = True
        show([totals, ray.get(variable.remote()), ray.get(nested.remote()), ready, cancelled])
        """,
    )
    assert seen == [list(range(20)), "yes", "yes", [], True]


def test_a_worker_submits_work_of_an_environment_that_its_driver_never_used_there(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        env = {"env_vars": {"FROM_A_WORKER": "yes"}}

        @ray.remote(num_cpus=0.1, runtime_env=env)  # at home
        def submits():
            return ray.get(over_there(lambda: (os.environ.get("FROM_A_WORKER"), node())).remote()), node()

        (value, there), here = ray.get(submits.remote())
        show([value, there == HERE, here == HERE])
        """,
    )
    assert seen == ["yes", False, True]


def test_no_node_has_it(cluster: TwoNodes) -> None:
    seen = run(
        cluster.first,
        """
        try:
            ray.get(ray.remote(resources={"nowhere": 1})(node).remote(), timeout=30)
        except ray.exceptions.TaskUnschedulableError as error:
            show(str(error))
        """,
    )
    assert "nowhere: asked 1, the cluster has none" in seen and "eagleray start --address" in seen


def test_a_drivers_work_over_there_ends_with_it(cluster: TwoNodes) -> None:
    """When the driver is killed, what it has running on the other node ends, and the resources are free."""
    driver = cluster.first.popen(
        program(
            """
            f = ray.remote(num_cpus=2)(lambda: time.sleep(600))
            pids = ray.remote(num_cpus=0, resources={"b": 0.01})(lambda: os.getpid())
            refs = [f.remote()]
            print(ray.get(pids.remote()), flush=True)
            time.sleep(600)
            """
        )
    )
    try:
        assert driver.stdout is not None and driver.stdout.readline().strip().isdigit()
        until(lambda: "2 / 2" in cluster.second("status"), LIMIT)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate(timeout=LIMIT)
    until(lambda: "0 / 2" in cluster.second("status"), LIMIT)
