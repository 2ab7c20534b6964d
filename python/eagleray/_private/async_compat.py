"""The part of ``ray._private.async_compat`` that libraries use."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any


def get_new_event_loop() -> asyncio.AbstractEventLoop:
    """Returns a new event loop of asyncio."""
    return asyncio.new_event_loop()


def is_async_func(func: Any) -> bool:
    """Whether a function is a coroutine or an asynchronous generator."""
    return inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func)


@functools.lru_cache(maxsize=1024)
def has_async_methods(cls: type) -> bool:
    """Whether one method of a class or more is a coroutine or an asynchronous generator."""
    return any(is_async_func(member) for _, member in inspect.getmembers(cls))


@functools.lru_cache(maxsize=1024)
def sync_to_async(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a coroutine function that calls ``func``; a coroutine function is returned as it is.

    The same function gives the same coroutine function."""
    if is_async_func(func):
        return func

    @functools.wraps(func)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call
