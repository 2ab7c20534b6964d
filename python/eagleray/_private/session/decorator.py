"""``@remote``: makes a remote function of a function and an actor class of a class."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, overload

from eagleray._private.calls import flow
from eagleray._private.calls.option_types import ACTOR, TASK
from eagleray._private.calls.options import check_options
from eagleray.actor import ActorClass
from eagleray.remote_function import RemoteFunction

if TYPE_CHECKING:
    from eagleray._private.calls.fallback import Fallback
    from eagleray.remote_function import RemoteFunctionMany, RemoteFunctionStream

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class RemoteDecorator(Protocol):
    """The decorator that ``remote`` with options returns."""

    @overload
    def __call__(self, target: type[T], /) -> ActorClass[T]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, target: Callable[P, R], /) -> RemoteFunction[P, R]: ...


class RemoteDecoratorMany(Protocol):
    """The decorator that ``remote`` with a number of results returns."""

    def __call__(self, target: Callable[P, R], /) -> RemoteFunctionMany[P]: ...


class RemoteDecoratorStream(Protocol):
    """The decorator that ``remote`` with ``num_returns="streaming"`` returns."""

    def __call__(self, target: Callable[P, R], /) -> RemoteFunctionStream[P]: ...


@overload
def remote(target: type[T], /) -> ActorClass[T]: ...  # type: ignore[overload-overlap]
@overload
def remote(target: Callable[P, R], /) -> RemoteFunction[P, R]: ...
@overload
def remote(
    *,
    num_returns: Literal[1] = ...,
    fallback: Fallback | None = ...,
    fallback_after: float | None = ...,
    **options: Any,
) -> RemoteDecorator: ...
@overload
def remote(*, num_returns: Literal["streaming"], **options: Any) -> RemoteDecoratorStream: ...
@overload
def remote(
    *, num_returns: int, fallback: Fallback | None = ..., fallback_after: float | None = ..., **options: Any
) -> RemoteDecoratorMany: ...


def remote(*args: Any, **kwargs: Any) -> Any:
    """Turns the calls of a function into tasks, or the instances of a class into actors.

    Use it bare, ``@remote``, or with options, ``@remote(num_gpus=1)``. ``f.remote(…)`` then returns an ``ObjectRef``
    and ``A.remote(…)`` a handle.

    Options of both: num_cpus, num_gpus, gpu_memory ("8GiB"), gpu_memory_enforce, memory (bytes), resources,
    accelerator_type, runtime_env, name, scheduling_strategy, fallback (alternatives for the case that these resources
    are not free: ``[{"num_cpus": 2}]``), fallback_after (seconds to wait first). Of functions: num_returns,
    max_retries, retry_exceptions, retry_with_more_memory, max_calls. Of classes: namespace, lifetime, get_if_exists,
    max_restarts, max_task_retries, max_concurrency, concurrency_groups, max_pending_calls, exclusive (at most one
    process at a time begins calls of the actor, whatever happens to nodes and networks).

    Raises:
        AssertionError: called with neither a target nor options, or with both.
        TypeError: the target is neither a function nor a class, or an option has the wrong type.
        ValueError: an option's name or value is wrong.
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        return _make(args[0], {})
    if args or not kwargs:
        raise AssertionError(
            "The @remote decorator takes either no arguments, as '@remote', or options by keyword, as "
            "'@remote(num_gpus=1)'."
        )

    def decorate(target: Any) -> Any:
        return _make(target, kwargs)

    return decorate


def _make(target: Any, options: dict[str, Any], stacklevel: int = 3) -> Any:
    if isinstance(target, type):
        check_options(options, ACTOR, in_options=False)
        return ActorClass(target, options)
    if isinstance(target, types.FunctionType):
        check_options(options, TASK, in_options=False)
        flow.check_returns(options.get("num_returns"), flow.is_generator(target), target.__qualname__, stacklevel)
        return RemoteFunction(target, options)
    what = f"{type(target).__name__} {getattr(target, '__name__', '')}".rstrip()
    raise TypeError(
        f"The @remote decorator must be applied to either a function or a class, not to {what}. "
        "Wrap it in a plain function: def f(*args): return it(*args)"
    )
