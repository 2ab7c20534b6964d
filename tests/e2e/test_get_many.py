"""``get`` of a list: every kind of value as by itself, values that are lent, errors and what is not there yet."""

from __future__ import annotations

import gc
import math
import threading
import time
from typing import Any

import eagleray
import msgpack
import numpy as np
import pytest
from pace import PATIENCE_S, becomes

MANY = 300
VALUES: list[Any] = [
    None, True, False, 0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, -1, -32, -33,
    -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1, 0.0, -0.0, 1.5, math.inf, -math.inf, "",
    "a", "ü" * 15, "x" * 31, "x" * 32, "x" * 254, "x" * 300, "\ud800", "x" * 70_000, b"", b"ab",
    b"x" * 5000, (), (1, 2), [], [1, [2]], {}, {"a": [1]}, {1, 2}, 3 + 4j, range(5),
]  # fmt: skip


def lent() -> int:
    from eagleray._private.state import process

    gc.collect()
    return int(msgpack.unpackb(process.require().hot.rpc("footprint", msgpack.packb({"here": True}), 5000))["n_loans"])


def settles(want: int) -> None:
    becomes(lent, want)


def test_each_value_as_by_itself(ray: Any) -> None:
    refs = [ray.put(value) for value in VALUES]
    for found in (ray.get(refs), [ray.get(ref) for ref in refs], ray.get([ray.remote(echo).remote(r) for r in refs])):
        for value, got in zip(VALUES, found, strict=True):
            assert type(got) is type(value) and got == value, value
            assert not isinstance(value, float) or math.copysign(1, got) == math.copysign(1, value)
    assert math.isnan(ray.get([ray.put(math.nan)])[0])


def echo(value: Any) -> Any:
    return value


@pytest.mark.parametrize("size", [1, 4000, 5000, 99_000, 200_000])
def test_arrays_of_every_form(ray: Any, size: int) -> None:
    base = np.arange(size, dtype=np.uint8)
    arrays = [
        base, base[::-1], base.astype("f8"), base.astype("M8[s]"), base.reshape(1, -1),
        np.asfortranarray(base.reshape(-1, 1)), np.asfortranarray(np.ones((3, size))), base.astype("S3"),
        base.astype("U2"), base.astype("c16"), base > 3,
    ]  # fmt: skip
    refs = [ray.put(array) for array in arrays]
    for found in (ray.get(refs), [ray.get(ref) for ref in refs]):
        for array, got in zip(arrays, found, strict=True):
            assert got.dtype == array.dtype and got.shape == array.shape and (got == array).all()
            assert got.flags.f_contiguous or got.flags.c_contiguous
            assert not got.flags.writeable and got.flags.aligned
            with pytest.raises(ValueError):
                got.flags.writeable = True
        del found, got
    settles(0)


def test_what_is_lent_stays_as_long_as_it_is_looked_at(ray: Any) -> None:
    before = lent()
    arrays = ray.get([ray.put(np.full(10_000, i % 250, np.uint8)) for i in range(MANY)])
    settles(before + MANY)
    churn = [ray.put(np.full(10_000, 255, np.uint8)) for _ in range(MANY)]  # would reuse the memory
    assert all((array == i % 250).all() for i, array in enumerate(arrays))
    del churn
    part = arrays[7][100:200]
    view = memoryview(arrays[8])
    del arrays
    settles(before + 2)
    assert (part == 7).all() and view[0] == 8
    del part, view
    settles(before)


def test_several_buffers_of_one_value(ray: Any) -> None:
    before = lent()
    ref = ray.put({"a": np.full(5000, 1), "b": np.full(2000, 2.0), "c": b"x" * 100})
    value = ray.get(ref)
    assert (ray.get([ref])[0]["a"] == 1).all()
    settles(before + 1)
    kept = value["b"]
    del value, ref
    settles(before + 1)
    assert (kept == 2).all()
    del kept
    settles(before)


