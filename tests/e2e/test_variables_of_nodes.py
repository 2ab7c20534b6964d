"""Variables of a node's environment reach the workers that run there, below those of the driver and of the task."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import eagleray
import pytest
from eagleray.cluster_utils import Cluster

pytestmark = pytest.mark.timeout(180)

NAMES = (
    *("OF_NODE", "OF_BOTH", "OF_TASK", "OMP_NUM_THREADS", "RAY_DEDUP_LOGS", "EAGLERAY_OF_NODE", "PYTHONOFNODE"),
    *("NVIDIA_VISIBLE_DEVICES", "EAGLERAY_ZYGOTE_ADDED"),
)

#: What tasks see on a node that sets nothing. A task for which nobody sets a number of threads has as many as CPUs.
ELSEWHERE = {"OF_BOTH": "driver", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("OMP_NUM_THREADS", raising=False)
            made.add_node(num_cpus=1, resources={"head": 1}, env_vars={"OF_NODE": "head"})
            variables = dict.fromkeys(NAMES[:-1], "node") | {"OMP_NUM_THREADS": "3"}
            made.add_node(num_cpus=2, resources={"there": 2}, env_vars=variables)
            made.add_node(num_cpus=1, resources={"third": 1})
            patch.setenv("OF_BOTH", "driver")
            eagleray.init(address=made.address)
            yield made
    finally:
        eagleray.shutdown()
        made.shutdown()


def seen() -> dict[str, str]:
    return {name: os.environ[name] for name in NAMES if name in os.environ}


def at(node: str, runtime_env: dict[str, Any] | None = None) -> dict[str, str]:
    task = eagleray.remote(seen).options(resources={node: 1}, runtime_env=runtime_env or {})
    return eagleray.get(task.remote())


def test_the_driver_wins_over_the_node_and_the_task_over_both(cluster: Cluster) -> None:
    of_node = {"OF_NODE": "node", "OF_BOTH": "driver", "OMP_NUM_THREADS": "3"}
    assert at("there") == {**of_node, "OF_TASK": "node"}
    variables = {"OF_TASK": "task", "OF_BOTH": "task"}
    assert at("there", {"env_vars": variables}) == {**of_node, **variables}
    assert at("there", {"env_vars": {"OMP_NUM_THREADS": "2"}})["OMP_NUM_THREADS"] == "2"


def test_each_node_has_its_own(cluster: Cluster) -> None:
    assert at("head") == {"OF_NODE": "head", **ELSEWHERE}
    assert at("third") == ELSEWHERE


def test_tasks_of_tasks_take_none_along(cluster: Cluster) -> None:
    @eagleray.remote(resources={"there": 1})
    def nested(runtime_env: dict[str, Any]) -> list[dict[str, str]]:
        return [at("third", runtime_env), at("there", runtime_env)]

    of_node = {"OF_NODE": "node", "OF_BOTH": "driver", "OMP_NUM_THREADS": "3"}
    assert eagleray.get(nested.remote({})) == [ELSEWHERE, {**of_node, "OF_TASK": "node"}]
    variables = {"OF_TASK": "task"}
    expected = [{**ELSEWHERE, **variables}, {**of_node, **variables}]
    assert eagleray.get(nested.remote({"env_vars": variables})) == expected


def test_actors_have_them_too(cluster: Cluster) -> None:
    @eagleray.remote(resources={"there": 1}, num_cpus=0)
    class Looker:
        def look(self) -> str | None:
            return os.environ.get("OF_NODE")

    assert eagleray.get(Looker.remote().look.remote()) == "node"
