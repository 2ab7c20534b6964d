"""What is told of a worker's death: how the process ended, and what the work that ended with it wrote last."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import eagleray
import pytest

LIMIT = 60


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """One worker at a time, so that work comes into the process of earlier work."""
    with eagleray.init(address="local", num_cpus=1, log_to_driver=False) as context:
        yield context


class Doomed:
    def pid(self) -> int:
        return os.getpid()

    def end(self, text: str = "") -> None:
        if text:
            os.write(2, text.encode())
        os._exit(3)


def noise(number: int) -> int:
    """Writes to standard error in every way that a section's end follows."""
    print(f"noise {number}", file=sys.stderr)
    if number % 2:
        print("unfinished", end="", file=sys.stderr)
    thread = threading.Thread(target=lambda: print(f"noise of a thread {number}", file=sys.stderr))
    thread.start()
    thread.join()
    return os.getpid()


@pytest.mark.parametrize("writes", ["through Python", "past Python"])
def test_an_actor_does_not_quote_the_tasks_before_it(ray: Any, writes: str) -> None:
    def past(number: int) -> int:
        os.write(2, b"noise past Python, and a line without an end")
        return os.getpid()

    task = ray.remote(noise if writes == "through Python" else past)
    shared = 0
    for text in ("", "the actor's own words\n"):
        pids = set(ray.get([task.remote(number) for number in range(5)], timeout=LIMIT))
        actor = ray.remote(num_cpus=1)(Doomed).remote()
        shared += ray.get(actor.pid.remote(), timeout=LIMIT) in pids
        with pytest.raises(ray.exceptions.ActorDiedError) as caught:
            ray.get(actor.end.remote(text), timeout=LIMIT)
        told = str(caught.value)
        assert "ended with exit code 3" in told and "noise" not in told and "unfinished" not in told, told
        assert "\x1f" not in told and text.strip() in told
        assert ("last wrote" in told) == bool(text)
    assert shared, "no actor got the process of a task: nothing was shown"


def test_a_task_does_not_quote_the_tasks_before_it(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def end(text: str) -> None:
        print(os.getpid(), file=sys.stderr)
        os.write(2, text.encode())
        os.kill(os.getpid(), signal.SIGKILL)

    pids = {str(pid) for pid in ray.get([ray.remote(noise).remote(number) for number in range(5)], timeout=LIMIT)}
    with pytest.raises(ray.exceptions.WorkerCrashedError) as caught:
        ray.get(end.remote("its own words\n"), timeout=LIMIT)
    told = str(caught.value)
    assert "killed by signal 9 (SIGKILL)" in told and told.endswith("its own words")
    assert "noise" not in told and any(f"\n  {pid}" in told for pid in pids), told


def test_what_tasks_wrote_is_shown_as_it_was(script: Any) -> None:
    done = script(
        """
        import sys
        import eagleray as ray
        ray.init(address="local", num_cpus=1)

        @ray.remote
        def write(end):
            print("to standard error", end=end, file=sys.stderr)

        for end in ("\\n", "", "\\n"):
            ray.get(write.remote(end))
        """,
        env={**os.environ, "RAY_DEDUP_LOGS": "0"},
    )
    assert done.stderr.count("to standard error\n") == 3 and "\x1f" not in done.stderr
    assert all(line.endswith("to standard error") for line in done.stderr.splitlines()), done.stderr
