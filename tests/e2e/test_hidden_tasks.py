"""What lists of tasks leave out, which placement group a task has, and groups that no node can ever have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import eagleray as ray
import pytest
from eagleray.exceptions import PlacementGroupUnschedulableError
from eagleray.util import state
from eagleray.util.placement_group import placement_group, placement_group_table, remove_placement_group
from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from pace import until


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    ray.shutdown()
    ray.init(address="local", num_cpus=2)
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
def waits(gate: str) -> None:
    until(Path(gate).exists)


def names() -> set[str | None]:
    return {row.name for row in state.list_tasks()}


def test_tasks_without_events_are_in_no_list(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    hidden = waits.options(enable_task_events=False)
    refs = [
        hidden.remote(str(gate)),
        waits.options(name="seen").remote(str(gate)),
        waits.options(name="less", enable_task_events=False).remote(str(gate)),
    ]
    until(lambda: any(row.state == "RUNNING" for row in state.list_tasks(filters=[("name", "=", "seen")])))
    assert names() & {"waits", "seen", "less"} == {"seen"}
    gate.touch()
    ray.get(refs, timeout=60)
    assert names() & {"waits", "seen", "less"} == {"seen"}
    summary = state.summarize_tasks()["cluster"]["summary"]
    assert "seen" in summary and not {"waits", "less"} & set(summary)


def test_calls_of_a_class_without_events_are_in_no_list() -> None:
    @ray.remote(num_cpus=0, enable_task_events=False)
    class Hidden:
        def one(self) -> int:
            return 1

        @ray.method(enable_task_events=True)
        def two(self) -> int:
            return 2

    actor = Hidden.remote()
    assert ray.get([actor.one.remote(), actor.two.remote()], timeout=60) == [1, 2]
    assert ray.get(actor.one.options(name="shown", enable_task_events=True).remote(), timeout=60) == 1
    assert names() & {"Hidden.one", "Hidden.two", "shown"} == {"Hidden.two", "shown"}


def test_a_task_has_the_placement_group_in_which_it_runs(tmp_path: Path) -> None:
    group = placement_group([{"CPU": 1}])
    inside = PlacementGroupSchedulingStrategy(group)
    gate = tmp_path / "gate"
    ref = waits.options(name="in", scheduling_strategy=inside).remote(str(gate))

    def of(name: str) -> list[str | None]:
        return [row.placement_group_id for row in state.list_tasks(filters=[("name", "=", name)], detail=True)]

    until(lambda: of("in") == [group.id.hex()])
    gate.touch()
    ray.get([ref, waits.options(name="out").remote(str(gate))], timeout=60)
    assert of("in") == [group.id.hex()] and of("out") == [None]
    remove_placement_group(group)


def test_a_group_that_no_node_can_ever_have_says_so() -> None:
    group = placement_group([{"CPU": 64}])
    with pytest.raises(PlacementGroupUnschedulableError):
        ray.get(group.ready(), timeout=60)
    assert placement_group_table(group)["stats"]["scheduling_state"] == "INFEASIBLE"
    (row,) = state.list_placement_groups(filters=[("placement_group_id", "=", group.id.hex())], detail=True)
    assert (row.state, (row.stats or {})["scheduling_state"]) == ("PENDING", "INFEASIBLE")
    remove_placement_group(group)
    assert placement_group_table(group)["stats"]["scheduling_state"] == "REMOVED"
