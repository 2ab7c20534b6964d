"""The part of ``ray._private.profiling`` that libraries use: marking a span of the program's own for ``timeline``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from eagleray._private.calls import tracing
from eagleray._private.state import process

#: Whether calls and spans are recorded.
PROFILING_ENABLED = tracing.ON
#: What ``profile`` returns where nothing is recorded.
NULL_LOG_SPAN: AbstractContextManager[None] = nullcontext()


class _Span:
    """Writes one line when its ``with`` block ends."""

    def __init__(self, folder: str, event_type: str, extra_data: Mapping[str, str]) -> None:
        self._path = os.path.join(folder, f"{os.getpid()}.spans")
        self._type = event_type
        self._data = dict(extra_data)
        self._begin = 0

    def __enter__(self) -> None:
        self._begin = time.monotonic_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end = time.monotonic_ns()
        session = process.session
        if session is None:
            return
        if error is not None:
            self._data |= {"type": str(kind), "value": str(error)}
        line = {"type": self._type, "begin": self._begin, "end": end, "data": self._data}
        line |= {"pid": os.getpid(), "role": session.role, "session": session.session_dir}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def profile(event_type: str, extra_data: Mapping[str, str] | None = None) -> AbstractContextManager[None]:
    """Marks a ``with`` block as an event of ``timeline``. Where calls are not recorded, it does nothing.

    Args:
        event_type: The event's category, and its name.
        extra_data: What the viewer shows with the event. ``name`` and ``cname`` replace its name and its colour.

    Raises:
        TypeError: the data are no dictionary of texts.
    """
    data = dict(extra_data or {})
    if not all(isinstance(text, str) for pair in data.items() for text in pair):
        raise TypeError(f"extra_data must map strings to strings, got {extra_data!r}")
    folder = tracing.FOLDER
    return NULL_LOG_SPAN if folder is None else _Span(folder, event_type, data)
