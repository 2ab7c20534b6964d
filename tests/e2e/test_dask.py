"""``util.dask``: graphs of Dask run as tasks."""

from __future__ import annotations

import subprocess
import sys
import threading
from operator import add
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import eagleray as ray
import numpy as np
import pytest
from dask.callbacks import Callback
from eagleray.util import dask as on_ray
from eagleray.util.dask import ray_dask_get, ray_dask_get_sync

pytestmark = pytest.mark.usefixtures("session")
GRAPH = {"a": 1, "b": (add, "a", 2), "c": (add, "b", "b"), "alone": (add, 1, 1)}


def test_keys_are_given_in_their_form() -> None:
    assert ray_dask_get(GRAPH, "c") == 6
    assert ray_dask_get(GRAPH, ["c", "b"]) == [6, 3]
    assert ray_dask_get(GRAPH, [["c"], ["b", "a"]]) == ((6,), (3, 1))
    assert ray_dask_get(GRAPH, ["c", "a"]) == (6, 1) == ray_dask_get_sync(GRAPH, ["c", "a"])
    with pytest.raises(KeyError, match="none"):
        ray_dask_get(GRAPH, "none")


def test_arrays_and_delayed_functions_give_what_dask_itself_gives() -> None:
    x = da.random.default_rng(5).random((200, 120), chunks=(50, 40))
    y = (x @ x.T - x.mean(axis=1)).std(axis=0)
    assert np.allclose(y.compute(scheduler=ray_dask_get), y.compute(scheduler="sync"))
    total = dask.delayed(sum)([dask.delayed(add)(i, 1) for i in range(20)])
    assert total.compute(scheduler=ray_dask_get) == sum(range(1, 21))
    offset = 7  # what a function has captured travels with it
    squares = [dask.delayed(lambda i: i * i + offset)(i) for i in range(5)]
    assert dask.compute(*squares, scheduler=ray_dask_get) == tuple(i * i + 7 for i in range(5))


def test_only_what_is_asked_for_runs_and_each_task_once(tmp_path: Path) -> None:
    def mark(name: str, *values: int) -> int:
        with open(tmp_path / name, "a") as file:
            file.write("x")
        return sum(values) + 1

    graph = {"a": (mark, "A"), "b": (mark, "B", "a"), "c": (mark, "C", "a", "b"), "d": (mark, "D", "c")}
    assert ray_dask_get(graph, ["c", "b", "c"]) == [4, 2, 4]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"A": "x", "B": "x", "C": "x"}


def test_a_block_makes_it_the_scheduler_and_persisted_values_stay_where_they_are() -> None:
    with on_ray.enable_dask_on_ray():
        assert dask.config.get("scheduler") is ray_dask_get
        kept = (da.arange(1000, chunks=100) + 1).persist()
        assert {type(one) for one in dict(kept.dask).values()} == {ray.ObjectRef}
        assert kept.sum().compute() == 500_500 and (kept[::2] * 2).sum().compute() == 500_000
        one, two = dask.persist(dask.delayed(add)(1, 2), dask.delayed(add)(3, 4))
        assert dask.delayed(add)(one, two).compute() == 10
        nested = dask.delayed(sum)([one, [two][0]])
        assert nested.compute() == 10
    assert dask.config.get("scheduler", None) is not ray_dask_get
    assert isinstance(next(iter(dict(da.ones(5, chunks=5).persist(scheduler="sync").dask).values())), object)
    with pytest.raises(ValueError, match="shuffle must be"):
        on_ray.enable_dask_on_ray(shuffle="magic")


def test_references_inside_of_tasks_arrive_as_values() -> None:
    ref = ray.put(np.arange(5))
    assert ray_dask_get({"s": (np.sum, ref)}, "s") == 10
    assert ray_dask_get({"s": (len, [ref, (1, ref)])}, "s") == 2
    assert ray_dask_get({"x": ref, "s": (np.sum, "x")}, ["s"]) == [10]


