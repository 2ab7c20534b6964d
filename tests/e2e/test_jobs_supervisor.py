"""What the supervisor of a job kills when the guard of the job was killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
from eagleray._private.jobs import supervisor


def sleeper(**variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], **variables})


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    name = f"test-{os.getpid()}"
    made = [
        sleeper(EAGLERAY_SUBMISSION_ID=name, EAGLERAY_ADDRESS="/sessions/ours"),
        sleeper(EAGLERAY_SUBMISSION_ID=name),
        sleeper(EAGLERAY_SUBMISSION_ID=name, EAGLERAY_ADDRESS="/sessions/other"),
        sleeper(EAGLERAY_SUBMISSION_ID=name + "0", EAGLERAY_ADDRESS="/sessions/ours"),
    ]
    yield made
    for one in made:
        one.kill()
        one.wait()


def test_only_processes_of_the_job_of_this_session_are_killed(sleepers: list[subprocess.Popen[bytes]]) -> None:
    supervisor._sweep(f"test-{os.getpid()}", "/sessions/ours")
    assert [one.wait(10) for one in sleepers[:2]] == [-signal.SIGKILL] * 2
    assert [one.poll() for one in sleepers[2:]] == [None] * 2
