"""Values with references inside: which comes where, how long each is kept, whatever the shape of the value."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import cloudpickle
import msgpack
import pytest
from pace import becomes

MANY = 200


def table() -> tuple[int, int]:
    """How many objects this process owns, and how many it borrows."""
    from eagleray._private.state import process

    gc.collect()
    found = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))
    return found["owned"], found["borrowed"]


def settles(owned: int, borrowed: int) -> None:
    becomes(table, (owned, borrowed))


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    settles(0, 0)
    yield
    settles(0, 0)


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


class Inner:
    """Carries one reference in bytes that it pickles itself, and one beside them."""

    def __init__(self, hidden: Any, beside: Any) -> None:
        self.hidden, self.beside = hidden, beside

    def __reduce__(self) -> Any:
        return unwrap, (pickle.dumps(self.hidden), self.beside, cloudpickle.dumps([self.beside]))


def unwrap(hidden: bytes, beside: Any, again: bytes) -> Inner:
    assert pickle.loads(again) == [beside]
    return Inner(pickle.loads(hidden), beside)


class Gets:
    """Gets a value with references of its own while it is unpickled."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref

    def __setstate__(self, state: Any) -> None:
        import eagleray

        self.ref = state["ref"]
        self.found = eagleray.get(eagleray.get(self.ref))


class Refuses:
    def __reduce__(self) -> Any:
        return refuse, ()


def refuse() -> None:
    raise OSError("not today")


def test_each_comes_in_its_place(ray: Any) -> None:
    refs = [ray.put(i) for i in range(MANY)]
    value = {
        "list": refs[:50],
        "tuple": tuple(refs[50:60]),
        "keys": {ref: i for i, ref in enumerate(refs[60:70])},
        "set": set(refs[70:80]),
        "pairs": [Pair(i, refs[80 + i]) for i in range(20)],
        "inner": Inner(refs[100], refs[101]),
        "function": lambda: refs[102],
        "more": refs[103:],
    }
    for found in (ray.get(ray.put(value)), ray.get(ray.remote(lambda x: x).remote(value))):
        assert found["list"] == refs[:50] and found["tuple"] == tuple(refs[50:60])
        assert found["keys"] == value["keys"] and found["set"] == set(refs[70:80])
        assert [(pair.left, pair.right) for pair in found["pairs"]] == [(i, refs[80 + i]) for i in range(20)]
        assert (found["inner"].hidden, found["inner"].beside) == (refs[100], refs[101])
        assert found["function"]() == refs[102] and found["more"] == refs[103:]
        assert ray.get(found["list"]) == list(range(50))
        del found
    from eagleray._private.state import process

    process.require().pinned.clear()  # Inner's own pickling keeps references for the session


def test_the_same_object_twice_is_one_object(ray: Any) -> None:
    ref = ray.put(1)
    a, b, (c,) = ray.get(ray.put([ref, ref, {ref: 1}]))
    assert a is b and b is c and a == ref
    other = ray.get(ray.put([ref]))[0]
    d, e = ray.get(ray.put([ref, other]))
    assert d == e == ref


def test_what_is_taken_out_stays_and_what_is_not_goes(ray: Any) -> None:
    box = ray.put([ray.put(i) for i in range(MANY)])
    settles(MANY + 1, 0)
    values = ray.get(box)
    del box
    settles(MANY, 0)
    kept = values[::50]
    del values
    settles(4, 0)
    assert ray.get(kept) == list(range(0, MANY, 50))
    while kept:
        kept.pop()
        settles(len(kept), 0)


