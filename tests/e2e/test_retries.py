"""Retries: how long they wait, what the error tells, what the options refuse. How many there are: tests/compat."""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def note(path: Path) -> int:
    """Writes down when a run began; returns which it is."""
    with open(path, "a") as file:
        file.write(f"{time.time()}\n")
    return len(path.read_text().split())


def pauses(path: Path) -> list[float]:
    times = [float(line) for line in path.read_text().split()]
    return [after - before for before, after in itertools.pairwise(times)]


def test_crashes_in_a_row_wait_longer_each_time(ray: Any, tmp_path: Path) -> None:
    """The first retry comes at once, the next ones after about 50, 100, 200 ms, give or take a quarter."""

    @ray.remote(max_retries=5)
    def dies(path: Path) -> None:
        note(path)
        os._exit(1)

    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(dies.remote(tmp_path / "runs"), timeout=LIMIT)
    found = pauses(tmp_path / "runs")
    assert len(found) == 5
    for pause, least in zip(found[1:], (0.0375, 0.075, 0.15, 0.3), strict=True):
        assert pause >= least


def test_others_do_not_wait(ray: Any, tmp_path: Path) -> None:
    """While a task waits for its next try, its neighbours of the same function run."""

    @ray.remote(max_retries=8)
    def task(path: Path, dies: bool) -> int:
        if dies:
            note(path)
            os._exit(1)
        return 1

    bad = task.remote(tmp_path / "runs", True)
    good = [task.remote(tmp_path / "none", False) for _ in range(50)]
    assert ray.get(good, timeout=LIMIT) == [1] * 50
    assert not ray.wait([bad], timeout=0)[0], "it is over before its neighbours: nothing is shown"
    ray.cancel(bad)


def test_the_delay_of_the_environment(script: Callable[..., Any], tmp_path: Path) -> None:
    """``RAY_task_retry_delay_ms`` holds for crashes and exceptions alike, from the first retry on."""
    script(
        """
        import os, sys, time
        import eagleray as ray

        ray.init(num_cpus=2, log_to_driver=False)

        @ray.remote(max_retries=1, retry_exceptions=True)
        def task(path, how):
            with open(path, "a") as file:
                file.write(f"{time.time()}\\n")
            if len(open(path).read().split()) == 2:
                return "second"
            if how == "crash":
                os._exit(1)
            raise ValueError

        for how in ("crash", "exception"):
            assert ray.get(task.remote(how, how), timeout=30) == "second"
            first, second = map(float, open(how).read().split())
            assert 0.3 <= second - first, second - first
        """,
        env={**os.environ, "RAY_task_retry_delay_ms": "300"},
        cwd=tmp_path,
    )


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (lambda: os._exit(7), "ended with exit code 7"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"killed by signal 9 \(SIGKILL\)"),
    ],
)
def test_what_a_crash_tells(ray: Any, tmp_path: Path, end: Callable[[], None], told: str) -> None:
    """How the worker ended, its process and node, the task, how often it was tried, and its last words."""

    @ray.remote(max_retries=1)
    def last_words(path: Path) -> None:
        path.write_text(str(os.getpid()))
        os.write(2, b"about to\nend\n")
        end()

    with pytest.raises(ray.exceptions.WorkerCrashedError) as caught:
        ray.get(last_words.remote(tmp_path / "pid"), timeout=LIMIT)
    text = str(caught.value)
    assert re.search(told, text)
    node = ray.nodes()[0]["NodeID"]
    for part in ("last_words", f"pid {(tmp_path / 'pid').read_text()}", node, "tried 2 times, max_retries=1"):
        assert part in text
    assert text.endswith("about to\n  end")


def test_parent_that_is_tried_again_submits_again(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    def child(path: Path) -> int:
        return note(path)

    @ray.remote
    def parent(folder: Path) -> int:
        run = note(folder / "parent")
        found: int = ray.get(child.remote(folder / "child"))
        if run < 3:
            os._exit(1)
        return found

    assert ray.get(parent.remote(tmp_path), timeout=LIMIT) == 3
    assert (note(tmp_path / "parent"), note(tmp_path / "child")) == (4, 4)


@pytest.mark.parametrize(
    ("value", "problem"), [(ValueError, TypeError), ("ValueError", TypeError), ([1], ValueError), ((int,), ValueError)]
)
def test_what_is_no_list_of_exceptions(ray: Any, value: Any, problem: type[Exception]) -> None:
    """Of functions, methods and calls alike."""

    @ray.remote
    class Actor:
        def call(self) -> None: ...

    with pytest.raises(problem, match="retry_exceptions"):
        ray.remote(retry_exceptions=value)(lambda: 1)
    with pytest.raises(problem, match="retry_exceptions"):
        ray.method(retry_exceptions=value)(lambda self: 1)
    with pytest.raises(problem, match="retry_exceptions"):
        Actor.remote().call.options(retry_exceptions=value)


def test_a_default_that_is_no_number(ray: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAGLERAY_TASK_MAX_RETRIES", "many")
    with pytest.raises(ValueError, match="EAGLERAY_TASK_MAX_RETRIES='many'"):
        ray.remote(lambda: 1).remote()


def test_listed_exceptions_of_a_handle_that_travels(ray: Any, tmp_path: Path) -> None:
    """A method's list is part of the handle; another process's calls are tried again as well."""

    class Odd(Exception):
        pass

    @ray.remote(max_task_retries=2)
    class Actor:
        @ray.method(retry_exceptions=[Odd])
        def call(self, path: Path) -> int:
            run = note(path)
            if run < 3:
                raise Odd
            return run

    @ray.remote
    def caller(actor: Any, path: Path) -> int:
        found: int = ray.get(actor.call.remote(path))
        return found

    assert ray.get(caller.remote(Actor.remote(), tmp_path / "runs"), timeout=LIMIT) == 3
