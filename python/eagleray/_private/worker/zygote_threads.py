"""Threads in a zygote. A process with threads cannot be forked safely: a lock that one of them held stays held.

Threads that start while modules are imported come from a library, or from a hook of the interpreter's start
(``sitecustomize``, ``usercustomize``, a ``.pth`` file). Some of these threads end by themselves; the zygote waits for
them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType

#: For how long a zygote waits for threads that end by themselves.
PATIENCE_SECONDS = 0.3
_STEP_SECONDS = 0.005


def alone() -> bool:
    """Whether this process has one thread."""
    return len(os.listdir("/proc/self/task")) == 1


def settle() -> bool:
    """Waits a moment for other threads to end. Returns whether this process has one thread now."""
    if alone():
        return True
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(_STEP_SECONDS)
        if alone():
            return True
    return False


def describe() -> str:
    """Names the threads beside the calling one, with the library that each comes from where that can be known."""
    me = threading.get_ident()
    known = {thread.ident: thread for thread in threading.enumerate()}
    texts = [_python_thread(known.get(ident), frame) for ident, frame in sys._current_frames().items() if ident != me]
    names = []
    mine = {thread.native_id for thread in known.values()} | {os.getpid()}
    for task in os.listdir("/proc/self/task"):
        if int(task) not in mine:
            try:
                with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
                    names.append(file.read().strip())
            except OSError:  # it has just ended
                continue
    unknown = len(names) - sum(ident not in known for ident in sys._current_frames() if ident != me)
    texts += [f"{name!r}, which native code started" for name in names[: max(unknown, 0)]]
    return "; ".join(texts) or "one that has ended meanwhile"


def _python_thread(thread: threading.Thread | None, frame: FrameType | None) -> str:
    """One thread of Python's: its name, and the module and file of the code that it runs."""
    module, path = "", ""
    while frame is not None:  # the last one found is the first that was called
        if frame.f_code.co_filename != threading.__file__:
            module, path = str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename
        frame = frame.f_back
    if not path and thread is not None:  # it runs a function that is not written in Python
        module = str(getattr(getattr(thread, "_target", None), "__module__", None) or type(thread).__module__)
    name = repr(thread.name) if thread is not None else "one without a name"
    return f"{name} of {module or 'unknown code'}" + (f" ({path})" if path else "")
