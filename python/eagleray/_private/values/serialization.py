"""Values ↔ envelope triples ``(fmt, meta, bufs)``: see docs/hot-api.md for the formats.

Plain values travel as msgpack, which Go reads too. A value that msgpack would change (tuples, subclasses, integers
beyond 64 bits, lone surrogates, bytearrays) is pickled instead. Arrays and large bytes travel as their memory, and the
reader gets read-only views on the object store.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, cast

import msgpack

from eagleray._private import faults, numpy_extra
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process
from eagleray._private.values import pickling
from eagleray._private.values.formats import (
    BYTES,
    FAULT,
    MSGPACK,
    NDARRAY,
    NONE_RESULT,
    PICKLE,
    PICKLE_REFS,
    Buffers,
    Encoded,
    Triple,
)
from eagleray._private.values.inspection import describe_failure
from eagleray.exceptions import RaySystemError

if TYPE_CHECKING:
    from eagleray.exceptions import RayError

#: Bytes of this length or more get a buffer of their own.
LARGE_BYTES = 4096

_SCALARS = frozenset({int, float, str, bool})
_PLAIN = _SCALARS | {type(None), bytes}
_ARRAY_KINDS = "biufcmMSU"

_packer = msgpack.Packer(strict_types=True)
_pack = _packer.pack
_packing = False
_unpackb = msgpack.unpackb


def encode(value: Any) -> Encoded:
    """Returns the envelope of a value, with the references and handles inside it.

    Raises:
        Exception: pickling raised it. A caller that knows the purpose of the value then calls ``unserializable``.
    """
    if value is None:
        return NONE_RESULT
    kind = type(value)
    if kind in _SCALARS:
        try:
            return MSGPACK, _pack(value), None, None
        except (OverflowError, UnicodeEncodeError):
            pass
    elif kind is bytes:
        if len(value) < LARGE_BYTES:
            return MSGPACK, _pack(value), None, None
        return BYTES, b"", (value,), None
    elif kind is list or kind is dict:
        packed = _pack_plain(value)
        if packed is not None:
            return MSGPACK, packed, None, None
    elif kind.__name__ == "ndarray" and kind is _ndarray_type():
        found = _encode_array(value)
        if found is not None:
            return found
    data, buffers, nested, table = pickling.dumps(value)
    return PICKLE_REFS if table else PICKLE, data, buffers, nested


def _pack_plain(value: list[Any] | dict[Any, Any]) -> bytes | None:
    """Returns ``value`` as msgpack, None if decoding that would not give the same value."""
    global _packing
    # A finalizer that runs in the middle, in this thread or another, must not find the packer half full.
    pack = _pack
    if _packing:
        pack = msgpack.Packer(strict_types=True).pack
    _packing = True
    try:
        packed: bytes = pack(value)
    except (TypeError, OverflowError, ValueError, UnicodeEncodeError):
        return None
    finally:
        _packing = False
    # Bytearrays and memoryviews pass as bytes. Each such value has one of these bytes in front of it.
    if (b"\xc4" in packed or b"\xc5" in packed or b"\xc6" in packed) and not _is_plain(value):
        return None
    return packed


def _is_plain(value: list[Any] | dict[Any, Any]) -> bool:
    """Reports whether a value consists of exact plain types. msgpack has packed it, so it is a finite tree."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        kinds = set(map(type, item))
        if type(item) is dict:
            children = item.values()
            if not kinds <= _PLAIN:
                return False
            kinds = set(map(type, children))
        else:
            children = item
        if kinds <= _PLAIN:
            continue
        if not kinds <= _PLAIN | {list, dict}:
            return False
        waiting.extend(child for child in children if type(child) is list or type(child) is dict)
    return True


def _ndarray_type() -> Any:
    numpy = sys.modules.get("numpy")
    return numpy.ndarray if numpy is not None else None


def _encode_array(array: Any) -> Encoded | None:
    """Returns the envelope of an array with its memory; None if the array has objects or fields."""
    dtype = array.dtype
    if dtype.kind not in _ARRAY_KINDS or dtype.metadata or array.size == 0:
        return None
    flags = array.flags
    order, memory = "C", array
    if flags.f_contiguous and not flags.c_contiguous:
        order, memory = "F", array.T
    elif not flags.c_contiguous:
        memory = array.copy()
    if dtype.kind in "mM":
        memory = memory.view("i8")  # the buffer protocol knows no dates
    return NDARRAY, _pack([dtype.str, list(array.shape), order]), (memory,), None


