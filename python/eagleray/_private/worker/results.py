"""What a worker answers: the flags of a reply, and the envelopes of results."""

from __future__ import annotations

import os
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from eagleray._private import task_error
from eagleray._private.calls.arguments import ArgumentFailed
from eagleray._private.context import here
from eagleray._private.ids import TaskID
from eagleray._private.state import process
from eagleray._private.values.formats import ARGS, ARGS_MSGPACK, Encoded
from eagleray._private.values.serialization import encode, raise_unserializable
from eagleray._private.worker.interruption import Cancelled
from eagleray.exceptions import RaySystemError, RayTaskError, TaskCancelledError

if TYPE_CHECKING:
    from eagleray._private.worker.stream import Producer

#: Flags of a reply.
APP_ERROR, EXITING, CANCELLED, NO_RETRY = 1, 2, 4, 8


def node_address() -> str:
    """This machine's address, as error messages state it."""
    session = process.session
    return session.node_addr if session is not None else ""


def producer(hot: Any, token: int, num_returns: int, name: str, task_id: bytes) -> Producer:
    """What sends the items of a generator."""
    from eagleray._private.worker.stream import Producer  # late: few workers run generators

    return Producer(hot, token, num_returns, name, task_id)


def encode_results(value: Any, num_returns: int, name: str, args_fmt: int = ARGS) -> tuple[Encoded, ...]:
    """The envelopes of a task's results.

    Args:
        value: What the function returned.
        num_returns: How many results there are to be.
        name: The function, for messages.
        args_fmt: How its arguments came; Go programs have a way of their own.

    Raises:
        TypeError, AttributeError, PicklingError: the only result, or the first one, cannot be pickled.
        TypeError: the value has no length where several results are wanted.
        ValueError: their number is wrong.
    """
    if num_returns == 1:
        try:
            return (encode(value),)
        except Exception as problem:
            if isinstance(value, GeneratorType):
                if args_fmt == ARGS_MSGPACK:
                    raise TypeError(
                        f"{name} is a generator: a Go program takes its items with core.Stream or core.InvokeStream"
                    ) from None
                return _encode_stream(value, 1, name)
            raise_unserializable(value, f"the result of {name}", problem)
    if num_returns == 0:
        return ()
    if hasattr(type(value), "__next__"):
        return _encode_stream(value, num_returns, name)
    count = len(value)
    if count != num_returns:
        raise ValueError(f"Task returned {count} objects, but num_returns={num_returns}.")
    return _encode_stream(value, num_returns, name)


def _encode_result(value: Any, what: str) -> Encoded:
    try:
        return encode(value)
    except Exception as problem:
        raise_unserializable(value, what, problem)


def _encode_stream(values: Any, num_returns: int, name: str) -> tuple[Encoded, ...]:
    """Results one by one, of a generator for instance: those before an exception stay good."""
    results: list[Encoded] = []
    problem: BaseException | None = None
    try:
        for value in values:
            results.append(_encode_result(value, f"result {len(results)} of {name}"))
            if len(results) == num_returns:
                break  # as Ray, which drops what else there is
        if len(results) < num_returns:
            raise ValueError(f"Task returned {len(results)} objects, but num_returns={num_returns}.")
    except Exception as error:
        if not results or len(results) == num_returns:
            raise
        problem = error
    if problem is not None:
        made: Any = task_error.task_error(problem, name, pid=os.getpid(), ip=node_address())
        results += [task_error.encoded(made)] * (num_returns - len(results))
        task_error.clear_frames(problem)
        problem = made = None  # it holds this frame, and that all that was yielded
    return tuple(results)


def error_results(error: BaseException, name: str, task_id: bytes | None, skip: int) -> tuple[Encoded, ...]:
    """The results of a call that raised. There are some, whatever the class of the exception does.

    Args:
        error: What was raised.
        name: The name of the call.
        task_id: The id of the call.
        skip: How many frames of the runtime stand at the top of the traceback.
    """
    try:
        results = (task_error.encoded(_wrapped(error, name, task_id, skip)),)
        task_error.clear_frames(error)
        return results
    except Exception as problem:
        what = f"{type(error).__module__}.{type(error).__qualname__}"
        text = f"  {name} raised {what}, whose own code fails: {type(problem).__name__}"
        made = RayTaskError(name, text, RaySystemError(text), pid=os.getpid(), ip=node_address())
        return (task_error.encoded(made),)


def error_origin() -> dict[str, Any]:
    """Where an error comes from, as the functions of ``task_error`` take it: this process, and its actor if any."""
    origin: dict[str, Any] = {"pid": os.getpid(), "ip": node_address()}
    if here.actor is not None:
        origin.update(actor_repr=here.label, actor_id=here.actor.id.hex())
    return origin


def _wrapped(error: BaseException, name: str, task_id: bytes | None, skip: int) -> RayTaskError:
    """The exception that the caller is to get."""
    origin = error_origin()
    if isinstance(error, ArgumentFailed):
        return task_error.argument_error(error.error, name, **origin)
    made = task_error.task_error(error, name, skip=skip, **origin)
    if isinstance(error, KeyboardInterrupt):
        made.cause = TaskCancelledError(TaskID(task_id) if task_id is not None else None)
        shown = f"{TaskCancelledError.__module__}.{TaskCancelledError.__qualname__}: "
        made.traceback_str = made.traceback_str.replace(f"{Cancelled.__module__}.{Cancelled.__qualname__}", shown)
        made.traceback_str += str(made.cause)
    return made
