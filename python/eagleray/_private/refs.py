"""``ObjectRef``. Importing this module loads the Go core: the class extends one of the C extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eagleray._private import native
from eagleray._private.hot_error import HotError, explain
from eagleray._private.ids import JobID, TaskID
from eagleray._private.state import process
from eagleray._private.values import device_arrays, pickling

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

    class _Ref:
        """What the C extension's class provides."""

        def binary(self) -> bytes: ...

else:
    _Ref = native.hot().Ref

R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)
_SIZE = 28


class ObjectRef(_Ref, Generic[T_co]):
    """A reference to a value that exists, or will, somewhere in the cluster.

    ``get(ref)`` or ``await ref`` gives the value. The value lives at least as long as references to it do.
    """

    __slots__ = ()

    if not TYPE_CHECKING:

        def __new__(cls, id: bytes, owner_addr: str = "", call_site_data: str = "") -> ObjectRef:
            return from_binary(id, owner_addr) if owner_addr else bare_ref(id)

    def hex(self) -> str:
        """The id in hex: 56 digits."""
        return self.binary().hex()

    def task_id(self) -> TaskID:
        """The task that makes the value."""
        return TaskID(self.binary()[:24])

    def job_id(self) -> JobID:
        """The job of that task."""
        return JobID(self.binary()[20:24])

    def is_nil(self) -> bool:
        """Whether this refers to nothing."""
        return self.binary() == b"\xff" * _SIZE

    def size(self) -> int:
        """The length of the id in bytes."""
        return _SIZE

    def owner_address(self) -> str:
        """The address of the owner: its id, in hexadecimal digits."""
        try:
            return str(process.require().hot.ref_export(self)[1])
        except HotError as error:
            raise explain(error) from None

    def call_site(self) -> str:
        """The line at which the program made the reference, or got it: ``(put object) | file:function:line``.

        Empty for references of no session, and with ``RAY_record_ref_creation_sites=0``.
        """
        session = process.session
        return "" if session is None else str(session.hot.ref_site(self))

    def tensor_transport(self) -> None:
        """How tensors inside travel; always through the object store."""
        return None

    @classmethod
    def nil(cls) -> ObjectRef[Any]:
        """The reference to nothing."""
        return bare_ref(b"\xff" * _SIZE)

    @classmethod
    def from_hex(cls, hex_id: str | bytes) -> ObjectRef[Any]:
        """The reference with this id."""
        return bare_ref(bytes.fromhex(hex_id if isinstance(hex_id, str) else hex_id.decode()))

    @classmethod
    def from_binary(cls, id_bytes: bytes) -> ObjectRef[Any]:
        """The reference with these bytes."""
        return bare_ref(id_bytes)

    @classmethod
    def from_random(cls) -> ObjectRef[Any]:
        """A reference to nothing that exists."""
        return bare_ref(os.urandom(24) + bytes(4))

    def future(self) -> concurrent.futures.Future[T_co]:
        """A future for threads."""
        from eagleray._private.values import asynchronous

        return asynchronous.thread_future(self)

    def as_future(self, _internal: bool = False) -> asyncio.Future[T_co]:
        """A future of the running event loop; where none runs, of the one that ``asyncio.get_event_loop()`` gives."""
        from eagleray._private.values import asynchronous

        return asynchronous.loop_future(self)

    def _on_completed(self, py_callback: Callable[[Any], None]) -> ObjectRef[T_co]:
        """Calls ``py_callback`` on a thread with the value when it is there, or with the exception of the task."""
        from eagleray._private.values import callbacks

        callbacks.on_completed(self, py_callback)
        return self

    def _on_ready(self, py_callback: Callable[[BaseException | None], None]) -> Callable[[], None]:
        """Calls ``py_callback`` on a thread with None when the value is there; it is not fetched.

        Returns:
            A function that ends the wait: ``py_callback`` gets an exception then.
        """
        from eagleray._private.values import callbacks

        return callbacks.on_ready(self, py_callback)

    async def _ready(self) -> ObjectRef[T_co]:
        """Waits until the value is there, without fetching it, and returns this reference."""
        from eagleray._private.values import asynchronous

        await asynchronous.ready_future(self)
        return self

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.as_future().__await__()

    def __repr__(self) -> str:
        return f"ObjectRef({self.binary().hex()})"

    __str__ = __repr__

    def __copy__(self) -> ObjectRef[T_co]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ObjectRef[T_co]:
        return self

    def __reduce__(self) -> Any:
        return from_binary, pickling.export_ref(self)


#: The name that Ray gave the class before it had owners.
ObjectID = ObjectRef


def _name_next() -> Any:
    """The C function that gives the next reference of a value; pickles find it in this module by its name."""
    function = native.hot().next_ref
    function.__module__ = __name__
    return function


next_ref = _name_next()
device_arrays.References.kind, device_arrays.References.taken = ObjectRef, (next_ref, ())


def from_binary(id_bytes: bytes, owner_addr: str) -> ObjectRef[Any]:
    """A reference that came from elsewhere, counted here from now on."""
    try:
        ref: ObjectRef[Any] = process.require().hot.ref_import(id_bytes, owner_addr)
    except HotError as error:
        raise explain(error) from None
    pickling.arrived(ref)
    return ref


def bare_ref(id_bytes: bytes) -> ObjectRef[Any]:
    """A reference that only names an object: it does not keep it alive."""
    if not isinstance(id_bytes, bytes):
        raise TypeError(f"an ObjectRef's id is bytes, got {type(id_bytes).__name__}: {id_bytes!r}")
    if len(id_bytes) != _SIZE:
        raise ValueError(f"an ObjectRef's id has {_SIZE} bytes, got {id_bytes!r}")
    ref: ObjectRef[Any] = native.hot().ref_bare(id_bytes)
    return ref
