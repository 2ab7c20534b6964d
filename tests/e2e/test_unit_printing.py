"""How lines of workers are shown, without workers."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from eagleray._private import driver_log
from eagleray._private.messages import pack
from eagleray._private.session.printing import Printer, _run, start
from eagleray._private.state import process
from pace import until


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Said(Printer):
    def say(self, text: str, pid: int = 1, *, stderr: bool = False, cr: bool = False) -> None:
        self.log(pid, "f", stderr, cr, text, "")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def printer() -> Any:
    made = Printer(io.StringIO(), io.StringIO(), Clock())
    made.say = lambda text, pid=1, **more: made.log(
        pid, "f", more.get("stderr", False), more.get("cr", False), text, ""
    )
    return made


def lines(printer: Any) -> list[str]:
    return printer._out.getvalue().splitlines()


def test_three_copies_then_one_summary(printer: Any) -> None:
    for pid in range(1, 8):
        printer.say("same", pid)
    assert lines(printer) == ["(f pid=1) same", "(f pid=2) same", "(f pid=3) same"]
    printer._clock.now = 5.1
    printer.tick()
    assert lines(printer)[3:] == ["(f pid=7) same [repeated 4x more within 5 s; RAY_DEDUP_LOGS=0 shows all]"]
    printer.say("same")
    assert lines(printer)[4:] == ["(f pid=1) same"], "a new window has begun"


def test_different_text_is_never_folded(printer: Any) -> None:
    for i in range(20):
        printer.say(f"step {i}")
    assert len(lines(printer)) == 20


def test_empty_lines_and_streams_are_apart(printer: Any) -> None:
    for _ in range(6):
        printer.say("")
        printer.say("x", stderr=True)
    assert len(lines(printer)) == 6
    assert len(printer._err.getvalue().splitlines()) == 3


def test_flush_tells_what_was_held_back(printer: Any) -> None:
    for _ in range(5):
        printer.say("same")
    printer.flush()
    assert "repeated 2x" in lines(printer)[-1]


def test_progress_lines_replace_each_other(printer: Any) -> None:
    printer.say("10%", cr=True)
    printer.say("20%", cr=True)
    printer.say("done")
    assert printer._out.getvalue() == "\r(f pid=1) 10%\r(f pid=1) 20%\n(f pid=1) done\n"


def test_colour_only_on_terminals() -> None:
    out = Terminal()
    Printer(out, out).log(1, "f", False, False, "x", "")
    assert out.getvalue() == "\033[36m(f pid=1)\033[0m x\n"


def test_warnings_of_the_daemon_have_no_process(printer: Any) -> None:
    printer.log(0, "", True, False, "careful", "daemon")
    assert printer._err.getvalue() == "(daemon) careful\n"


def test_worker_output_names_who_writes() -> None:
    program = (
        "from eagleray._private.worker import output\n"
        "from eagleray._private.context import here\n"
        "output.install()\n"
        "here.label = 'a'\nprint('one'); print('two')\n"
        "here.label = 'b'\nprint('three', end='')\n"
        "here.label = 'c'\nprint('four')\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    assert done.stdout == "\x1f:name:a\none\ntwo\n\x1f:name:b\nthree\n\x1f:name:c\nfour\n", done.stderr


class Events:
    """The core as the printer's thread sees it: events that come, then none."""

    def __init__(self, *events: Any) -> None:
        self.events = list(events)
        self.empty = threading.Event()

    def next_event(self, timeout_ms: int) -> bytes | None:
        if not self.events:
            self.empty.set()
            time.sleep(timeout_ms / 1e5)
            return None
        event = self.events.pop(0)
        if isinstance(event, Exception):
            raise event
        return pack(event)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What goes to the driver's own log."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(driver_log, "warning", lambda text: found.append(("warning", text)))
    monkeypatch.setattr(driver_log, "error", lambda text: found.append(("error", text)))
    return found


LINE = ("log", 7, "f", False, False, "a line", "")


def test_each_event_is_shown_in_its_place(said: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    events = Events(("warn", "careful", "x"), LINE, ("error", "Unhandled error", "x"), ("unknown", 1))
    close = start(events)
    assert events.empty.wait(60)
    close()
    assert said == [("warning", "careful"), ("error", "Unhandled error")]
    assert capsys.readouterr().out == "(f pid=7) a line\n"
    assert not [t for t in threading.enumerate() if t.name == "eagleray-printer"], "the thread has ended"


def test_what_was_held_back_is_shown_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    events = Events(*[LINE] * 5)
    close = start(events)
    assert events.empty.wait(60)
    assert "repeated" not in capsys.readouterr().out
    close()
    assert "repeated 2x" in capsys.readouterr().out


@pytest.mark.parametrize("live", [True, False], ids=["a session that lives", "one that was shut down"])
def test_a_session_that_ends_by_itself_is_told(
    live: bool, said: list[tuple[str, str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "session", object() if live else None)
    events = Events(*[LINE] * 5, ("closed", "the daemon was killed", "x"), LINE)
    close = start(events)
    until(lambda: not [t for t in threading.enumerate() if t.name == "eagleray-printer"])
    close()
    assert said == ([("warning", "the session has ended: the daemon was killed")] if live else [])
    assert "repeated 2x" in capsys.readouterr().out
    assert events.events == [LINE], "nothing is read after the end"


def test_errors_of_the_core_and_of_a_closed_output_end_nothing(said: list[tuple[str, str]]) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise ValueError("I/O operation on closed file")

    events = Events(RuntimeError("no session"), LINE, ("warn", "still here"))
    stop = threading.Event()
    thread = threading.Thread(target=_run, args=(events, Printer(Closed(), Closed(), Clock()), stop))
    thread.start()
    assert events.empty.wait(60)
    stop.set()
    thread.join(60)
    assert said == [("warning", "still here")]
    assert not thread.is_alive()


def test_lines_of_another_node_have_its_address() -> None:
    out = io.StringIO()
    printer = Printer(out, out)
    printer.log(7, "f", False, False, "far", "", "10.0.0.2")
    printer.log(0, "", True, False, "careful", "daemon", "10.0.0.2")
    printer.log(7, "f", False, False, "near", "", "")
    assert out.getvalue() == "(f pid=7, ip=10.0.0.2) far\n(daemon, ip=10.0.0.2) careful\n(f pid=7) near\n"
