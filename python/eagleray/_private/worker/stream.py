"""The worker's end of a generator: it runs the generator and sends each item as soon as it is yielded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

from eagleray._private.values.formats import NONE_RESULT, PICKLE, Encoded
from eagleray._private.values.serialization import encode, raise_unserializable
from eagleray._private.worker import sent
from eagleray._private.worker.interruption import Cancelled

#: The reply's flag: the results are the exception, which is the last item, and the generator's own value.
LAST_ITEM = 16
_FULL, _CLOSED = 1, 2  # states of feed_item; beyond: cancelled


class _Closed(BaseException):
    """Nobody wants more of the items."""


class Producer:
    """Runs one generator.

    Args:
        hot: The core.
        token: The call.
        num_returns: Negative; what the core says of generators.
        name: What ran, for messages.
        task_id: Of the call.
    """

    def __init__(self, hot: Any, token: int, num_returns: int, name: str, task_id: bytes) -> None:
        self.hot = hot
        self.token = token
        self.name = name
        self.task_id = task_id
        self.each = (-num_returns - 1) // 2 + 1
        self.dynamic = num_returns % 2 == 0
        self.count = 0
        self.started = False

    def run(self, values: Any) -> tuple[Encoded, ...]:
        """Sends what the generator yields until it ends.

        Returns:
            The results of the call itself.
        """
        if not hasattr(values, "__next__"):
            if hasattr(values, "__anext__"):
                return asyncio.run(self.run_async(values))
            raise self._no_generator(values)
        self.started = True
        item, token, each = self.hot.feed_item, self.token, self.each
        try:
            if sent.is_wanted(values):
                value = next(values)
                while True:  # ended by StopIteration; here and not in a method, which tracebacks would show
                    begun = perf_counter()
                    self._send_all(value)
                    stats = sent.StreamingGeneratorStats(perf_counter() - begun)
                    value = values.send(stats) if sent.is_taken(values) else next(values)
            for value in values:
                if each != 1:
                    self._send_all(value)
                    continue
                try:
                    encoded = encode(value)
                except Exception as problem:
                    raise_unserializable(value, f"item {self.count} of {self.name}", problem)
                state = item(token, *encoded, 0)
                self.count += 1
                if state:
                    self._pause(state)
        except (_Closed, StopIteration):
            pass
        finally:
            close = getattr(values, "close", None)
            if close is not None:
                close()
        return self.answer()

    async def run_async(self, values: Any) -> tuple[Encoded, ...]:
        """The same in an event loop, which goes on meanwhile."""
        asynchronous = hasattr(values, "__anext__")
        if not asynchronous and not hasattr(values, "__next__"):
            raise self._no_generator(values)
        self.started = True
        try:
            if asynchronous:
                if sent.is_wanted(values):
                    value = await anext(values)
                    while True:
                        begun = perf_counter()
                        await self._send_async(value)
                        value = await values.asend(sent.StreamingGeneratorStats(perf_counter() - begun))
                async for value in values:
                    await self._send_async(value)
            elif sent.is_wanted(values):
                value = next(values)
                while True:
                    begun = perf_counter()
                    await self._send_async(value)
                    stats = sent.StreamingGeneratorStats(perf_counter() - begun)
                    await asyncio.sleep(0)  # other calls have their turn
                    value = values.send(stats) if sent.is_taken(values) else next(values)
            else:
                for value in values:
                    await self._send_async(value)
                    await asyncio.sleep(0)  # other calls have their turn
        except (_Closed, StopIteration, StopAsyncIteration):
            pass
        finally:
            if asynchronous:
                await values.aclose()
            elif hasattr(values, "close"):
                values.close()
        return self.answer()

    def _no_generator(self, value: Any) -> ValueError:
        return ValueError(f"{self.name} streams its results, so it must return a generator, not {type(value).__name__}")

    def _send(self, value: Any) -> int:
        try:
            encoded = encode(value)
        except Exception as problem:
            raise_unserializable(value, f"item {self.count} of {self.name}", problem)
        state: int = self.hot.feed_item(self.token, *encoded, 0)
        self.count += 1
        return state

    def _send_all(self, values: Any) -> None:
        for value in (values,) if self.each == 1 else self._parts(values):
            state = self._send(value)
            if state:
                self._pause(state)

    async def _send_async(self, value: Any) -> None:
        for part in (value,) if self.each == 1 else self._parts(value):
            state = self._send(part)
            if state == _FULL:
                from eagleray._private.values.asynchronous import room_future

                while state == _FULL:
                    state, room = room_future(self.token)
                    if state == _FULL:
                        await room
            if state:
                self._stop(state)

    def _parts(self, values: Any) -> Sequence[Any]:
        """What one yield gives when it gives several items."""
        wanted = self.each
        if not isinstance(values, (tuple, list)):
            raise ValueError(
                f"{self.name} has _num_objects_per_yield={wanted}: it must yield a tuple or list of length {wanted}, "
                f"not {type(values).__name__}"
            )
        if len(values) != wanted:
            raise ValueError(f"{self.name} yielded {len(values)} objects, but _num_objects_per_yield={wanted}")
        return values

    def _pause(self, state: int) -> None:
        """Waits until the generator may go on."""
        if state == _FULL:
            state = self.hot.feed_room(self.token)
        if state:
            self._stop(state)

    def _stop(self, state: int) -> None:
        if state == _CLOSED:
            raise _Closed
        raise Cancelled

    def answer(self) -> tuple[Encoded, ...]:
        """The results of the call itself: nothing, or the list of the items."""
        return (self._list(range(self.count)),) if self.dynamic else (NONE_RESULT,)

    def failed(self, error: BaseException, results: tuple[Encoded, ...], flags: int) -> tuple[tuple[Encoded, ...], int]:
        """The results and flags when the generator raised: the exception is its last item, unless it was cancelled."""
        if not self.started or isinstance(error, KeyboardInterrupt):
            return results, flags
        own = NONE_RESULT
        if self.dynamic:
            # The caller may have more items, of a run before this one that ended with its worker. The exception
            # follows those, but they are no part of the list: this run has not yielded them.
            own = self._list((*range(self.count), self.hot.feed_raises(self.token)))
        return (*results, own), flags | LAST_ITEM

    def _list(self, indices: Iterable[int]) -> Encoded:
        import pickle

        first, rest = int.from_bytes(self.task_id[:8], "big"), self.task_id[8:]
        ids = [(first + 1 + index).to_bytes(8, "big") + rest + (index + 2).to_bytes(4, "big") for index in indices]
        value = pickle.dumps(_List(b"".join(ids), self.hot.feed_owner(self.token)), 5)
        return (PICKLE, value, None, tuple(self.hot.ref_bare(one) for one in ids))


class _List:
    """Pickles as the list of references to the items, which this process does not hold."""

    def __init__(self, ids: bytes, owner_addr: str) -> None:
        self.ids = ids
        self.owner_addr = owner_addr

    def __reduce__(self) -> Any:
        from eagleray._private.generators import rebuild

        return rebuild, (self.ids, self.owner_addr)
