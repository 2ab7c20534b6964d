"""The benchmark's short form: its loops, and when a line counts as worse."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"
NAMES = ("calibrate", "short_figures", "short")


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The short form's modules; their plain names are given back afterwards."""
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    sys.path.insert(0, str(BENCH))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    finally:
        sys.path.remove(str(BENCH))
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


class Costs:
    """A session whose lines cost what the test says, sample by sample; the last cost stays."""

    def __init__(self, bench: Any, costs: dict[str, list[float]]) -> None:
        self.costs = {name: list(values) for name, values in costs.items()}
        self.samples = dict.fromkeys(costs, 0)
        self.ray = SimpleNamespace(shutdown=lambda: None)
        self._bench = bench

    def figures(self) -> list[Any]:
        return [self._bench.short_figures.Figure(name, print, 1, 1, True, (), "trips", 1) for name in self.costs]

    def sample(self, figure: Any) -> float:
        self.samples[figure.name] += 1
        left = self.costs[figure.name]
        return left.pop(0) if len(left) > 1 else left[0]


def measured(bench: Any, monkeypatch: pytest.MonkeyPatch, costs: dict[str, list[float]]) -> tuple[Any, Costs]:
    """What ``measure`` finds when each line's stored ratio is 1 and its loop costs 1."""
    monkeypatch.setattr(bench.short, "PAUSE", 0.0)
    session = Costs(bench, costs)
    loops = SimpleNamespace(trips=lambda count: 1.0, close=lambda: None)
    for name, made in (("quiet", None), ("Loops", loops), ("Session", session)):
        monkeypatch.setattr(bench.short, name, lambda made=made: made)
    return bench.short.measure(dict.fromkeys(costs, 1.0), 0.15), session


def test_what_stays_worse_fails(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, attempts = bench.short.ROUNDS, bench.short.ATTEMPTS
    costs = {"as stored": [1.0], "a little worse": [1.15], "worse": [1.2], "better": [0.5]}
    (ratios, worse), session = measured(bench, monkeypatch, costs)
    assert worse == ["worse"]
    assert ratios == pytest.approx({name: 1 / cost[0] for name, cost in costs.items()})
    assert session.samples.pop("worse") == 1 + attempts * rounds, "a line that falls is to be sampled again"
    assert set(session.samples.values()) == {1 + rounds}


def test_what_neighbours_made_worse_does_not_fail(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = bench.short.ROUNDS
    costs = {"late": [1.5] * (1 + rounds + 3) + [1.0], "lucky once": [1.5, 0.5, 1.5]}
    (ratios, worse), session = measured(bench, monkeypatch, costs)
    assert worse == ["lucky once"] and ratios["late"] == 1
    assert session.samples["late"] == 1 + 2 * rounds


def test_no_time_no_more_rounds(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.short, "SECONDS", -1.0)
    (_, worse), session = measured(bench, monkeypatch, {"worse": [2.0]})
    assert worse == ["worse"] and session.samples["worse"] == 2


def test_ratios_of_this_machine_and_of_others(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench.short, "RESULTS", tmp_path / "short.json")
    assert bench.short.stored_for("mine") == ({}, bench.short.ELSEWHERE)
    stored = {"mine": {"a": 1.0}, "theirs": {"a": 2.0, "b": 5.0}, "hers": {"a": 4.0}}
    (tmp_path / "short.json").write_text(json.dumps(stored))
    assert bench.short.stored_for("mine") == ({"a": 1.0}, 0.15)
    assert bench.short.stored_for("another") == ({"a": 2.0, "b": 5.0}, 0.5)
    assert "Python 3." in bench.short.machine() and bench.short.machine() == bench.short.machine()


def test_every_line_is_stored(bench: Any) -> None:
    session = object.__new__(bench.short_figures.Session)
    session.ray = None
    names = [figure.name for figure in session.figures()]
    assert len(set(names)) == len(names)
    for machine, ratios in json.loads(bench.short.RESULTS.read_text()).items():
        assert sorted(ratios) == sorted(names), machine
        assert all(ratio > 0 for ratio in ratios.values())


def test_loops(bench: Any) -> None:
    loops = bench.calibrate.Loops()
    try:
        for name in ("objects", "trips", "batches"):
            assert 0 < getattr(loops, name)(100) < 0.1, name
        assert bench.calibrate.cpu_of(os.getpid()) > 0
    finally:
        loops.close()
