"""The ERROR envelope: how an exception travels.

The cause is pickled apart from the rest, so that a class that the receiver cannot import or rebuild costs only the
class, never the message and the remote traceback.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback
from opcode import opmap
from types import FrameType
from typing import Any

import msgpack

from eagleray import exceptions
from eagleray._private.faults import argument_text
from eagleray._private.hot_error import HotError, explain
from eagleray._private.values import pickling
from eagleray._private.values.formats import ERROR, Encoded
from eagleray.exceptions import ActorDiedError, RayError, RayTaskError, UnserializableException


def task_error(
    cause: BaseException,
    function_name: str,
    *,
    pid: int,
    ip: str,
    skip: int = 1,
    actor_repr: str | None = None,
    actor_id: str | None = None,
) -> RayTaskError:
    """The task error for an exception that is being handled.

    Args:
        cause: The exception, with its traceback.
        function_name: What ran.
        pid: This process.
        ip: This machine.
        skip: Frames of the runtime at the top of the traceback.
        actor_repr: The actor, if there is one.
        actor_id: Its id in hex.
    """
    tb = cause.__traceback__
    if isinstance(cause, HotError):  # the core's word in the middle of user code, of a generator's item for instance
        cause = explain(cause)
    for _ in range(skip):
        tb = tb.tb_next if tb is not None else None
    text = "".join(traceback.format_exception(type(cause), cause, tb))
    # An error that came out of another task keeps its own cause: callers test for the class that user code raised.
    if isinstance(cause, RayTaskError):
        cause = cause.cause
    return RayTaskError(function_name, text, cause, pid=pid, ip=ip, actor_repr=actor_repr, actor_id=actor_id)


def argument_error(
    error: RayError,
    function_name: str,
    *,
    pid: int,
    ip: str,
    actor_repr: str | None = None,
    actor_id: str | None = None,
) -> RayTaskError:
    """The error of a task whose argument could not be computed."""
    text = argument_text(error)
    cause = error.cause if isinstance(error, RayTaskError) else error
    return RayTaskError(function_name, text, cause, pid=pid, ip=ip, actor_repr=actor_repr, actor_id=actor_id)


def clear_frames(error: BaseException) -> None:
    """Empties the frames of an exception that was told: one that a local variable names holds all else in its frame.

    Those of generators and coroutines that may go on stay.
    """
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += (one.__cause__, one.__context__)
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if not _suspended(frame):
                with contextlib.suppress(RuntimeError):  # it runs
                    frame.clear()


def _suspended(frame: FrameType) -> bool:
    """Whether it is a generator's or coroutine's that waits at a ``yield`` or ``await``."""
    code, at = frame.f_code, frame.f_lasti
    # Versions of Python differ in whether the yield is the last instruction or the one before.
    return bool(code.co_flags & _SUSPENDS) and (at < 2 or _YIELD in (code.co_code[at], code.co_code[at - 2]))


_YIELD = opmap["YIELD_VALUE"]
#: Generators, coroutines of either kind, asynchronous generators; as in ``inspect``, which takes long to load.
_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200


def safe_text(error: BaseException) -> str:
    """What an exception says of itself; its class's code is the user's and may raise, too."""
    try:
        return str(error)
    except Exception as problem:
        return f"<str() of this exception raised {type(problem).__name__}>"


def encode(error: BaseException) -> bytes:
    """The bytes of an error of ours: what other languages can show of it, then the pickled rest."""
    plain = getattr(error, "_task_error", error)
    shown, cause = plain, getattr(plain, "cause", None) or plain
    if isinstance(cause, RayTaskError) and cause.cause is not None:  # an actor died of what its constructor raised
        shown, cause = cause, cause.cause
    head = [
        getattr(shown, "function_name", ""),
        f"{type(cause).__name__}: {safe_text(cause)}",
        getattr(shown, "traceback_str", "") or str(error),
        RayTaskError._headline(plain) if isinstance(plain, RayTaskError) else "",
    ]
    packed: bytes = (
        msgpack.packb([*map(shortened, head), _encode_rest(error)], unicode_errors="backslashreplace") or b""
    )
    return packed


#: Bytes of an encoded error from which on it lies in the object store.
LARGE = 100 << 10
#: Characters of a text that other languages can show of an exception.
_MOST_SHOWN = 64 << 10
#: Characters of a text, or bytes of an argument, in the brief form of an exception.
BRIEF = 8 << 10


def shortened(part: object, most: int = _MOST_SHOWN) -> str:
    """A text of which the middle is left out when it is long."""
    text = str(part)
    if len(text) <= most:
        return text
    left = most // 2
    return f"{text[:left]} … [{len(text) - 2 * left} characters are left out] … {text[-left:]}"


def brief(error: RayTaskError) -> RayTaskError:
    """A large error in short: of the same class, without what is large in it."""
    cause = error.cause
    try:
        made = _rebuild(type(cause), tuple(map(_brief_value, cause.args)), {})
        if len(encode_cause(made)) > 2 * BRIEF:
            raise ValueError("the class itself is large")
    except Exception:
        made = UnserializableException(shortened(f"{type(cause).__name__}: {safe_text(cause)}", BRIEF))
    text = shortened(error.traceback_str, BRIEF)
    return RayTaskError(
        error.function_name, text, made, error.proctitle, error.pid, error.ip, error.actor_repr, error.actor_id
    )


def _brief_value(value: object) -> object:
    try:
        size = len(_dumps(value))
    except Exception:
        size = BRIEF + 1
    return value if size <= BRIEF else shortened(repr(value), BRIEF)


def encoded(error: BaseException) -> Encoded:
    """The envelope of an error, with the references that it carries."""
    with pickling.collected() as nested:
        data = encode(error)
    return ERROR, data, None, tuple(nested) or None


def _encode_rest(error: BaseException) -> bytes:
    if isinstance(error, RayTaskError):
        plain = getattr(error, "_task_error", error)
        fields = (
            plain.function_name,
            plain.traceback_str,
            plain.proctitle,
            plain.pid,
            plain.ip,
            plain.actor_repr,
            plain.actor_id,
        )
        return pickle.dumps(("task", fields, encode_cause(plain.cause)), 5)
    if isinstance(error, ActorDiedError) and error.cause is not None:
        kind = "actor_lacks" if error._lacking else "actor_init"
        return pickle.dumps((kind, encode(error.cause), error.actor_id, error._lacking), 5)
    return pickle.dumps(("other", encode_cause(error), str(error)), 5)


def decode(data: bytes) -> RayError:
    """The error that ``encode`` wrote; task errors come as instances of their cause's class."""
    kind, *rest = pickle.loads(msgpack.unpackb(data)[-1])
    if kind == "task":
        fields, blob = rest
        name, text, title, pid, ip, actor_repr, actor_id = fields
        return RayTaskError(
            name, text, decode_cause(blob, text), title, pid, ip, actor_repr, actor_id
        ).as_instanceof_cause()
    if kind in ("actor_init", "actor_lacks"):
        cause: Any = decode(rest[0])
        return ActorDiedError(getattr(cause, "_task_error", cause), *rest[1:])
    found = decode_cause(*rest)
    return found if isinstance(found, RayError) else exceptions.RaySystemError(found)