def test_a_failed_task_raises_its_exception_at_once() -> None:
    def fail() -> None:
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        ray_dask_get({"a": (fail,), "b": (add, "a", 1)}, "b")
    with pytest.raises(KeyError, match="boom"):
        ray_dask_get_sync({"a": (fail,), "b": (add, "a", 1)}, "b")


def test_options_of_tasks_and_of_layers() -> None:
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="none"):
        ray_dask_get(GRAPH, "c", ray_remote_args={"resources": {"none": 1}})
    with dask.annotate(ray_remote_args={"resources": {"lacking": 1}}):
        x = da.ones(10, chunks=5)
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="lacking"):
        x.sum().compute(scheduler=ray_dask_get, optimize_graph=False)
    assert x.sum().compute(scheduler="sync") == 10


class Log(on_ray.RayDaskCallback):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def _ray_presubmit(self, task: Any, key: Any, deps: dict[Any, Any]) -> Any:
        self.told.append(("before", key, sorted(deps)))
        return 100 if key == "b" else None

    def _ray_postsubmit(self, task: Any, key: Any, deps: dict[Any, Any], object_ref: Any) -> None:
        self.told.append(("after", key, type(object_ref)))

    def _ray_pretask(self, key: Any, object_refs: list[Any]) -> Any:
        return key, object_refs

    def _ray_posttask(self, key: Any, result: Any, pre_state: Any) -> None:
        assert pre_state == ("c", [100]) and result == 200, "in the worker"

    def _ray_postsubmit_all(self, object_refs: list[Any], dsk: Any) -> None:
        self.told.append(("all", len(object_refs)))

    def _ray_finish(self, result: Any) -> None:
        self.told.append(("end", result))


def test_callbacks_are_told_and_may_give_a_value_in_place_of_a_task() -> None:
    told = [("before", "b", ["a"]), ("before", "c", ["b"]), ("after", "c", ray.ObjectRef), ("all", 1), ("end", 200)]
    log = Log()
    with log:
        assert ray_dask_get(GRAPH, "c") == 200
    assert log.told == told
    assert ray_dask_get(GRAPH, "c") == 6 and log.told == told  # the block has ended
    for one in (log, log._ray_callback):
        log.told.clear()
        assert ray_dask_get(GRAPH, "c", ray_callbacks=[one]) == 200 and log.told == told
    functions = on_ray.RayDaskCallback(ray_finish=log.told.append)
    with functions:
        ray_dask_get(GRAPH, "b")
    assert log.told[-1] == 3


def test_callbacks_of_dask_itself_are_told() -> None:
    told: list[Any] = []
    with Callback(
        start=lambda dsk: told.append("start"),
        start_state=lambda dsk, state: told.append(sorted(state["waiting"])),
        pretask=lambda key, dsk, state: told.append(key),
        posttask=lambda key, result, dsk, state, worker: told.append((key, type(result), key in state["finished"])),
        finish=lambda dsk, state, failed: told.append(failed),
    ):
        ray_dask_get(GRAPH, "c")
        with pytest.raises(ZeroDivisionError):
            ray_dask_get({"a": (divmod, 1, 0)}, "a")
    middle = ["b", ("b", ray.ObjectRef, True), "c", ("c", ray.ObjectRef, True), False]
    assert told[2:7] == middle and told[0] == "start" and told[-1] is True


def test_a_bar_shows_how_many_results_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    with on_ray.ProgressBarCallback():
        assert ray_dask_get(GRAPH, ["b", "c"]) == [3, 6]
    assert "2/2" in capsys.readouterr().err


def test_a_graph_of_ten_thousand_tasks_from_several_threads() -> None:
    graph: dict[str, Any] = {f"x{i}": (add, i, 1) for i in range(5000)}
    graph["sum"] = (sum, list(graph))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(ray_dask_get(graph, "sum"))) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [sum(range(1, 5001))] * 2


def test_without_dask_the_error_names_it() -> None:
    program = "import sys; sys.modules['dask'] = None\nimport eagleray.util.dask"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Dask is not installed: pip install" in done.stderr
