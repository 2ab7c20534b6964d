"""Heads are killed and cut off: the short form of what ``make robust PARTS=heads`` does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from chaos import clock, heads
from chaos.headslab import HEAD, Heads
from chaos.nodesleft import left
from net.lab import Lab, unavailable
from processes import alive, until

_WHY = unavailable()
pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(bool(_WHY), reason=_WHY)]


def test_the_leading_head_is_killed_under_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Every answer is explained by one order of all calls, nothing that needs no head waits, and nothing is left."""
    words = ["--seed=1", "--only", "kill_leader", "kill_follower", "--blows=3", "--seconds=60", "--quiet=1"]
    status = heads.main([*words, "--rate=200", "--flight=100", "--actors=5", "--pause=0.5"])
    assert status == 0, capsys.readouterr().out


#: Says that it has begun, and the time of day and the monotonic time for each line that it reads.
SAYS_TIME = """
import sys, time
print("begun", flush=True)
for _ in sys.stdin:
    print(time.time(), time.monotonic(), flush=True)
"""


@pytest.mark.skipif(bool(clock.why_not()), reason=clock.why_not())
def test_a_clock_that_jumps_is_that_of_one_process() -> None:
    """The blow is one: the process lives at another time of day, its monotonic clock and other processes do not."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SAYS_TIME], stdin=pipe, stdout=pipe, text=True) as program:
        assert program.stdin and program.stdout
        assert program.stdout.readline() == "begun\n"
        for seconds in (0, 86_400, -3600, 0):
            clock.jump(program.pid, seconds)
            before = time.time(), time.monotonic()
            program.stdin.write("\n")
            program.stdin.flush()
            day, steady = (float(word) for word in program.stdout.readline().split())
            assert before[0] - 1 <= day - seconds <= time.time() + 1
            assert before[1] - 1 <= steady <= time.monotonic() + 1
        program.stdin.close()


def test_a_head_with_a_damaged_log_refuses_and_the_others_go_on() -> None:
    """It says where the damage is and what to do, and doing that brings a third head back."""
    with Lab(4) as lab:
        cluster = Heads(lab, 3)
        leader = cluster.leader()
        victim = next(machine for machine in cluster.heads[1:] if machine is not leader)
        victim.signal(signal.SIGSTOP, "warden.pid")  # it would start the head again at once
        pid = victim.pid("head.pid")
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), 30)
        segment = min((victim.session() / "state" / "log").glob("*.log"))
        with segment.open("r+b") as file:
            file.seek(200)
            byte = file.read(1)[0]
            file.seek(200)
            file.write(bytes([byte ^ 1]))
        victim.signal(signal.SIGCONT, "warden.pid")
        logs = [victim.session() / "logs" / name for name in ("head.log", "warden.log")]
        until(lambda: "the state directory is damaged" in "".join(log.read_text() for log in logs), 30)
        said = "".join(log.read_text() for log in logs)
        assert segment.name in said and "eagleray heads remove" in said
        at = f"{victim.address}:"

        def lost() -> list[int]:
            rows = cluster.list()
            return [row["number"] for row in rows if row["addresses"][0].startswith(at) and not row["healthy"]]

        until(lambda: cluster.healthy(without=1) and lost(), 60, "the others go on without it")
        (number,) = lost()
        victim("stop")
        cluster.work("heads", "remove", str(number))
        victim.join(cluster.where, "--head", *HEAD)
        until(cluster.healthy, 60, "there are three heads again")
        assert not left([*cluster.heads, cluster.work])