def encode_cause(cause: BaseException) -> bytes:
    """Pickles an exception, by the first way that rebuilds it: its own, without its constructor, or as text."""
    for attempt in (cause, _Rebuilt(cause)):
        try:
            blob = _dumps(attempt)
            if type(pickling.loads_plain(blob)) is type(cause):
                return blob
        except Exception:
            continue
    where = type(cause)
    text = f"Exception {where.__module__}.{where.__qualname__} cannot be pickled: {safe_text(cause)}"
    return pickle.dumps(RayError(text), 5)


def decode_cause(blob: bytes, text: str) -> BaseException:
    """The exception in ``blob``, or one that says what it was."""
    try:
        found = pickling.loads_plain(blob)
        if isinstance(found, BaseException):
            return found
    except Exception as problem:
        text += f"\n(its class cannot be loaded here: {type(problem).__name__}: {problem})"
    return UnserializableException(text)


class _Rebuilt:
    """Pickles as the exception that it holds, rebuilt without calling its constructor."""

    def __init__(self, cause: BaseException) -> None:
        self.cause = cause

    def __reduce__(self) -> Any:
        state = {key: value for key, value in self.cause.__dict__.items() if _picklable(value)}
        args = tuple(value if _picklable(value) else repr(value) for value in self.cause.args)
        return _rebuild, (type(self.cause), args, state)


def _rebuild(cls: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    try:
        made = cls.__new__(cls, *args)
    except Exception:  # the class's own __new__ wants something else
        made = BaseException.__new__(cls, *args)
    made.__dict__.update(state)
    return made


def _picklable(value: object) -> bool:
    try:
        _dumps(value)
        return True
    except Exception:
        return False


def _dumps(value: object) -> bytes:
    try:
        data = pickle.dumps(value, 5)
        if b"__main__" not in data:
            return data
    except Exception:
        pass
    data, nested = pickling.dumps_code(value)
    pickling.also(nested)
    return data
