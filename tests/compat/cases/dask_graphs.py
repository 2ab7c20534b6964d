"""``util.dask``: graphs of Dask that run as tasks."""

from __future__ import annotations

import importlib
from operator import add
from typing import Any

from casebook import attempt, case

GRAPH = {"a": 1, "b": (add, "a", 2), "c": (add, "b", "b"), "alone": (add, 1, 1)}


def on(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.dask")


@case
def one_key(ray: Any) -> None:
    print(on(ray).ray_dask_get(GRAPH, "c"))


@case
def several_keys(ray: Any) -> None:
    print(on(ray).ray_dask_get(GRAPH, ["c", "b", "a"]))


@case
def keys_in_lists(ray: Any) -> None:
    print(on(ray).ray_dask_get(GRAPH, [["c"], ["b", "alone"]]))


@case
def a_key_that_is_not_there(ray: Any) -> None:
    attempt("key", lambda: on(ray).ray_dask_get(GRAPH, "none"))


@case
def tasks_that_take_lists_of_keys(ray: Any) -> None:
    print(on(ray).ray_dask_get({"a": 1, "b": 2, "c": (sum, ["a", "b", 5])}, "c"))


@case
def an_exception_of_a_task(ray: Any) -> None:
    def fail() -> None:
        raise KeyError("boom")

    try:
        on(ray).ray_dask_get({"a": (fail,), "b": (add, "a", 1)}, "b")
    except Exception as error:
        print(isinstance(error, KeyError), isinstance(error, ray.exceptions.RayTaskError))


@case
def delayed_functions(ray: Any) -> None:
    import dask

    plus = dask.delayed(add)
    print(plus(plus(1, 2), 3).compute(scheduler=on(ray).ray_dask_get))
    print(dask.compute(plus(1, 2), [plus(3, 4)], scheduler=on(ray).ray_dask_get))


@case
def arrays_of_dask(ray: Any) -> None:
    import dask.array as da

    x = da.arange(1000, chunks=100)
    print(int((x + x[::-1]).sum().compute(scheduler=on(ray).ray_dask_get)))
    print(da.ones((20, 30), chunks=10).mean(axis=0).compute(scheduler=on(ray).ray_dask_get).tolist()[:3])


@case
def the_default_scheduler(ray: Any) -> None:
    import warnings

    import dask

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with on(ray).enable_dask_on_ray():
            print(dask.config.get("scheduler") is on(ray).ray_dask_get, dask.delayed(add)(1, 2).compute())
        on(ray).enable_dask_on_ray()
        print(dask.config.get("scheduler") is on(ray).ray_dask_get)
        on(ray).disable_dask_on_ray()
        print(dask.config.get("scheduler", None))


@case
def persisted_collections_hold_references(ray: Any) -> None:
    import dask
    import dask.array as da

    scheduler = on(ray).ray_dask_get
    kept = (da.arange(100, chunks=50) + 1).persist(scheduler=scheduler)
    print(
        sorted({type(one).__name__ for one in dict(kept.dask).values()}), int(kept.sum().compute(scheduler=scheduler))
    )
    (one,) = dask.persist(dask.delayed(add)(1, 2), scheduler=scheduler)
    print(type(one).__name__, dask.delayed(add)(one, 1).compute(scheduler=scheduler))


@case
def results_as_references(ray: Any) -> None:
    found = on(ray).ray_dask_get(GRAPH, ["b", "c"], ray_persist=True)
    print(type(found).__name__, [type(one).__name__ for one in found], ray.get(list(found)))


@case
def a_callback_gives_a_value_in_place_of_a_task(ray: Any) -> None:
    class Skip(on(ray).RayDaskCallback):
        def _ray_presubmit(self, task: Any, key: Any, deps: Any) -> Any:
            return 100 if key == "b" else None

    with Skip():
        print(on(ray).ray_dask_get(GRAPH, "c"))
    print(on(ray).ray_dask_get(GRAPH, "c"))


@case
def callbacks_before_and_after_submission(ray: Any) -> None:
    told: list[Any] = []

    class Log(on(ray).RayDaskCallback):
        def _ray_postsubmit(self, task: Any, key: Any, deps: Any, object_ref: Any) -> None:
            told.append((key, sorted(deps), type(object_ref).__name__))

        def _ray_finish(self, result: Any) -> None:
            told.append(("finish", result))

    with Log():
        on(ray).ray_dask_get({key: GRAPH[key] for key in "abc"}, "c")
    print(told)


@case
def graphs_inside_of_tasks(ray: Any) -> None:
    get = on(ray).ray_dask_get

    @ray.remote
    def inside() -> Any:
        return get({"a": 1, "b": (add, "a", 2)}, "b")

    print(ray.get(inside.remote()))
