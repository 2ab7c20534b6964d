"""Each differential case prints under Eagle Ray what Ray printed when `tests/compat/golden` was recorded.

The cases of a theme share one process, which runs on while the tests ask for its results. `make compat` runs the same
cases with Ray beside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "compat"))

import golden
import runner

SIDE = runner.Side(os.environ.get("COMPAT_PYTHON", sys.executable), os.environ.get("COMPAT_MODULE", "eagleray"))
EXPECTED = golden.expected_of_ours()
DIFFERENCES = golden.differences()

#: Silence that counts as a hang; below the time limit of a test.
SILENCE_SECONDS = 50.0


class Themes:
    """Runs the selected cases theme by theme, as far as the next wanted result."""

    def __init__(self, selected: list[str]) -> None:
        groups = runner.groups(selected, shared=True)
        self.running = {runner.theme(group[0]): runner.run_group(SIDE, group, SILENCE_SECONDS) for group in groups}
        self.done: dict[str, runner.Result] = {}

    def result(self, name: str) -> runner.Result:
        while name not in self.done:
            result = next(self.running[runner.theme(name)])
            self.done[result.name] = result
        return self.done[name]

    def close(self) -> None:
        for running in self.running.values():
            running.close()


@pytest.fixture(scope="module")
def themes(request: pytest.FixtureRequest) -> Iterator[Themes]:
    items = [item for item in request.session.items if getattr(item, "originalname", "") == "test_case"]
    opened = Themes([item.callspec.params["name"] for item in items])
    yield opened
    opened.close()


@pytest.mark.parametrize("name", EXPECTED)
def test_case(name: str, themes: Themes) -> None:
    result = themes.result(name)
    assert result.failure is None, result.failure
    assert result.text.splitlines() == EXPECTED[name].splitlines()


def test_every_case_is_recorded() -> None:
    assert sorted(runner.names(SIDE)) == sorted(golden.read())


def test_differences_differ_and_have_a_reason() -> None:
    recorded = golden.read()
    for name, difference in DIFFERENCES.items():
        assert difference.reason
        assert difference.output != recorded[name]
