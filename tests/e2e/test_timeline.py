"""``timeline``: what ran when, from the tracer's files."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pace import until
from two_nodes import TwoNodes

PROGRAM = """
    import json, time
    import eagleray as ray
    from eagleray._private import profiling

    ray.init(num_cpus=2, log_to_driver=False)

    @ray.remote
    def inner():
        return 1

    @ray.remote
    def outer():
        with profiling.profile("mine", {"name": "nice", "k": "v"}):
            return ray.get(inner.remote())

    @ray.remote
    class Cell:
        async def read(self):
            return 1

    before = time.time()
    try:
        with profiling.profile("failed"):
            raise ValueError("why")
    except ValueError:
        pass
    ray.get([outer.remote(), Cell.remote().read.remote()])
    assert ray.timeline("events.json") is None
    print(json.dumps([before, time.time(), ray.timeline()]))
"""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    import subprocess
    import sys
    import textwrap

    folder = tmp_path_factory.mktemp("timeline")
    (folder / "trace").mkdir()
    (folder / "trace" / "1.spans").write_text('{"session": "another"}\n{"broken\n[]\n')
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    env = {**os.environ, "EAGLERAY_TRACE": str(folder / "trace")}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    before, after, found = json.loads(done.stdout)
    written = json.loads((folder / "events.json").read_text())
    assert [event["cat"] for event in written] == [event["cat"] for event in found]
    assert all(before * 1e6 <= event["ts"] and event["ts"] + event["dur"] <= after * 1e6 for event in found)
    return list(found)


def test_calls_have_their_names_and_steps(events: list[dict[str, Any]]) -> None:
    calls = {event["cat"]: event for event in events if event["cat"].startswith("task::")}
    assert set(calls) == {"task::outer", "task::inner", "task::Cell.read"}
    assert all(set(event) == {"cat", "name", "ph", "ts", "dur", "cname", "args", "pid", "tid"} for event in events)
    for event in calls.values():
        assert event["ph"] == "X" and event["args"]["name"] == event["name"] and len(event["args"]["task_id"]) == 48
        inside = [
            one["cat"]
            for one in events
            if one["tid"] == event["tid"]
            and event["ts"] <= one["ts"]
            and one["ts"] + one["dur"] <= event["ts"] + event["dur"]
        ]
        steps = ["task:deserialize_arguments", "task:execute", "task:store_outputs"]
        assert [cat for cat in inside if cat.startswith("task:") and not cat.startswith("task::")] == steps
    outer, inner = calls["task::outer"], calls["task::inner"]
    assert outer["tid"] != inner["tid"] and outer["ts"] < inner["ts"]
    assert inner["ts"] + inner["dur"] < outer["ts"] + outer["dur"]


def test_submissions_are_of_the_process_that_made_them(events: list[dict[str, Any]]) -> None:
    submitted = [event["tid"] for event in events if event["cat"] == "submit_task"]
    outer = next(event["tid"] for event in events if event["cat"] == "task::outer")
    assert sum(tid.startswith("driver:") for tid in submitted) == 2 and submitted.count(outer) == 1


def test_spans_of_the_program_are_events(events: list[dict[str, Any]]) -> None:
    mine, failed = (next(event for event in events if event["cat"] == cat) for cat in ("mine", "failed"))
    assert mine["name"] == "nice" and mine["args"] == {"name": "nice", "k": "v"}
    assert mine["tid"] == next(event["tid"] for event in events if event["cat"] == "task::outer")
    assert failed["args"] == {"type": "<class 'ValueError'>", "value": "why"} and failed["tid"].startswith("driver:")


def test_without_a_record_the_last_calls_of_each_worker_are_shown(ray: Any, tmp_path: Path) -> None:
    class Cell:
        def read(self) -> None:
            time.sleep(0.01)

        async def later(self) -> None:
            await asyncio.sleep(0.01)

    @ray.remote(max_calls=1)
    def once() -> None:
        raise ValueError("why")

    before = time.time()
    cell = ray.remote(num_cpus=0)(Cell).remote()
    ray.get([cell.read.remote(), cell.later.remote()])
    with pytest.raises(ValueError, match="why"):
        ray.get(once.remote())

    def shown() -> dict[str, dict[str, Any]]:
        return {event["name"]: event for event in ray.timeline() if event["ts"] >= before * 1e6}

    until(lambda: {name.rpartition(".")[2] for name in shown()} >= {"read", "later", "once"}, what=shown)
    calls, after = shown(), time.time()
    read, later = calls["Cell.read"], calls["Cell.later"]
    for event in (read, later):
        assert set(event) == {"cat", "name", "ph", "ts", "dur", "cname", "args", "pid", "tid"}
        assert event["cat"] == f"task::{event['name']}" and event["ph"] == "X" and len(event["args"]["task_id"]) == 48
        assert 10_000 <= event["dur"] and event["ts"] + event["dur"] <= after * 1e6
    assert read["tid"] == later["tid"] != next(event for name, event in calls.items() if name.endswith("once"))["tid"]
    assert ray.timeline(str(tmp_path / "events.json")) is None
    assert json.loads((tmp_path / "events.json").read_text())


def test_calls_of_other_nodes_are_shown() -> None:
    with TwoNodes() as both:
        source = """
            import eagleray as ray
            ray.init()
            where = ray.remote(lambda: ray.get_runtime_context().get_worker_id())
            near, far = where.options(name="near"), where.options(name="far", resources={"b": 1})
            workers = ray.get([near.remote(), far.remote()])
            events = sorted(((event["name"], event["tid"]) for event in ray.timeline()), reverse=True)
            print(events == [("near", f"worker:{workers[0]}"), ("far", f"worker:{workers[1]}")] or (workers, events))
        """
        assert both.first.python(source) == "True\n"


def test_spans_cost_nothing_where_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eagleray._private import profiling

    monkeypatch.chdir(tmp_path)
    with profiling.profile("mine", {"k": "v"}):
        pass
    assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="must map strings to strings"):
        profiling.profile("mine", {"k": 1})  # type: ignore[dict-item]