def decode(triple: Triple) -> Any:
    """Returns the value in an envelope. For a format in ``ERRORS`` that is the exception object."""
    fmt, meta, buffers = triple
    if fmt == MSGPACK:
        return _unpackb(meta, strict_map_key=False)
    return DECODERS[fmt](meta, buffers)


def unpack(found: Triple) -> Any:
    """Returns the value in an envelope, or the exception in its place.

    Raises:
        RaySystemError: it cannot be unpickled here.
    """
    try:
        return decode(found)
    except Exception as problem:
        raise RaySystemError(f"the value cannot be unpickled here: {type(problem).__name__}: {problem}") from problem


Form = tuple[Any, tuple[int, ...], str, Any]
#: Cache of arrays' metadata: data type, shape, order and numpy's class. There are few forms and many arrays.
_forms: dict[bytes, Form] = {}
_MAX_FORMS = 512


def _decode_array(meta: bytes, buffers: Buffers) -> Any:
    assert buffers is not None
    dtype, shape, order, ndarray = _forms.get(meta) or form_of(meta)
    return ndarray(shape, dtype, buffers[0], 0, None, order)


def form_of(meta: bytes) -> Form:
    """Decodes the metadata of an array."""
    numpy = numpy_extra.need("a value that is an array")
    dtype, shape, order = _unpackb(meta)
    if len(_forms) >= _MAX_FORMS:
        _forms.clear()
    form = _forms[bytes(meta)] = (numpy.dtype(dtype), tuple(shape), order, numpy.ndarray)
    return form


def _decode_pickle(meta: bytes, buffers: Buffers) -> Any:
    try:
        return pickle.loads(meta, buffers=buffers or ())
    except RecursionError:
        return pickling.loads_slowly(meta, buffers)


def _decode_refs(meta: bytes, buffers: Buffers) -> Any:
    return pickling.loads(meta, buffers, True)


def _decode_error(meta: bytes, buffers: Buffers) -> RayError:
    from eagleray._private import task_error

    return task_error.decode(meta)


def _decode_fault(meta: bytes, buffers: Buffers) -> Exception:
    code, message, *task = _unpackb(meta)
    return faults.of_dependant(code, message, task[0]) if task else faults.to_exception(code, message)


def _decode_elsewhere(meta: bytes, buffers: Buffers) -> Exception:
    return fetch_error(*_unpackb(meta))


def fetch_error(object_id: bytes, owner: str, size: int, short: bytes) -> Exception:
    """Returns the exception that is the value of another object.

    Args:
        object_id: That object.
        owner: Its owner's address.
        size: Its size in bytes.
        short: A short form of the exception, for the case that the object cannot be fetched. If it is empty, the
            exception says why the object cannot be fetched.
    """
    session = process.require()
    try:
        reference = session.hot.ref_import(object_id, owner)
        found = session.hot.get(reference, -1)
    except HotError as error:
        return _decode_error(short, None) if short else explain(error)
    if found[0] == FAULT and short:
        return _decode_error(short, None)
    return cast(Exception, decode(found))


def _decode_bytes(meta: bytes, buffers: Buffers) -> bytes:
    assert buffers is not None
    return bytes(buffers[0])


DECODERS: list[Callable[[bytes, Buffers], Any]] = [
    lambda meta, buffers: None,
    lambda meta, buffers: _unpackb(meta, strict_map_key=False),
    _decode_array,
    _decode_pickle,
    _decode_error,
    _decode_bytes,
    _decode_pickle,
    lambda meta, buffers: tuple(_unpackb(meta, strict_map_key=False)),
    _decode_fault,
    _decode_refs,
    _decode_refs,
    _decode_elsewhere,
]


def raise_unserializable(value: Any, what: str, problem: Exception) -> NoReturn:
    """Raises the error for a value that cannot be pickled, naming the part that is to blame.

    Args:
        value: The whole value.
        what: The value's name in messages, as ``argument 'x' of f``.
        problem: The exception of pickling. An exception of user code (a ``__reduce__`` that raises ValueError)
            is raised as it is, with a note where Python has notes.

    Raises:
        TypeError, AttributeError, PicklingError: in all other cases, as pickle raised it, except for errors of
            eagleray.kernels about its arrays. A value that is nested too deeply is a PicklingError.
    """
    text = describe_failure(value, what, problem)
    ours = type(problem).__module__ == "eagleray.kernels.errors"
    if not ours and isinstance(problem, (TypeError, pickle.PicklingError, AttributeError, RecursionError, ImportError)):
        same = (kind for kind in (TypeError, AttributeError) if isinstance(problem, kind))
        raise next(same, pickle.PicklingError)(text) from problem
    note = getattr(problem, "add_note", None)  # from Python 3.11 on
    if note is not None:
        note(text)
    raise problem
