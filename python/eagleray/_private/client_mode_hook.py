"""The part of ``ray._private.client_mode_hook`` that libraries use. Without a Ray Client, calls stay as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from eagleray._private.state import process

is_client_mode_enabled = False
is_client_mode_enabled_by_default = False


def client_mode_should_convert() -> bool:
    """Whether calls go through Ray Client: never."""
    return False


def client_mode_hook(func: Callable[..., Any] | None = None, *, local_only_kwargs: tuple[str, ...] = ()) -> Any:
    """Marks a function that Ray Client would call elsewhere; returns it, or a decorator that does."""
    del local_only_kwargs  # they are kept from Ray Client, and there is none
    return func if func is not None else lambda marked: marked


def client_mode_wrap(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that starts the default session if there is none, and then calls ``func``."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        process.require()
        return func(*args, **kwargs)

    return call


@contextmanager
def disable_client_hook() -> Iterator[None]:
    """A ``with`` block without Ray Client, as all code here."""
    yield
