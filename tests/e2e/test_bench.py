"""The benchmark's own logic: verdicts, failed rounds, clean processes, bare C, the README's table."""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The benchmark's modules; their plain names are given back afterwards."""
    names = ("book", "rounds", "verdicts", "lines", "table", "plots", "curves", "run", "peers", "bare.pair")
    ours = {path.stem for path in BENCH.glob("*.py")} | {"bare", "peers", "figures"}
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ours}
    for name in before:
        del sys.modules[name]
    sys.path.insert(0, str(BENCH))
    try:
        yield SimpleNamespace(**{name.rpartition(".")[2]: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(BENCH))
        for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
            del sys.modules[name]
        sys.modules.update(before)


def line(bench: Any, samples: dict[str, list[Any]], unit: str = "1/s", **aims: Any) -> dict[str, Any]:
    """The summary of a figure with these samples: numbers, or (value, bare)."""
    entry = bench.book.Figure("it", "group", "It", unit, lambda _: 0.0, **aims)
    taken = {
        system: [bench.rounds.Sample(*(value if isinstance(value, tuple) else (value,))) for value in values]
        for system, values in samples.items()
    }
    found: dict[str, Any] = bench.verdicts.summary_of(entry, bench.rounds.Results({"it": taken}))
    return found


class TestVerdicts:
    def test_a_gain_is_ours_over_theirs_where_more_is_better(self, bench: Any) -> None:
        found = line(bench, {"eagleray": [90, 100, 300], "ray": [11, 10, 1]}, times=10)
        assert (found["gain"], found["verdict"]) == (10, "met")
        assert found["median"] == {"eagleray": 100, "ray": 10} and found["best"] == {"eagleray": 300, "ray": 11}

    def test_a_gain_is_theirs_over_ours_where_less_is_better(self, bench: Any) -> None:
        found = line(bench, {"eagleray": [2, 4, 3], "ray": [60, 50, 70]}, unit="ms", times=21)
        assert (found["gain"], found["verdict"]) == (20, "MISSED")
        assert found["best"] == {"eagleray": 2, "ray": 50}

    @pytest.mark.parametrize(("aims", "met"), [({"share": 0.9}, True), ({"share": 0.91}, False), ({}, None)])
    def test_a_share_is_of_the_bare_value_of_the_same_round(self, bench: Any, aims: Any, met: Any) -> None:
        found = line(bench, {"eagleray": [(90, 100), (9, 10), (1, 10)]}, **aims)
        assert found["of_bare"] == 0.9
        assert [aim["met"] for aim in found["aims"]] == ([] if met is None else [met])

    def test_a_cost_may_be_a_number_of_times_the_bare_one(self, bench: Any) -> None:
        assert line(bench, {"eagleray": [(39, 10)]}, unit="us", over=4)["verdict"] == "met"
        assert line(bench, {"eagleray": [(41, 10)]}, unit="us", over=4)["verdict"] == "MISSED"

    def test_one_aim_that_is_missed_is_enough(self, bench: Any) -> None:
        found = line(bench, {"eagleray": [10.0], "ray": [1000.0]}, unit="ms", limit=9, times=40)
        assert [aim["met"] for aim in found["aims"]] == [False, True] and found["verdict"] == "MISSED"
        assert bench.verdicts.shortcomings({"it": found}) == ["It: missed at most 9 ms"]

    def test_an_aim_against_ray_is_open_without_ray(self, bench: Any) -> None:
        assert line(bench, {"eagleray": [10.0]}, times=40)["verdict"] == ""

    def test_a_gain_that_failed_to_be_measured_is_not_met(self, bench: Any) -> None:
        entry = bench.book.Figure("it", "group", "It", "1/s", lambda _: 0.0, times=2, floor=1)
        results = bench.rounds.Results({"it": {"eagleray": [bench.rounds.Sample(5)]}})
        results.add(1, "ray", "group", bench.rounds.Round(errors={"it": "no session"}))
        assert bench.verdicts.summary_of(entry, results)["verdict"] == "FAILED"

    def test_nothing_is_gained_over_nothing(self, bench: Any) -> None:
        entry = bench.book.Figure("it", "group", "It", "1/s", lambda _: 0.0, times=1)
        assert math.isnan(entry.gain(1, 0))
        assert not entry.aims(1, entry.gain(1, 0), None)[0].met
        found = line(bench, {"eagleray": [-0.5], "ray": [500.0]}, unit="ms", limit=50, times=10)
        assert "gain" not in found and found["verdict"] == "MISSED"

    def test_a_peer_that_is_better_needs_a_reason(self, bench: Any) -> None:
        samples = {"eagleray": [10.0], "executor": [20.0], "dask": [1.0]}
        found = line(bench, samples)
        assert found["remarks"] == ["ProcessPoolExecutor is better: UNEXPLAINED"]
        assert bench.verdicts.shortcomings({"it": found}) == ["It: ProcessPoolExecutor is better: UNEXPLAINED"]
        found = line(bench, samples, why={"executor": "it does less"})
        assert found["remarks"] == ["ProcessPoolExecutor is better: it does less"]
        assert bench.verdicts.shortcomings({"it": found}) == []

    def test_a_peer_within_our_rounds_is_said_to_be_so(self, bench: Any) -> None:
        found = line(bench, {"eagleray": [9.0, 10.0, 12.0], "executor": [11.0]})
        assert found["remarks"] == ["ProcessPoolExecutor is better: its median lies within the rounds of Eagle Ray"]

    def test_what_does_not_exist_is_told(self, bench: Any) -> None:
        entry = bench.book.Figure("it", "group", "It", "1/s", lambda _: 0.0, times=10, needs="util.nonsense")
        results = bench.rounds.Results({"it": {}}, absent={"it": {"eagleray": "util.nonsense"}})
        assert bench.verdicts.summary_of(entry, results)["verdict"] == "not there yet"
        assert not bench.book.exists("eagleray", "util.nonsense") and not bench.book.exists("eagleray", "no.such")
        assert bench.book.exists("eagleray", "util.ActorPool") and bench.book.exists("eagleray", "")


class TestRounds:
    def test_what_a_broken_process_did_not_measure_has_failed(self, bench: Any) -> None:
        told = [{"figure": "a", "value": 1.5, "bare": 3.0, "note": "n"}, {"figure": "b", "error": "assert 1 == 2"}]
        output = "\n".join([*map(json.dumps, told), '{"figure": "c", "val'])
        found = bench.rounds.parse(output, ["a", "b", "c", "d"], "killed")
        assert found.samples == {"a": bench.rounds.Sample(1.5, 3.0, "n")}
        assert found.errors == {"b": "assert 1 == 2", "c": "killed", "d": "killed"}

    def test_a_session_that_does_not_end_has_failed(self, bench: Any) -> None:
        found = bench.rounds.parse(json.dumps({"figure": "a", "value": 1.0}), ["a"], "the process ended with 1")
        assert found.samples and found.errors == {"": "the process ended with 1"}

    def test_a_silent_figure_has_failed(self, bench: Any) -> None:
        assert "said nothing" in bench.rounds.parse("", ["a"], "").errors["a"]

    def test_a_failed_round_is_no_hole(self, bench: Any, tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
        rounds = iter([bench.rounds.Round(errors={"get_small": "no session"}), *[bench.rounds.Round()] * 9])
        monkeypatch.setattr(bench.rounds, "measure", lambda *_: next(rounds))
        monkeypatch.setattr(bench.run, "HERE", tmp_path)
        monkeypatch.setattr(sys, "argv", ["run.py", "--rounds", "2", "--only", "eagleray", "objects"])
        assert bench.run.main() == 1
        result = json.loads((tmp_path / "results" / "session.json").read_text())
        assert [(one["round"], one["figure"], one["error"]) for one in result["failures"]] == [
            (1, "get_small", "no session")
        ]
        assert result["figures"]["get_small"]["verdict"] == "FAILED"
        assert "no session" in capsys.readouterr().out

    def test_a_process_starts_from_nothing(self, bench: Any, monkeypatch: Any) -> None:
        monkeypatch.setenv("RAY_ADDRESS", "192.0.2.1:6379")
        monkeypatch.setenv("EAGLERAY_ADDRESS", "auto")
        monkeypatch.setenv("PYTHONPATH", "/nowhere")
        code = "import json, os, tempfile; print(json.dumps([dict(os.environ), os.listdir(tempfile.gettempdir())]))"
        output, broken = bench.rounds.run_clean([sys.executable, "-c", code], 30)
        variables, found = json.loads(output)
        assert not broken and found == []
        assert not {"RAY_ADDRESS", "EAGLERAY_ADDRESS", "PYTHONPATH"} & set(variables)
        folder = variables["RAY_TMPDIR"]
        assert folder == variables["EAGLERAY_TMPDIR"] == variables["TMPDIR"] and not os.path.exists(folder)

    def test_a_process_that_takes_too_long_ends_with_its_children(self, bench: Any) -> None:
        code = (
            "import subprocess, sys, time; "
            "print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True); time.sleep(600)"
        )
        output, broken = bench.rounds.run_clean([sys.executable, "-c", code], 1)
        assert broken.startswith("not done after 1 s")
        assert not Path(f"/proc/{int(output)}/cmdline").exists() or not Path(f"/proc/{int(output)}/cmdline").read_text()

    def test_what_runs_ends_with_the_benchmark(self, bench: Any, tmp_path: Any) -> None:
        told = tmp_path / "pid"
        code = f"import os, time; open({str(told)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(600)"
        outer = f"import sys, rounds; rounds.end_cleanly(); rounds.run_clean([sys.executable, '-c', {code!r}], 600)"
        running = subprocess.Popen([sys.executable, "-c", outer], cwd=BENCH)
        deadline = time.monotonic() + 60
        while not (told.exists() and told.read_text().endswith(".")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        running.terminate()
        assert running.wait(20) == 128 + signal.SIGTERM
        assert not Path(f"/proc/{told.read_text()[:-1]}").exists()

    def test_a_failure_says_what_the_process_said(self, bench: Any) -> None:
        _, broken = bench.rounds.run_clean([sys.executable, "-c", "raise SystemExit('no room')"], 30)
        assert broken == "the process ended with 1; it said last: no room"

    def test_systems_take_turns_and_long_groups_have_one(self, bench: Any, monkeypatch: Any) -> None:
        done: list[tuple[str, str]] = []

        def measure(python: str, system: str, group: str, *_: Any) -> Any:
            done.append((system, group))
            return bench.rounds.Round()

        monkeypatch.setattr(bench.rounds, "measure", measure)
        bench.rounds.collect({"eagleray": "", "ray": ""}, 2, 0.1, False, ["tasks", "crowd"])
        tasks = [("eagleray", "tasks"), ("ray", "tasks")]
        assert done == [*tasks, ("eagleray", "crowd"), ("ray", "crowd"), *reversed(tasks)]


class TestRegistry:
    def test_aims_against_ray_have_figures_that_ray_measures(self, bench: Any) -> None:
        figures = bench.book.load().values()
        assert all(not entry.alone for entry in figures if entry.times is not None)
        assert {entry.group for entry in figures} == set(bench.book.groups())

    def test_peers_measure_figures_of_the_same_name_and_group(self, bench: Any) -> None:
        known = {(entry.group, name) for name, entry in bench.book.load().items()}
        for system in bench.peers.SYSTEMS:
            found = {(group, name) for group, of in bench.peers.figures(system).items() for name in of}
            assert found and found <= known, system

    def test_reasons_are_given_for_systems_that_exist(self, bench: Any) -> None:
        systems = {bench.book.THEIRS, *bench.peers.SYSTEMS}
        for entry in bench.book.load().values():
            assert set(entry.why) <= systems and all(entry.why.values())

    def test_a_taken_value_is_a_number(self, bench: Any) -> None:
        taken = bench.book.Taken(2.5, bare=5.0, note="200 of them")
        assert isinstance(taken, float) and taken == 2.5 and (taken.bare, taken.note) == (5.0, "200 of them")


class TestBare:
    def test_frames_come_back_in_order_however_many(self, bench: Any) -> None:
        with bench.pair.Pair("serve") as pair:
            assert pair.talk.roundtrips(100) > 0
            assert pair.talk.batch(50_000) > 0  # more than the sockets hold: both sides must read while they write

    def test_calls_are_answered(self, bench: Any) -> None:
        with bench.pair.Pair("call") as pair:
            assert pair.call(2000) == [None] * 2000

    def test_after_round_trips_between_two_cores_both_ends_run_where_they_did(self, bench: Any) -> None:
        before = os.sched_getaffinity(0)
        with bench.pair.Pair("serve") as pair:
            for here, there in [(min(before), min(before)), (min(before), max(before))]:
                assert pair.roundtrips_between(100, here, there) > 0
                assert os.sched_getaffinity(0) == os.sched_getaffinity(pair._other.pid) == before

    def test_a_peer_that_is_gone_is_an_error(self, bench: Any) -> None:
        with bench.pair.Pair("serve") as pair:
            pair.talk.post(b"x")
            assert pair.talk.wait() == b"x"
            pair._other.kill()
            pair._other.wait()
            with pytest.raises(ConnectionError):
                pair.talk.roundtrips(1)

    def test_copies_arrive(self, bench: Any) -> None:
        import numpy as np
        from bare import memory_speed

        source = np.resize(np.arange(251, dtype=np.uint8), 3 * 2**20 + 5)
        recycled = memory_speed.Recycled(source.nbytes)
        for threads in (1, 2, 3):
            recycled._pages[:] = 0
            assert recycled.copy(source, threads) > 0 and recycled.holds(source)
        fd = os.memfd_create("it")
        try:
            memory_speed.write_at(fd, 4096, source, 2)
            assert os.pread(fd, source.nbytes, 4096) == source.tobytes()
        finally:
            os.close(fd)
        rate, way = memory_speed.best_cold(source, turns=1)
        assert rate > 0 and "thread" in way


class TestCurves:
    def test_a_curve_ends_before_its_cap(self, bench: Any, monkeypatch: Any) -> None:
        clock = [0.0]
        monkeypatch.setattr(bench.curves.time, "perf_counter", lambda: clock[0])

        def measure(number: int) -> dict[str, float]:
            clock[0] += number + 1  # a second for each, and one that does not grow
            return {"grow_s": number, "task_us": 1.0}

        monkeypatch.setitem(bench.curves.CURVES, "queued", (lambda _: measure, [1, 3, 10, 30, 100]))
        found = list(bench.curves.points("queued", None, 50))
        assert [one.get("number") for one in found] == [1, 3, 10, 30, None][: len(found)]
        assert found[-1] == {"stopped_before": 100} and clock[0] <= 50

    def test_steps_end_where_told(self, bench: Any) -> None:
        assert bench.curves.steps(10, 1000) == [10, 30, 100, 300, 1000]


class TestReadme:
    def test_the_table_and_the_plots_are_those_of_the_results(self, bench: Any, monkeypatch: Any) -> None:
        monkeypatch.setattr(sys, "argv", ["table.py", "--check"])
        assert bench.table.main() == 0

    def test_another_result_is_seen(self, bench: Any, tmp_path: Any, monkeypatch: Any) -> None:
        for source in ("latest", "curves"):
            (tmp_path / f"{source}.json").write_text((BENCH / "results" / f"{source}.json").read_text() + " ")
        monkeypatch.setattr(bench.plots, "RESULTS", tmp_path)
        assert len(bench.plots.stale()) == len(bench.plots.SOURCES)

    def test_lines_say_what_there_is(self, bench: Any) -> None:
        summary = line(bench, {"eagleray": [(10.0, 5.0)], "ray": [1.0], "executor": [20.0]}, times=40, share=1)
        result = {"figures": {"it": summary}, "systems": {"eagleray": {}, "ray": {}, "executor": {}}}
        assert bench.table.rows(result)[-1] == (
            "| It | 1/s | 10 | 1 | 10 | 5; 2 of it | 20 | **missed**: **not** at least 40x, at least 1 of bare. "
            "ProcessPoolExecutor is better: UNEXPLAINED |"
        )