def test_others_references(ray: Any) -> None:
    """The task owns what the value contains; we borrow it, through each look at it and between them."""
    box = ray.remote(lambda: [ray.put(i) for i in range(MANY)]).remote()
    for _ in range(3):
        values = ray.get(box)
        assert ray.get(values) == list(range(MANY))
        del values
    values = ray.get(box)[: MANY // 2]
    settles(1, MANY)
    del box
    settles(0, MANY // 2)
    assert ray.get(ray.remote(sum_of).remote(values)) == sum(range(MANY // 2))


def sum_of(refs: Any) -> int:
    import eagleray

    return sum(eagleray.get(list(refs)))


def test_of_several_owners(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Owner:
        def make(self, first: int) -> Any:
            return [ray.put(first + i) for i in range(10)]

    actors = [Owner.remote() for _ in range(3)]
    mixed = [ref for i, actor in enumerate(actors) for ref in ray.get(actor.make.remote(10 * i))]
    mixed += [ray.put(30 + i) for i in range(10)]
    mixed = mixed[::2] + mixed[1::2]
    assert ray.get(ray.remote(sum_of).remote(mixed)) == sum(range(40))
    found = ray.get(ray.put(tuple(mixed)))
    assert found == tuple(mixed) and ray.get(list(found)) == [*range(0, 40, 2), *range(1, 40, 2)]


def test_get_while_a_value_is_unpickled(ray: Any) -> None:
    inner = ray.put([ray.put(1), ray.put(2)])
    value = ray.get(ray.put([ray.put(0), Gets(inner), inner, ray.put(3)]))
    assert value[1].found == [1, 2] and value[2] == inner and ray.get([value[0], value[3]]) == [0, 3]


def test_a_value_that_cannot_be_unpickled_keeps_nothing(ray: Any) -> None:
    refs = [ray.put(i) for i in range(10)]
    box = ray.put([refs[:5], Refuses(), refs[5:]])
    for _ in range(3):
        with pytest.raises(ray.exceptions.RaySystemError, match="not today"):
            ray.get(box)
    del refs
    settles(11, 0)
    del box
    settles(0, 0)


def test_threads_take_from_their_own_values(ray: Any) -> None:
    boxes = [ray.put([ray.put((i, j)) for j in range(50)]) for i in range(4)]
    wrong: list[Any] = []

    def look(i: int) -> None:
        for _ in range(30):
            found = ray.get(ray.get(boxes[i]))
            if found != [(i, j) for j in range(50)]:
                wrong.append((i, found))

    threads = [threading.Thread(target=look, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_actor_keeps_some_and_gives_others_back(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Keeper:
        def __init__(self) -> None:
            self.kept: list[Any] = []

        def take(self, refs: Any) -> int:
            self.kept = refs[::10]
            return len(self.kept)

        def read(self) -> int:
            return sum(ray.get(self.kept))

        def drop(self) -> None:
            self.kept.clear()

    keeper = Keeper.remote()
    refs = [ray.put(i) for i in range(MANY)]
    assert ray.get(keeper.take.remote(refs)) == MANY // 10
    del refs
    settles(MANY // 10 + 1, 0)  # and the actor's handle
    assert ray.get(keeper.read.remote()) == sum(range(0, MANY, 10))
    ray.get(keeper.drop.remote())
    settles(1, 0)


def test_a_borrower_of_the_value_keeps_what_is_inside_while_it_has_that(ray: Any) -> None:
    """Else each look at a large value would borrow all of it anew."""
    many = 3000

    @ray.remote(num_cpus=0)
    class Reader:
        def __init__(self, box: Any) -> None:
            self.box = box[0]
            self.kept: Any = None

        def look(self) -> Any:
            from eagleray._private.state import process

            for _ in range(3):
                assert len(ray.get(self.box)) == many
            query = msgpack.packb({"here": True})
            while msgpack.unpackb(process.require().hot.rpc("footprint", query, 5000))["n_ref_batches"] > 1:
                time.sleep(0.01)  # until the core has heard of all that went; one came with the box
            return self.table(many + 1)

        def keep(self) -> Any:
            self.kept = ray.get(self.box)[7]
            self.box = None
            found = self.table(1)
            return found, ray.get(self.kept)

        def table(self, borrowed: int) -> Any:
            from eagleray._private.state import process

            end = time.monotonic() + 60
            while True:
                found = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))["borrowed"]
                if found == borrowed or time.monotonic() > end:
                    return found
                time.sleep(0.01)

    reader = Reader.remote([ray.put([ray.put(i) for i in range(many)])])
    assert ray.get(reader.look.remote()) == many + 1
    assert ray.get(reader.keep.remote()) == (1, 7)
    settles(1 + 1, 0)  # what it kept, and its handle
    del reader


def test_only_a_pickle_of_the_sessions_takes_references(ray: Any) -> None:
    from eagleray._private import refs

    with pytest.raises(RuntimeError, match="more references than were sent"):
        refs.next_ref()
    bare_ref = ray.ObjectRef(b"\1" * 28)
    with pytest.raises(Exception, match="not known here"):
        ray.put([bare_ref])
