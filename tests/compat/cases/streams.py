"""What an ObjectRefGenerator offers, as libraries use it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from casebook import accepts, attempt, case, eventually


def three(ray: Any) -> Any:
    @ray.remote
    def items() -> Any:
        for i in range(3):
            yield i + 0

    return items.remote()


def held(ray: Any) -> tuple[Any, Any]:
    """A stream whose second item comes when the gate is opened, and the gate."""

    @ray.remote(concurrency_groups={"control": 1}, num_cpus=0)
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()

        def items(self) -> Any:
            yield 0
            self.event.wait(60)
            yield 1

        @ray.method(concurrency_group="control")
        def open(self) -> None:
            self.event.set()

    gate = Gate.remote()
    return gate.items.remote(), gate


@case
def send(ray: Any) -> None:
    stream = three(ray)
    attempt("send", lambda: stream.send(1))
    attempt("send none", lambda: stream.send(None))
    print([ray.get(ref) for ref in stream])


@case
def throw(ray: Any) -> None:
    stream = three(ray)
    attempt("throw", lambda: stream.throw(ValueError("thrown")))
    print([ray.get(ref) for ref in stream])


@case
def close(ray: Any) -> None:
    stream = three(ray)
    attempt("close", lambda: stream.close())


@case
def asynchronous_ends(ray: Any) -> None:
    async def main(stream: Any) -> None:
        for name, call in (
            ("asend", lambda: stream.asend(1)),
            ("athrow", lambda: stream.athrow(ValueError("thrown"))),
            ("aclose", lambda: stream.aclose()),
        ):
            try:
                print(name, await call())
            except Exception as error:
                print(name, type(error).__name__)

    asyncio.run(main(three(ray)))


@case
def a_generator_that_yields_from_an_iterator(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield from range(3)

    attempt("items", lambda: [ray.get(ref, timeout=30) for ref in items.remote()])


@case
def a_generator_that_yields_from_a_generator(ray: Any) -> None:
    def inner() -> Any:
        found = yield 1
        yield type(found).__name__

    @ray.remote
    def items() -> Any:
        found = yield 0
        yield type(found).__name__
        yield from inner()

    attempt("items", lambda: [ray.get(ref, timeout=30) for ref in items.remote()])


@case
def what_is_sent_to_a_generator(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        found = yield b"x" * 1_000_000
        yield type(found).__name__, found.object_creation_dur_s > 0

    @ray.remote
    class Actor:
        async def items(self) -> Any:
            found = yield b"x" * 1_000_000
            yield type(found).__name__, found.object_creation_dur_s > 0

        def plain(self) -> Any:
            found = yield b"x" * 1_000_000
            yield type(found).__name__, found.object_creation_dur_s > 0

    actor = Actor.remote()
    for stream in (items.remote(), actor.items.remote(), actor.plain.remote()):
        refs = iter(stream)
        print(len(ray.get(next(refs), timeout=30)), end=" ")
        attempt("sent", lambda refs=refs: ray.get(next(refs), timeout=30))


@case
def a_generators_return_value(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 1
        return "result"

    stream = items.remote()
    ref = next(stream)
    try:
        next(stream)
    except StopIteration as end:
        print(ray.get(ref), end.value)
    print(ray.get(stream.completed(), timeout=30))


@case
def the_kind_of_a_stream(ray: Any) -> None:
    stream = three(ray)
    print(isinstance(stream, ray.ObjectRefGenerator), iter(stream) is stream, stream.__aiter__() is stream)
    print(type(stream.completed()).__name__)


@case
def completed(ray: Any) -> None:
    stream, gate = held(ray)
    ready, _ = ray.wait([stream.completed()], timeout=0.3)
    print(len(ready), stream.is_finished())
    gate.open.remote()
    print(ray.get(stream.completed(), timeout=30))
    print([ray.get(ref) for ref in stream], stream.is_finished())


@case
def completed_of_one_that_raises(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 1
        raise KeyError("item")

    stream = items.remote()
    refs = list(stream)
    print(ray.get(refs[0]), len(refs))
    attempt("item", lambda: ray.get(refs[1]))
    attempt("completed", lambda: ray.get(stream.completed(), timeout=30))
    print(stream.is_finished())


@case
def next_ready(ray: Any) -> None:
    stream, gate = held(ray)
    print(eventually(stream.next_ready, True))
    ray.get(next(stream), timeout=30)
    print(stream.next_ready(), stream.is_finished())
    gate.open.remote()
    print(eventually(stream.next_ready, True))
    ray.get(next(stream), timeout=30)
    accepts("the end", lambda: next(stream))
    print(stream.is_finished())
    attempt("next_ready", stream.next_ready)


@case
def waiting_for_a_stream(ray: Any) -> None:
    stream, gate = held(ray)
    ready, rest = ray.wait([stream], timeout=30)
    print(ready == [stream], rest)
    next(stream)
    ready, rest = ray.wait([stream], timeout=0.3)
    print(ready, rest == [stream])
    gate.open.remote()
    ready, rest = ray.wait([stream], timeout=30)
    print(ready == [stream], rest)


@case
def next_sync(ray: Any) -> None:
    stream, gate = held(ray)
    print(ray.get(stream._next_sync(30)))
    print(stream._next_sync(0).is_nil(), stream._next_sync(0.1).is_nil())
    gate.open.remote()
    print(ray.get(stream._next_sync(30)))
    accepts("end", lambda: stream._next_sync(30))


@case
def next_sync_by_keyword(ray: Any) -> None:
    stream = three(ray)
    print(ray.get(stream._next_sync(timeout_s=30)), ray.get(stream._next_sync()))


@case
def next_async(ray: Any) -> None:
    async def main() -> None:
        stream, gate = held(ray)
        print(await (await stream._next_async(30)))
        print((await stream._next_async(timeout_s=0)).is_nil())
        gate.open.remote()
        print(await (await stream._next_async()))
        try:
            await stream._next_async(30)
        except StopAsyncIteration:
            print("end")

    asyncio.run(main())


@case
def several_references_ahead(ray: Any) -> None:
    stream = three(ray)
    ray.get(stream.completed(), timeout=30)
    ahead = stream._get_next_ref_n(2)
    print(len(ahead), ray.get(ahead))
    print([next(stream) == ref for ref in ahead])
    print(ray.get(next(stream)))


@case
def several_references_ahead_that_are_not_there(ray: Any) -> None:
    stream, gate = held(ray)
    ahead = stream._get_next_ref_n(2)
    ready, _ = ray.wait([ahead[-1]], timeout=0.5)
    print(len(ahead), len(ready))
    gate.open.remote()
    print(ray.get(ahead, timeout=30), [next(stream) == ref for ref in ahead])


@case
def references_ahead_are_consumed(ray: Any) -> None:
    stream = three(ray)
    ray.get(stream.completed(), timeout=30)
    ahead = stream._get_next_ref_n(2)
    stream._consume_next_ref_n(2)
    print(ray.get(ahead), [ray.get(ref) for ref in stream])


@case
def references_behind_the_end(ray: Any) -> None:
    stream = three(ray)
    ahead = stream._get_next_ref_n(5)
    print(ray.get(ahead[:3], timeout=30))
    attempt("fourth", lambda: ray.get(ahead[3], timeout=30))
    attempt("fifth", lambda: ray.get(ahead[4], timeout=30))
    stream._consume_next_ref_n(5)
    accepts("next", lambda: next(stream))


@case
def references_behind_the_end_of_one_that_has_ended(ray: Any) -> None:
    stream = three(ray)
    ray.get(stream.completed(), timeout=30)
    ahead = stream._get_next_ref_n(5)
    print(ray.get(ahead[:3], timeout=30))
    attempt("fourth", lambda: ray.get(ahead[3], timeout=30))
    attempt("fifth", lambda: ray.get(ahead[4], timeout=30))


@case
def references_ahead_of_one_that_raises(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 0
        raise KeyError("item")

    stream = items.remote()
    ahead = stream._get_next_ref_n(2)
    attempt("first", lambda: ray.get(ahead[0], timeout=30))
    attempt("second", lambda: ray.get(ahead[1], timeout=30))


@case
def items_that_are_not_there_are_not_consumed(ray: Any) -> None:
    stream, gate = held(ray)
    accepts("two", lambda: stream._consume_next_ref_n(2))
    gate.open.remote()
    print([ray.get(ref, timeout=30) for ref in stream])


@case
def an_exhausted_stream(ray: Any) -> None:
    stream = three(ray)
    print(stream._stream_exhausted())
    for _ in range(3):
        next(stream)
    print(eventually(stream._stream_exhausted, True))


@case
def the_id_of_the_next_item(ray: Any) -> None:
    stream = three(ray)
    found = stream._get_next_object_id_binary()
    print(type(found).__name__, next(stream).binary() == found)


@case
def wrong_numbers_of_references_ahead(ray: Any) -> None:
    for value in (0, -1, "2"):
        accepts(repr(value), lambda value=value: three(ray)._get_next_ref_n(value))
    for value in (0, -1, "2"):
        accepts(f"consumed {value!r}", lambda value=value: three(ray)._consume_next_ref_n(value))


@case
def iterated_in_a_loop(ray: Any) -> None:
    async def main() -> list[Any]:
        return [await ref async for ref in three(ray)]

    print(asyncio.run(main()))


@case
def anext_at_the_end(ray: Any) -> None:
    async def main() -> None:
        stream = three(ray)
        print([await (await stream.__anext__()) for _ in range(3)])
        try:
            await stream.__anext__()
        except StopAsyncIteration:
            print("end")

    asyncio.run(main())


@case
def an_object_with_the_methods_of_a_generator(ray: Any) -> None:
    import collections.abc

    class Items(collections.abc.Generator):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.sent: list[Any] = []

        def send(self, value: Any) -> Any:
            self.sent.append(value)
            if len(self.sent) > 3:
                raise StopIteration
            return len(self.sent), value

        def throw(self, *args: Any) -> Any:
            raise StopIteration

    @ray.remote
    class Actor:
        def items(self) -> Any:
            return Items()

    accepts("made", lambda: Actor.remote().items.options(num_returns="streaming").remote())


@case
def an_iterator_that_is_no_generator(ray: Any) -> None:
    accepts("decorated", lambda: ray.remote(num_returns="streaming")(lambda: iter([1, 2])))


@case
def a_stream_that_returns_a_list(ray: Any) -> None:
    @ray.remote
    class Actor:
        def items(self) -> Any:
            return [1, 2]

    actor = Actor.remote()
    accepts("made", lambda: actor.items.options(num_returns="streaming").remote())


@case
def a_stream_is_let_go_early(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.made = 0

        def items(self) -> Any:
            for i in range(3):
                self.made += 1
                yield i

        def count(self) -> int:
            return self.made

    actor = Actor.remote()
    stream = actor.items.remote()
    ray.get(stream.completed(), timeout=30)
    ref = next(stream)
    del stream
    print(ray.get(ref, timeout=30), ray.get(actor.count.remote(), timeout=30))


@case
def a_cancelled_stream(ray: Any) -> None:
    @ray.remote
    def items() -> Any:
        yield 0
        threading.Event().wait(60)
        yield 1

    stream = items.remote()
    print(ray.get(next(stream), timeout=30))
    ray.cancel(stream)
    attempt("next", lambda: ray.get(next(stream), timeout=30))


@case
def streams_are_not_copied(ray: Any) -> None:
    import copy
    import pickle

    stream = three(ray)
    accepts("copy", lambda: copy.copy(stream))
    accepts("pickle", lambda: pickle.dumps(stream))
    accepts("put", lambda: ray.put(stream))
    accepts("get", lambda: ray.get(stream))
