"""Shows the output of workers, with the name and the process id of the writer.

Identical lines are folded: the first three copies within five seconds are shown, and one line gives the number
of the other copies.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from eagleray._private import driver_log
from eagleray._private.messages import unpack
from eagleray._private.session.progress_bars import MAGIC, bars
from eagleray._private.state import process
from eagleray.exceptions import RayError

_FOLD_SECONDS = 5.0
_SHOWN_COPIES = 3
_POLL_MS = 500
_LEAVING_SECONDS = 0.01
_CYAN, _YELLOW, _GREEN, _RESET = "\033[36m", "\033[33m", "\033[32m", "\033[0m"


class _Copies:
    """One text, and how often it came in a window of time."""

    __slots__ = ("count", "prefix", "stderr", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.count = 0
        self.prefix = ""
        self.stderr = False


class Printer:
    """Turns events of the core into lines on the driver's output.

    Args:
        out: Standard output, looked up at each line when None: programs replace it.
        err: Standard error, likewise.
        clock: Seconds.
        fold: Whether identical lines are folded.
        bare: Whether lines of workers are shown as they are, without name and process id.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        fold: bool = True,
        bare: bool = False,
    ) -> None:
        self._out = out
        self._err = err
        self._clock = clock
        self._fold = fold
        self._bare = bare
        self._seen: dict[tuple[str, bool], _Copies] = {}
        self._progress: set[bool] = set()  # streams whose last line ended in \r

    def log(self, pid: int, name: str, stderr: bool, carriage: bool, text: str, source: str, node: str = "") -> None:
        """Shows one line of a worker, or of the daemon. Node is the address of another node."""
        if not carriage and MAGIC in text and bars.line(text, node):
            return
        process = f" pid={pid}" if pid else ""
        place = f", ip={node}" if node else ""
        prefix = "" if self._bare and not source else f"({source or name or 'worker'}{process}{place}) "
        if carriage:
            self._write(prefix, stderr, text, carriage=True, warn=bool(source))
            return
        if self._fold and text.strip():
            self.tick()
            now = self._clock()
            copies = self._seen.get((text, stderr))
            if copies is None:
                copies = self._seen[text, stderr] = _Copies(now + _FOLD_SECONDS)
            copies.count += 1
            copies.prefix, copies.stderr = prefix, stderr
            if copies.count > _SHOWN_COPIES:
                return
        self._write(prefix, stderr, text, warn=bool(source))

    def tick(self) -> None:
        """Reports the number of copies of each text whose window is over."""
        self._close_windows(self._clock())

    def flush(self) -> None:
        """Reports the copies of all texts that were not shown."""
        bars.close()
        self._close_windows(float("inf"))
        for stderr in sorted(self._progress):
            stream = self._stream(stderr)
            if stream is not None:
                stream.write("\n")
        self._progress.clear()

    def _close_windows(self, now: float) -> None:
        # The dictionary is in the order in which windows were opened: the first open window ends the search.
        over = []
        for key, copies in self._seen.items():
            if copies.until > now:
                break
            over.append(key)
        for key in over:
            copies = self._seen.pop(key)
            more = copies.count - _SHOWN_COPIES
            if more > 0:
                self._write(
                    copies.prefix,
                    copies.stderr,
                    key[0],
                    note=f" [repeated {more}x more within {_FOLD_SECONDS:.0f} s; RAY_DEDUP_LOGS=0 shows all]",
                )

    def _stream(self, stderr: bool) -> TextIO | None:
        # A program may have no output at all: sys.stdout is None then.
        if stderr:
            return self._err or sys.stderr
        return self._out or sys.stdout

    def _write(
        self, prefix: str, stderr: bool, text: str, *, carriage: bool = False, note: str = "", warn: bool = False
    ) -> None:
        stream = self._stream(stderr)
        if stream is None:
            return
        if bars.shown:
            bars.hide_bars()
            try:
                self._put(stream, prefix, stderr, text, carriage, note, warn)
            finally:
                bars.unhide_bars()
        else:
            self._put(stream, prefix, stderr, text, carriage, note, warn)

    def _put(self, stream: TextIO, prefix: str, stderr: bool, text: str, carriage: bool, note: str, warn: bool) -> None:
        if _is_terminal(stream):
            prefix = prefix and f"{_YELLOW if warn else _CYAN}{prefix.rstrip()}{_RESET} "
            note = f"{_GREEN}{note}{_RESET}" if note else ""
        before = ""
        if stderr in self._progress and not carriage:
            before = "\n"
            self._progress.discard(stderr)
        if carriage:
            self._progress.add(stderr)
            stream.write(f"\r{prefix}{text}")
        else:
            stream.write(f"{before}{prefix}{text}{note}\n")
        stream.flush()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def start(hot: Any, bare: bool = False) -> Callable[[], None]:
    """Starts the thread that shows events. It returns a function that ends it when all arrived events are shown.

    Args:
        hot: The C extension.
        bare: Whether lines of workers are shown without name and process id: each says by itself who has written it.
    """
    printer = Printer(fold=os.environ.get("RAY_DEDUP_LOGS", "1") != "0", bare=bare)
    stop = threading.Event()
    thread = threading.Thread(target=_run, args=(hot, printer, stop), name="eagleray-printer", daemon=True)
    thread.start()

    def close() -> None:
        stop.set()
        if thread is not threading.current_thread():
            thread.join(2.0)

    return close


def _unhandled(text: str) -> None:
    """Tells of a failure that nobody has fetched: a handler that the program has set as under Ray, else the log."""
    worker = sys.modules.get("eagleray._private.worker")
    handler = vars(worker).get("_unhandled_error_handler") if worker is not None else None
    if handler is None:
        driver_log.error(text)
    elif not driver_log.ignores_errors():
        try:
            handler(RayError(text))
        except Exception as problem:  # the program's own
            driver_log.warning(f"_unhandled_error_handler has raised {type(problem).__name__}: {problem}")


def _run(hot: Any, printer: Printer, stop: threading.Event) -> None:
    while True:
        try:
            packed = hot.next_event(_POLL_MS)
        except Exception:  # the session is over
            packed = None
        try:
            if packed is None:
                if stop.is_set():
                    printer.flush()
                    return
                printer.tick()
                if process.session is None:
                    stop.wait(_LEAVING_SECONDS)
                continue
            kind, *rest = unpack(packed)
            if kind == "log":
                printer.log(*rest)
            elif kind == "warn":
                driver_log.warning(rest[0])
            elif kind == "error":
                _unhandled(rest[0])
            elif kind == "closed":
                printer.flush()
                if process.session is not None:  # the driver does not want the output of workers
                    driver_log.warning(f"the session has ended: {rest[0]}")
                return
        except (OSError, ValueError):  # the program closed its output
            continue