def test_lent_values_outlive_their_session(script: Any) -> None:
    script(
        """
        import gc, time
        import msgpack, numpy as np
        import eagleray
        from eagleray._private.state import process

        eagleray.init(num_cpus=1, log_to_driver=False)
        arrays = eagleray.get([eagleray.put(np.full(10_000, i, np.uint8)) for i in range(20)])
        boxes = eagleray.get(eagleray.put([eagleray.put(i) for i in range(20)]))
        eagleray.shutdown()
        gc.collect()
        assert all((array == i).all() for i, array in enumerate(arrays))
        del arrays[10:]
        eagleray.init(num_cpus=1, log_to_driver=False)
        del arrays, boxes

        def footprint(name):
            query = msgpack.packb({"here": True})
            return msgpack.unpackb(process.require().hot.rpc("footprint", query, 5000))[name]

        end = time.monotonic() + 60
        while footprint("n_loans") or footprint("n_ref_batches"):
            assert time.monotonic() < end, (footprint("n_loans"), footprint("n_ref_batches"))
            time.sleep(0.01)
        """
    )


def test_the_first_error_of_the_list(ray: Any) -> None:
    def fail(n: int) -> None:
        raise KeyError(n)

    task = ray.remote(fail)
    bad = [task.remote(1), task.remote(2)]
    ray.wait(bad, num_returns=2)
    arrays = [ray.put(np.zeros(9000, np.uint8)) for _ in range(5)]
    slow = ray.remote(num_cpus=0)(lambda: time.sleep(60)).remote()
    for refs in ([*arrays, *bad], [slow, bad[0], bad[1]], [bad[0], slow]):
        with pytest.raises(KeyError) as error:
            ray.get(refs, timeout=PATIENCE_S)
        assert error.value.cause.args == (1,)
        del error
    del refs
    ray.cancel(slow, force=True)
    settles(0)


def test_not_there_yet(ray: Any) -> None:
    refs = [ray.put(1), ray.remote(num_cpus=0)(lambda: time.sleep(60)).remote(), ray.put(2)]
    with pytest.raises(ray.exceptions.GetTimeoutError, match=refs[1].hex()):
        ray.get(refs, timeout=0.05)
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get(refs, timeout=0)
    ray.cancel(refs[1], force=True)
    assert ray.get([refs[0], refs[0], refs[2]]) == [1, 1, 2] and ray.get([]) == []


def test_not_references(ray: Any) -> None:
    with pytest.raises(TypeError, match="on the value 5, which is not an ObjectRef"):
        ray.get([ray.put(1), 5])
    with pytest.raises(ValueError, match="Invalid type of object refs"):
        ray.get((ray.put(1),))


class Unreadable:
    def __reduce__(self) -> Any:
        return fails, ()


def fails() -> None:
    raise OSError("cannot be read")


def test_a_value_that_cannot_be_unpickled(ray: Any) -> None:
    refs = [ray.put(np.zeros(9000, np.uint8)), ray.put(Unreadable()), ray.put(np.zeros(9000, np.uint8))]
    with pytest.raises(ray.exceptions.RaySystemError, match="cannot be read"):
        ray.get(refs)
    settles(0)


def test_threads_get_the_same_list(ray: Any) -> None:
    refs = [ray.put(np.full(6000, i % 200, np.uint8)) for i in range(MANY)]
    wrong = []

    def look() -> None:
        for _ in range(20):
            if any(array[5999] != i % 200 for i, array in enumerate(ray.get(refs))):
                wrong.append(1)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    settles(0)


def test_values_of_the_store(ray: Any) -> None:
    arrays = [np.full(200_000, i, np.uint8) for i in range(30)]
    refs = [ray.put(array) for array in arrays]
    for _ in range(2):
        found = ray.get(refs)
        assert all((a == b).all() for a, b in zip(found, arrays, strict=True))
    assert eagleray.get([refs[3]])[0][0] == 3
