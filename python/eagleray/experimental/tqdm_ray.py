"""Progress bars for drivers, tasks and actors. Those of workers are shown by the driver.

The driver draws them with the package tqdm. Without it, it writes a line about each bar every five seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from eagleray._private.session.progress_bars import MAGIC, Bars, bars
from eagleray._private.state import WORKER, process

__all__ = ["instance", "safe_print", "tqdm"]


class tqdm:
    """A progress bar.

    Args:
        iterable: What ``for x in bar`` goes through.
        desc: The text before the bar.
        total: How many steps there are; the length of the iterable when None.
        unit: What one step is called.
        position: Accepted for programs that give it: the driver places the bars.
        flush_interval_s: Seconds between two reports of a worker; 1 when None.
    """

    DEFAULT_FLUSH_INTERVAL_SECONDS: float = 1.0

    def __init__(
        self,
        iterable: Iterable[Any] | None = None,
        desc: str | None = None,
        total: int | None = None,
        unit: str | None = None,
        position: int | None = None,
        flush_interval_s: float | None = None,
    ) -> None:
        self._iterable = iterable
        self._desc = desc or ""
        self.total: int | None = len(iterable) if total is None and hasattr(iterable, "__len__") else total  # type: ignore[arg-type]
        self._unit = unit or "it"
        self._position = position or 0
        self._interval = self.DEFAULT_FLUSH_INTERVAL_SECONDS if flush_interval_s is None else flush_interval_s
        self._last = -1e9
        self._uuid = uuid.uuid4().hex
        self.n = 0
        self._closed = False
        self._report(force=True)

    def set_description(self, desc: str) -> None:
        """Sets the text before the bar."""
        self._desc = desc
        self._report()

    def update(self, n: int = 1) -> None:
        """Goes forward by some steps."""
        self.n += n
        self._report()

    def refresh(self) -> None:
        """Shows the bar as it is now."""
        self._report(force=True)

    def close(self) -> None:
        """Ends the bar, once."""
        if not self._closed:
            self._closed = True
            self._report(force=True)

    def _get_state(self) -> dict[str, Any]:
        session = process.session
        return {
            "__magic_token__": MAGIC,
            "x": self.n,
            "pos": self._position,
            "desc": self._desc,
            "total": self.total,
            "unit": self._unit,
            "ip": session.node_addr if session is not None else "",
            "pid": os.getpid(),
            "uuid": self._uuid,
            "closed": self._closed,
        }

    def _report(self, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._last < self._interval:
            return
        self._last = now
        session = process.session
        if session is not None and session.role == WORKER:
            print(json.dumps(self._get_state()), flush=True)
        else:
            bars.process_state_update({**self._get_state(), "ip": ""})

    def __iter__(self) -> Iterator[Any]:
        if self._iterable is None:
            raise ValueError("this progress bar has no iterable: tqdm(iterable)")
        try:
            for one in self._iterable:
                yield one
                self.update()
        finally:
            self.close()

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def safe_print(*args: Any, **kwargs: Any) -> None:
    """``print``, with the bars taken from the screen meanwhile."""
    manager = instance()
    manager.hide_bars()
    try:
        print(*args, **kwargs)
        (kwargs.get("file") or sys.stdout).flush()
    finally:
        manager.unhide_bars()


def instance() -> Bars:
    """What shows the bars in this process."""
    return bars
