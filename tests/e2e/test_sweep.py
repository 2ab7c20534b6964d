"""A session's processes are found by their mark, also those that are in the middle of an exec."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from eagleray._private.session import sweep


def stat_line(size: str, end: str) -> bytes:
    fields = ["7"] * 52
    fields[1], fields[2], fields[22], fields[50] = "(a (b) c)", "S", size, end
    return " ".join(fields).encode()


def test_processes_that_have_just_started_are_found() -> None:
    mark = f"sweep-{os.getpid()}"
    environment = {"A": "1", sweep.MARK: mark, "Z": "2"}
    for _ in range(30):
        running = [subprocess.Popen(["/bin/sleep", "600"], env=environment) for _ in range(4)]
        other = subprocess.Popen(["/bin/sleep", "600"], env={sweep.MARK: mark + "x"})
        try:
            sweep.kill_processes(mark)
            assert [one.wait(60) for one in running] == [-9] * len(running)
            assert other.poll() is None
        finally:
            for one in [*running, other]:
                one.kill()
                one.wait()


def test_an_environment_is_read_again_during_an_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    execs, rests = stat_line("4096", "0"), stat_line("4096", "140000")
    texts: list[bytes] = []
    monkeypatch.setattr(sweep, "_read", lambda pid, name: texts.pop(0))
    for said, found in [
        ([b"A=1\0B=2\0"], [b"A=1", b"B=2", b""]),
        ([b"", execs, b""], None),
        ([b"", execs, b"A=1"], [b"A=1"]),
        ([b"", rests, b"A=1"], [b"A=1"]),
        ([b"", rests, b""], []),
        ([b"", stat_line("0", "0"), b""], []),  # a thread of the kernel
    ]:
        texts[:] = said
        assert sweep._environment(1) == found
        assert texts == []


def test_this_process_is_not_in_an_exec() -> None:
    assert not sweep._exec_is_under_way(Path("/proc/self/stat").read_bytes())
    assert not sweep._exec_is_under_way(b"1 (x")
