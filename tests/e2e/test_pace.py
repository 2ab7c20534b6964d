"""What the tests themselves rest on: a clock that slows down with the machine, and signals that programs heed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pace import Calm, bare_start, killed, meet, until

TESTS = Path(__file__).parents[1]


def test_a_slow_machine_counts_less_time() -> None:
    with Calm() as clock:
        until(lambda: clock() > 0.1)
        os.kill(clock._child.pid, signal.SIGSTOP)  # as slow as can be
        clock.restart()
        threading.Event().wait(0.3)
        assert clock() < 0.1
        os.kill(clock._child.pid, signal.SIGCONT)
        until(lambda: clock() > 0.1)


def test_who_runs_alone_meets_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = [threading.Thread(target=meet, args=(tmp_path, 3)) for _ in range(3)]
    for one in meeting:
        one.start()
    for one in meeting:
        one.join()
    with pytest.raises(AssertionError, match=r"not within 0\.01 s: four"):
        until(lambda: False, "four", 0.01)


def test_a_bare_interpreter_takes_some_time() -> None:
    assert 0 < bare_start() < 60


def test_a_process_is_killed_when_a_test_fails() -> None:
    with pytest.raises(ZeroDivisionError), killed(subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE)) as child:
        _ = 1 / 0
    assert child.returncode == -signal.SIGKILL


def test_programs_heed_signals_that_nohup_has_the_tests_ignore() -> None:
    program = f"""
import signal, subprocess, sys
ignored = [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
for number in ignored:
    signal.signal(number, signal.SIG_IGN)
sys.path.insert(0, {str(TESTS)!r})
import conftest
shows = "import signal, sys; print([signal.getsignal(int(n)) is signal.SIG_IGN for n in sys.argv[1:]])"
subprocess.run([sys.executable, "-c", shows, *map(str, map(int, ignored))], check=True)
signal.raise_signal(signal.SIGHUP)  # this process goes on ignoring it
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[False, False, False]\ninterrupted\n", done.stderr
