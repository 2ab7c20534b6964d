"""Nodes run out of memory, and tasks are tried again with more of it on other nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray.cluster_utils import Cluster

MIB = 2**20
LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes of different size, whose processes may have 250 MiB each."""
    bounds = {"EAGLERAY_memory_limit_bytes": str(250 * MIB)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_task_oom_retry_delay_base_ms", "20")
        made = Cluster(initialize_head=True, head_node_args={"memory": 1000 * MIB, "num_cpus": 1, "env_vars": bounds})
        try:
            made.add_node(memory=4000 * MIB, num_cpus=1, env_vars=bounds)
            made.connect()
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


def test_a_retry_with_more_memory_than_the_own_node_has(cluster: Cluster, tmp_path: Path) -> None:
    first = tmp_path / "first"

    @ray.remote(retry_with_more_memory=True, memory=800 * MIB, max_retries=1)
    def grows() -> Any:
        if not first.exists():
            first.touch()
            kept = bytearray(320 * MIB)
            time.sleep(LIMIT)
            del kept
        context = ray.get_runtime_context()
        return context.get_assigned_resources()["memory"], context.get_node_id()

    (larger,) = cluster.worker_nodes
    assert ray.get(grows.remote(), timeout=LIMIT) == (1600 * MIB, larger.node_id)
