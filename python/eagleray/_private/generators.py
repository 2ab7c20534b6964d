"""The result of a generator call: it gives references, one after the other, while the generator runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeVar

from eagleray._private.hot_error import HotError, explain
from eagleray._private.refs import ObjectRef, from_binary

T = TypeVar("T")
_ITEM, _FAILED, _END = 1, 2, 3  # of stream_state
_SIZE = 28


class ObjectRefGenerator(Generic[T]):
    """The results of a generator that runs elsewhere, as references in the order in which it yields them.

    ``for ref in gen`` and ``async for ref in gen`` wait for each item to be there. An exception that the generator
    raises is its last item: ``get`` of that reference raises it. When the program lets go of this object before the
    end, the generator is closed.
    """

    __slots__ = ("__weakref__", "_generator_ref", "_hot")

    def __init__(self, generator_ref: ObjectRef[Any], hot: Any) -> None:
        self._generator_ref = generator_ref
        self._hot = hot

    def __iter__(self) -> Iterator[ObjectRef[T]]:
        return self

    def __next__(self) -> ObjectRef[T]:
        """The reference to the next item, which is there.

        Raises:
            StopIteration: there are no more.
        """
        try:
            ref = self._hot.stream_next(self._generator_ref, -1)
        except HotError as error:
            raise explain(error) from None
        if ref is False:
            raise StopIteration
        return ref  # type: ignore[no-any-return]

    def __aiter__(self) -> ObjectRefGenerator[T]:
        return self

    async def __anext__(self) -> ObjectRef[T]:
        """Like ``__next__``, for event loops.

        Raises:
            StopAsyncIteration: there are no more.
        """
        return await self._next_async()

    def completed(self) -> ObjectRef[Any]:
        """A reference that is ready when the generator has ended; ``get`` raises if it was cancelled or lost."""
        return self._generator_ref

    def next_ready(self) -> bool:
        """Whether ``next`` would give an item at once."""
        return self._state() in (_ITEM, _FAILED)

    def is_finished(self) -> bool:
        """Whether ``next`` would raise StopIteration at once."""
        return self._state() == _END

    def send(self, value: Any) -> NoReturn:
        """Not possible: the generator runs elsewhere."""
        _impossible("send")

    def throw(self, value: Any) -> NoReturn:
        """Not possible: the generator runs elsewhere."""
        _impossible("throw")

    def close(self) -> NoReturn:
        """Not possible, as in Ray: let go of the object instead, or cancel it."""
        _impossible("close")

    async def asend(self, value: Any) -> NoReturn:
        """Not possible: the generator runs elsewhere."""
        _impossible("asend")

    async def athrow(self, value: Any) -> NoReturn:
        """Not possible: the generator runs elsewhere."""
        _impossible("athrow")

    async def aclose(self) -> NoReturn:
        """Not possible, as in Ray: let go of the object instead, or cancel it."""
        _impossible("aclose")

    def _state(self) -> int:
        try:
            state: int = self._hot.stream_state(self._generator_ref)
        except HotError as error:
            raise explain(error) from None
        return state

    def _peek(self) -> ObjectRef[Any]:
        """A reference that becomes ready when ``next`` would not wait."""
        try:
            ref: ObjectRef[Any] = self._hot.stream_peek(self._generator_ref)
        except HotError as error:
            raise explain(error) from None
        return ref

    def _get_next_ref_n(self, num_refs: int) -> list[ObjectRef[T]]:
        """References to the next ``num_refs`` items, which need not be there. None of them is taken.

        Where the generator ends before, ``get`` of the reference raises ObjectRefStreamEndOfStreamError, or the error
        of the generator's task.
        """
        try:
            return [self._hot.stream_ahead(self._generator_ref, number) for number in range(_positive(num_refs))]
        except HotError as error:
            raise explain(error) from None

    def _consume_next_ref_n(self, num_refs: int) -> None:
        """Takes the next ``num_refs`` items, which are there, or fewer where the generator ends before.

        Raises:
            ValueError: one of the items is not there. None was taken.
        """
        if not self._hot.ready(self._get_next_ref_n(num_refs)[-1]):
            raise ValueError(
                f"_consume_next_ref_n({num_refs}): not all of these items are there. Wait for the last reference that "
                "_get_next_ref_n() gives"
            )
        try:
            for _ in range(num_refs):
                if not self._hot.stream_next(self._generator_ref, 0):
                    return
        except HotError as error:
            raise explain(error) from None

    def _get_next_object_id_binary(self) -> bytes:
        """The bytes of the id of the next item."""
        return self._get_next_ref_n(1)[0].binary()

    def _stream_exhausted(self) -> bool:
        """Whether all items were taken and no more come. An error of the generator may still be to be told."""
        return self._state() in (_FAILED, _END)

    def _next_sync(self, timeout_s: float | None = None) -> ObjectRef[T]:
        """The next reference, or the one to nothing when the time passes."""
        ms = -1 if timeout_s is None or timeout_s < 0 else round(timeout_s * 1000)
        try:
            ref = self._hot.stream_next(self._generator_ref, ms)
        except HotError as error:
            raise explain(error) from None
        if ref is False:
            raise StopIteration
        return ObjectRef.nil() if ref is None else ref

    async def _next_async(self, timeout_s: float | None = None) -> ObjectRef[T]:
        import asyncio

        from eagleray._private.values.asynchronous import ready_future

        while True:
            try:
                ref = self._hot.stream_next(self._generator_ref, 0)
            except HotError as error:
                raise explain(error) from None
            if ref is False:
                raise StopAsyncIteration
            if ref is not None:
                return ref  # type: ignore[no-any-return]
            ready = ready_future(self._peek())
            if timeout_s is None or timeout_s < 0:
                await ready
                continue
            try:
                await asyncio.wait_for(ready, timeout_s)
            except asyncio.TimeoutError:
                return ObjectRef.nil()

    def __del__(self) -> None:
        hot = getattr(self, "_hot", None)
        if hot is not None:
            hot.stream_drop(self._generator_ref)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "An ObjectRefGenerator cannot be pickled: it cannot be passed to a task, returned from one or put. "
            "Pass the references that it gives, or num_returns='dynamic', whose result is a value."
        )


def _positive(number: int) -> int:
    if number <= 0:
        raise ValueError(f"num_refs must be a positive number, got {number!r}")
    return number


def _impossible(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}() of an ObjectRefGenerator: the generator runs in another process and can only be read or closed"
    )


def reading(submit: Callable[..., Any], hot: Any) -> Callable[..., ObjectRefGenerator[Any]]:
    """A submitting function whose calls return what the generator yields."""

    def submit_stream(*args: Any) -> ObjectRefGenerator[Any]:
        return ObjectRefGenerator(submit(*args), hot)

    return submit_stream


class DynamicObjectRefGenerator:
    """The value of a call with ``num_returns="dynamic"``: references to everything that the generator yielded."""

    def __init__(self, refs: Iterable[ObjectRef[Any]]) -> None:
        self._refs = deque(refs)

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        while self._refs:
            yield self._refs.popleft()

    def __len__(self) -> int:
        return len(self._refs)


def rebuild(ids: bytes, owner_addr: str) -> DynamicObjectRefGenerator:
    """The value that a worker made of its items' ids."""
    return DynamicObjectRefGenerator(from_binary(ids[at : at + _SIZE], owner_addr) for at in range(0, len(ids), _SIZE))
