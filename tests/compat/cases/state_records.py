"""The records of ``util.state``: their fields, what may be filtered, and options."""

from __future__ import annotations

import importlib
from typing import Any

from casebook import case


def common(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.state.common")


def show(ray: Any, name: str) -> None:
    """Prints the fields of a record."""
    kind = getattr(common(ray), name)
    print("fields", sorted(kind.base_columns()))
    print("details", sorted(kind.columns() - kind.base_columns()))
    print("filters", sorted(kind.filterable_columns()))


@case
def fields_of_actors(ray: Any) -> None:
    show(ray, "ActorState")


@case
def fields_of_nodes(ray: Any) -> None:
    show(ray, "NodeState")


@case
def fields_of_jobs(ray: Any) -> None:
    show(ray, "JobState")


@case
def fields_of_placement_groups(ray: Any) -> None:
    show(ray, "PlacementGroupState")


@case
def fields_of_workers(ray: Any) -> None:
    show(ray, "WorkerState")


@case
def fields_of_tasks(ray: Any) -> None:
    show(ray, "TaskState")


@case
def kinds_of_records(ray: Any) -> None:
    print([(one.name, one.value) for one in common(ray).StateResource])
    print([(one.name, one.value) for one in common(ray).SummaryResource])


@case
def options_of_questions(ray: Any) -> None:
    listed = common(ray).ListApiOptions()
    print(listed.limit, listed.detail, listed.filters)
    summed = common(ray).SummaryApiOptions()
    print(summed.filters, summed.summary_by, common(ray).DEFAULT_LIMIT, common(ray).DEFAULT_RPC_TIMEOUT)


@case
def names_of_functions(ray: Any) -> None:
    print(sorted(importlib.import_module(f"{ray.__name__}.util.state").__all__))
