"""Go worker programs when processes are killed: what goes on, what is told, what is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.exceptions import RuntimeEnvSetupError
from go_program import actor, call, function, program
from processes import alive, name, until
from program import Program

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)

HERE = """
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    go = lambda name: ray.cross_language.go_function(name, worker=os.environ["GO_PROGRAM"])
    Counter = ray.cross_language.go_actor_class("Counter", worker=os.environ["GO_PROGRAM"])
"""


def of_go(members: dict[int, str]) -> list[int]:
    """The processes of the Go program among these."""
    return [pid for pid in members if os.path.realpath(f"/proc/{pid}/exe") == program()]


def test_the_zygote_is_killed_and_calls_go_on(ray: Any, tmp_path: Path) -> None:
    first = call("pid")
    parent = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    assert name(parent) == "eagleray-zygote" and name(first) == "eagleray-worker"
    os.kill(parent, signal.SIGKILL)
    until(lambda: not alive(parent), LIMIT)
    assert call("sum", 1, 2) == 3
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first), LIMIT)
    assert call("pid", max_retries=3) != first
    counter = actor(max_restarts=1, max_task_retries=1).remote(1)
    pid = ray.get(counter.Pid.remote())
    os.kill(pid, signal.SIGKILL)
    assert ray.get(counter.Add.remote(1)) == 2 and ray.get(counter.Pid.remote()) != pid


def test_a_call_is_killed_in_the_middle_and_runs_again(ray: Any, tmp_path: Path) -> None:
    path = tmp_path / "waits"
    ref = function("dies_or_waits", max_retries=1).remote(str(path))
    until(path.exists, LIMIT)
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert ray.get(ref, timeout=LIMIT) == "again"


@pytest.mark.parametrize("victim", ["driver", "daemon"])
def test_nothing_is_left_when_the_session_is_killed(program: Callable[..., Program], victim: str) -> None:
    from go_program import program as path

    driver = program(
        HERE,
        """
        counter = Counter.remote()
        pids = [ray.get(counter.Pid.remote())]
        waits = go("waits").remote(os.environ["HOME_OF_TEST"] + "/waits")
        say(*pids)
        input()
        ray.shutdown()
        """,
        GO_PROGRAM=path(),
        HOME_OF_TEST=os.environ["EAGLERAY_TMPDIR"],
    )
    driver.line()
    until(lambda: len(of_go(driver.members())) >= 3, LIMIT, "the zygote, the actor and the task")
    members = of_go(driver.members())
    os.kill(driver.pid if victim == "driver" else driver.daemon(), signal.SIGKILL)
    until(lambda: not any(map(alive, members)), LIMIT, "Go workers of a session that was killed")
    if victim == "daemon":
        driver.answer()
        driver.end()


@pytest.mark.slow
def test_a_program_that_never_registers_itself(ray: Any, tmp_path: Path) -> None:
    path = tmp_path / "sleeps"
    path.write_text("#!/bin/sh\nexec sleep 1000\n")
    path.chmod(0o755)
    with pytest.raises(RuntimeEnvSetupError, match="has not registered itself within 20s"):
        ray.get(ray.cross_language.go_function("f", worker=path).remote(), timeout=110)
