"""Tasks that lists of tasks do not show, and the placement group of a task."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from casebook import case, eventually


def listed(ray: Any, **how: Any) -> list[Any]:
    rows: list[Any] = import_module(f"{ray.__name__}.util.state").list_tasks(**how)
    return [row for row in rows if row.type != "ACTOR_CREATION_TASK"]


def shown(ray: Any, wanted: list[str], hidden: list[str]) -> None:
    """Prints which of these tasks are listed, once those are there that must be. Tasks of other cases do not count."""
    names = {*wanted, *hidden}
    print(eventually(lambda: sorted(row.name for row in listed(ray) if row.name in names), wanted))


@case
def tasks_with_and_without_events(ray: Any) -> None:
    hidden = ray.remote(num_cpus=0, enable_task_events=False)(lambda: 1)
    seen = ray.remote(num_cpus=0)(lambda: 1)
    again = hidden.options(name="again", enable_task_events=True)
    ray.get(
        [
            hidden.options(name="hidden").remote(),
            seen.options(name="seen").remote(),
            seen.options(name="less", enable_task_events=False).remote(),
        ]
    )
    ray.get(again.remote())
    shown(ray, ["again", "seen"], ["hidden", "less"])


@case
def methods_with_and_without_events(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Seen:
        def one(self) -> int:
            return 1

        @ray.method(enable_task_events=False)
        def two(self) -> int:
            return 2

    @ray.remote(num_cpus=0, enable_task_events=False)
    class Hidden:
        def three(self) -> int:
            return 3

        @ray.method(enable_task_events=True)
        def four(self) -> int:
            return 4

    seen, hidden = Seen.remote(), Hidden.remote()
    ray.get([seen.one.remote(), seen.two.remote(), hidden.three.remote(), hidden.four.remote()])
    ray.get(seen.one.options(name="few", enable_task_events=False).remote())
    shown(ray, ["Hidden.four", "Seen.one"], ["Seen.two", "Hidden.three", "few"])


@case
def the_placement_group_of_a_task(ray: Any) -> None:
    util = import_module(f"{ray.__name__}.util.placement_group")
    strategy = import_module(f"{ray.__name__}.util.scheduling_strategies").PlacementGroupSchedulingStrategy
    group = util.placement_group([{"CPU": 1}])
    ray.get(group.ready())
    task = ray.remote(num_cpus=0)(lambda: 1)
    ray.get(task.options(name="in", scheduling_strategy=strategy(group)).remote())
    ray.get(task.options(name="out").remote())

    def rows() -> list[Any]:
        found = {row.name: row.placement_group_id for row in listed(ray, detail=True)}
        return [found.get("in") == group.id.hex(), found.get("out", "?") is None]

    print(eventually(rows, [True, True]))
