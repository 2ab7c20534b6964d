"""Loads the Go core at its first use, and keeps it out of processes that user code forks."""

from __future__ import annotations

import os
from typing import Any

from eagleray._private import native, sites
from eagleray._private.hot_error import HotError
from eagleray._private.state import process

_loaded: Any = None
#: The module, if the zygote has loaded it.
_prepared: Any = None


def load() -> Any:
    """Returns the ``_hot`` module, ready for use."""
    global _loaded
    if _loaded is None:
        refuse_in_fork()
        native.start()
        hot = _prepared or _prepare()
        os.register_at_fork(after_in_child=_forget)
        _loaded = hot  # last, since a Ctrl-C before this line must not leave a half-loaded core
    return _loaded


def _prepare() -> Any:
    hot = native.hot()
    from eagleray._private.refs import ObjectRef

    hot.set_types(ObjectRef, HotError, *sites.folders())
    return hot


def prepare() -> None:
    """Does what ``load`` does without starting Go, for a process that will be forked."""
    global _prepared
    if native.delay_start():
        _prepared = _prepare()


def refuse_in_fork() -> None:
    """Raises in a child that user code forked from a process which had loaded the core."""
    if process.forked:
        process.require()


def _forget() -> None:
    """Cuts a forked child off the core: Go does not survive a fork, and the child must not use its parent's sockets."""
    process.forked = True
    process.leave()
