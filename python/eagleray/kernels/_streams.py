"""Streams and events."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from eagleray.kernels import _devices
from eagleray.kernels import _native as native
from eagleray.kernels.errors import ClosedError


class _Current(threading.local):
    """The streams that this thread is inside of, the innermost last."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []


_current = _Current()


class Stream:
    """An order of work on a device: work on one stream runs in order, work on two may overlap.

    Inside ``with stream:`` the operations of this thread on the stream's device are queued on it. What they make
    stays bound to it: later operations on it are queued there too. Reading results (``numpy``, ``item``) waits.
    On the host all work is done at once, and streams order nothing.

    Args:
        device: ``"cpu"``, ``"cuda"``, ``"cuda:N"``; None is ``default_device()``.

    Raises:
        DeviceError: there is no such device.
    """

    def __init__(self, device: Any = None) -> None:
        self._index = _devices.index_of(device)
        self._handle: Any = native.load().stream(native.STREAM_NEW, self._index, None, None)
        self._closed = False

    @property
    def device(self) -> str:
        """The stream's device."""
        return _devices.name_of(self._index)

    @property
    def native(self) -> int:
        """The driver's handle (CUstream), for other libraries; 0 on the host."""
        return int(self._do(native.STREAM_NATIVE))

    def synchronize(self) -> None:
        """Waits for the work that was queued."""
        self._do(native.STREAM_SYNC)

    def record(self) -> Event:
        """The point that the stream's work has reached."""
        self._check()
        return Event(self)

    def wait(self, event: Event) -> None:
        """Makes later work on this stream wait for the event, without waiting here."""
        if not isinstance(event, Event):
            raise TypeError(f"wait() takes an Event, got {event!r}")
        self._do(native.STREAM_WAIT, event._handle)

    def close(self) -> None:
        """Gives the stream up when its work is done; its arrays go on on the device's own. Twice does no harm."""
        self._closed = True
        native.load().stream(native.STREAM_CLOSE, 0, self._handle, None)

    def __enter__(self) -> Stream:
        self._check()
        _current.streams.append(self)
        native.load().set_stream(self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.streams.pop()
        native.load().set_stream(_current.streams[-1]._handle if _current.streams else None)

    def __repr__(self) -> str:
        return f"Stream(device={self.device!r}{', closed' if self._closed else ''})"

    def __reduce__(self) -> Any:
        raise TypeError("a stream belongs to its process: make one where it is used")

    def _check(self) -> None:
        if self._closed:
            raise ClosedError("the stream was closed: nothing can be done with it")

    def _do(self, what: int, other: Any = None) -> float:
        self._check()
        answer: float = native.load().stream(what, self._index, self._handle, other)
        return answer


class Event:
    """A point in a stream's work, recorded when it is made.

    Args:
        stream: None is this thread's current stream, or else the default device's own.
    """

    def __init__(self, stream: Stream | None = None) -> None:
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"an Event is recorded on a Stream, got {stream!r}")
        chosen = stream or current_stream()
        if chosen is not None:
            chosen._check()
        index = chosen._index if chosen is not None else _devices.default_index()
        handle = chosen._handle if chosen is not None else None
        self._handle: Any = native.load().stream(native.EVENT_RECORD, index, handle, None)

    def synchronize(self) -> None:
        """Waits for the work before it."""
        native.load().stream(native.EVENT_SYNC, 0, self._handle, None)

    @property
    def done(self) -> bool:
        """Whether the work before it is done."""
        return bool(native.load().stream(native.EVENT_DONE, 0, self._handle, None))

    def since(self, earlier: Event) -> float:
        """Milliseconds from an earlier event of the same device; both have to be done."""
        if not isinstance(earlier, Event):
            raise TypeError(f"since() takes an Event, got {earlier!r}")
        return float(native.load().stream(native.EVENT_SINCE, 0, self._handle, earlier._handle))

    def __reduce__(self) -> Any:
        raise TypeError("an event belongs to its process: record one where it is used")

    def close(self) -> None:
        """Gives it up. Twice does no harm."""
        native.load().stream(native.EVENT_CLOSE, 0, self._handle, None)


def current_stream() -> Stream | None:
    """The stream of the innermost ``with`` of this thread; None is each device's own."""
    return _current.streams[-1] if _current.streams else None


def synchronize(device: Any = None) -> None:
    """Waits for all work on the device, or on the default one.

    Raises:
        DeviceError: there is no such device, or its work failed.
    """
    native.load().stream(native.DEVICE_SYNC, _devices.index_of(device), None, None)


def native_of_current(index: int | None = None) -> int:
    """The handle by which protocols name the stream in force: 1 is CUDA's default stream."""
    stream = current_stream()
    if stream is None or stream._index < 0 or (index is not None and stream._index != index):
        return 1
    return stream.native or 1


def before_export(index: int) -> None:
    """Sees to it that a consumer on any stream finds finished elements."""
    native.load().stream(native.DEVICE_SYNC, index, None, None)


def wait_for_native(index: int, handle: int) -> None:
    """Waits for the work of another library's stream; its handle is no stream of ours, so for the device's."""
    if handle != native_of_current(index):
        native.load().stream(native.DEVICE_SYNC, index, None, None)
