"""What the tests themselves rest on: a clock that slows down with the machine, and signals that programs heed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from halt import halt, halted
from pace import Calm, bare_start, killed, meet, until

TESTS = Path(__file__).parents[1]


def test_a_slow_machine_counts_less_time() -> None:
    with Calm() as clock:
        until(lambda: clock() > 0.1)
        with halted(clock._child.pid):  # as slow as can be
            clock.restart()
            threading.Event().wait(0.3)
            assert clock() == 0
        until(lambda: clock() > 0.1)


def test_a_halted_process_runs_no_more(tmp_path: Path) -> None:
    """A signal alone does not do that: the thread that gets it waits for a processor here, and another one runs on."""
    source = """
import mmap, os, struct, sys, threading
with open(sys.argv[1], "r+b") as file:
    count = mmap.mmap(file.fileno(), 8)
def run():
    made = 0
    while True:
        made += 1
        struct.pack_into("Q", count, 0, made)
threading.Thread(target=run).start()
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
run()
"""
    path = tmp_path / "count"
    path.write_bytes(bytes(8))
    with killed(subprocess.Popen([sys.executable, "-c", source, str(path)])) as child:
        until(lambda: any(path.read_bytes()), "the threads run")
        halt(child.pid)
        made = path.read_bytes()
        threading.Event().wait(0.05)
        assert path.read_bytes() == made


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
