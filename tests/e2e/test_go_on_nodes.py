"""Go worker programs on nodes other than that of the caller."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray.cluster_utils import Cluster
from go_program import program

pytestmark = pytest.mark.timeout(300)

THERE: dict[str, Any] = {"num_cpus": 0.01, "resources": {"b": 0.01}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "resources": {"a": 1}})
    try:
        made.add_node(num_cpus=2, resources={"b": 1})
        ray.init(address=made.address, log_to_driver=False, namespace="go")
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def test_the_program_is_brought_to_the_node(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "program"
    os.link(program(), path)
    go_function, go_actor_class = ray.cross_language.go_function, ray.cross_language.go_actor_class
    here = ray.get(go_function("info", worker=path).options(resources={"a": 0.01}).remote())["NodeID"]
    there = ray.get(go_function("info", worker=path).options(**THERE).remote())["NodeID"]
    assert here != there
    assert ray.get(go_function("program", worker=path).options(resources={"a": 0.01}).remote()) == str(path)
    copy = ray.get(go_function("program", worker=path).options(**THERE).remote())
    assert copy != str(path) and Path(copy).read_bytes() == path.read_bytes()

    ref = ray.put(list(range(100)))
    assert ray.get(go_function("same", worker=path).options(**THERE).remote(ref)) == list(range(100))
    stream = go_function("count", worker=path).options(num_returns="streaming", **THERE).remote(50)
    assert [ray.get(item) for item in stream] == list(range(50))
    # What runs there calls what is here, and the other way round.
    assert ray.get(go_function("python", worker=path).options(**THERE).remote("math:sqrt", 9.0)) == 3
    assert ray.get(go_function("fib", worker=path).options(**THERE).remote(5)) == 5
    with pytest.raises(ray.exceptions.CrossLanguageError, match="no good"):
        ray.get(go_function("fail", worker=path).options(**THERE).remote("no good"))

    counter = go_actor_class("Counter", worker=path).options(name="far", max_restarts=1, max_task_retries=1, **THERE)
    made = counter.remote(1)
    assert ray.get(made.Add.remote(1)) == 2
    assert ray.get(ray.get_actor("far").DieOnce.remote(str(tmp_path / "died"))) == 1
    assert ray.get(go_function("add_to", worker=path).options(resources={"a": 0.01}).remote(made, "Add", 4)) == 5
