"""Large values are read where they lie in shared memory: without a copy, whatever they are nested in."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

SIZE = 200_000  # as bytes, too, more than travels inside messages
MIB = 1 << 20


def in_arena(*addresses: int) -> bool:
    """Whether each address lies in memory that this process shares with the node's daemon."""
    shared = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, flags, _, _, _, *name = line.split(None, 5)
        if flags[3] == "s" and name and "memfd:" in name[0]:
            start, end = (int(part, 16) for part in span.split("-"))
            shared.append((start, end))
    return all(any(start <= address < end for start, end in shared) for address in addresses)


def start_of(buffer: Any) -> int:
    array = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    return int(array.__array_interface__["data"][0])


def resident_kib() -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1])


class Blob:
    """Bytes that travel out of band."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Blob, (pickle.PickleBuffer(self.data),)


@dataclasses.dataclass
class Sample:
    array: Any
    more: dict[str, Any]


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "<i2", ">i4", "i8", "f2", "f8", "c16", "M8[ns]", "m8[s]", "S5", "U3", "V16", "i4,f8"]
)
def test_arrays_of_every_type_are_read_in_place(ray: Any, dtype: str) -> None:
    source = np.zeros(SIZE, dtype=dtype)
    ref = ray.put(source)
    first, second = ray.get(ref), ray.get(ref)
    assert first.dtype == source.dtype and first.shape == source.shape
    assert in_arena(start_of(first.view("u1"))) and not in_arena(start_of(source.view("u1")))
    assert first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
    assert not first.flags.writeable


def test_arrays_of_objects_are_copied(ray: Any) -> None:
    back = ray.get(ray.put(np.array([1, "a", None, [2]], dtype=object)))
    assert back.tolist() == [1, "a", None, [2]] and back.flags.writeable


def test_what_is_nested_is_read_in_place(ray: Any) -> None:
    big = np.arange(SIZE)
    ref = ray.put({"list": [big, (big * 2,)], "sample": Sample(np.ones(SIZE), {"deep": np.zeros(SIZE, "f4")})})
    back = ray.get(ref)
    parts = [back["list"][0], back["list"][1][0], back["sample"].array, back["sample"].more["deep"]]
    assert in_arena(*map(start_of, parts))
    assert not any(part.flags.writeable for part in parts)
    assert parts[1][3] == 6 and parts[2].sum() == SIZE


def test_pickle_buffers_are_read_in_place(ray: Any) -> None:
    ref = ray.put([Blob(bytearray(b"ab" * SIZE)), Blob(b"x" * SIZE)])
    first, second = ray.get(ref), ray.get(ref)
    assert in_arena(*(start_of(blob.data) for blob in first))
    assert [start_of(blob.data) for blob in first] == [start_of(blob.data) for blob in second]
    data = first[0].data
    assert len(data) == data.nbytes == 2 * SIZE and data.readonly
    assert data.tobytes() == b"ab" * SIZE and bytes(memoryview(data)[:4]) == b"abab"
    with pytest.raises((TypeError, BufferError, ValueError)):
        memoryview(data)[0] = 1


def test_arguments_and_results_are_read_in_place(ray: Any) -> None:
    # The names of this file are imported where the task runs.
    @ray.remote
    def look(direct: Any, nested: Any) -> Any:
        return in_arena(start_of(direct), start_of(ray.get(nested[0]))), np.ones(SIZE)

    ref = ray.put(np.ones(SIZE))
    there, _ = ray.get(look.remote(ref, [ref]))
    assert there
    result = ray.get(look.options(num_returns=2).remote(ref, [ref])[1])
    assert in_arena(start_of(result)) and not result.flags.writeable


def test_frames_and_tables_are_read_in_place(ray: Any) -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.arange(SIZE), "b": np.ones(SIZE), "c": np.arange(SIZE), "s": ["text"] * SIZE})
    table = pa.table({"n": np.arange(SIZE), "f": np.ones(SIZE), "s": ["text"] * SIZE})
    ref = ray.put({"frame": frame, "table": table, "batches": table.to_batches()})
    back = ray.get(ref)
    assert back["frame"].equals(frame) and back["table"].equals(table)
    assert in_arena(*(start_of(back["frame"][name].to_numpy()) for name in "abc"))
    for columns in (back["table"].columns, [pa.chunked_array([column]) for column in back["batches"][0].columns]):
        buffers = [buffer for column in columns for buffer in column.chunk(0).buffers() if buffer is not None]
        assert len(buffers) == 4 and in_arena(*(buffer.address for buffer in buffers))
    with pytest.raises(ValueError, match="read-only"):
        back["frame"].iloc[0, 0] = 5


def test_memory_outlives_reference_and_session(ray: Any) -> None:
    back = ray.get(ray.put(Sample(np.full(SIZE, 7), {})))
    part = back.array[10:20]
    del back
    for _ in range(5):
        ray.put(np.zeros(SIZE))
    assert part.tolist() == [7] * 10


def test_half_a_gigabyte_is_got_in_no_time_and_without_memory(ray: Any) -> None:
    @ray.remote
    def read(large: Any, small: Any) -> Any:
        times = {}
        before = resident_kib()
        for name, (ref,) in (("small", small), ("large", large)):
            values = []
            spans = []
            for _ in range(5):
                start = time.perf_counter()
                values.append(ray.get(ref))
                spans.append(time.perf_counter() - start)
            times[name] = min(spans)
        grown = resident_kib() - before
        return times, grown, values[-1].nbytes, float(values[-1][-1])

    big = np.zeros(512 * MIB // 8)
    big[-1] = 1
    large, small = ray.put(big), ray.put(np.ones(MIB // 8))
    times, grown, nbytes, last = ray.get(read.remote([large], [small]))
    assert (nbytes, last) == (512 * MIB, 1.0)
    # To copy half a gigabyte takes 50 ms and more.
    assert times["large"] < times["small"] + 0.02, times
    assert grown < 32 << 10, f"reading grew the process by {grown} KiB"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("main") / "program.py"
    path.write_text(
        "import eagleray as ray, numpy as np, dataclasses\n"
        "@dataclasses.dataclass\n"
        "class Mine:\n"
        "    x: object\n"
        "ray.init(num_cpus=1, log_to_driver=False)\n"
        "f = ray.remote(lambda m: (type(m).__name__, m.x.flags.writeable, Mine(m.x[:3])))\n"
        f"name, writeable, back = ray.get(f.remote(Mine(np.arange({SIZE}))))\n"
        "print(name, writeable, type(back) is Mine, back.x.tolist())\n"
    )
    yield path


def test_classes_of_the_main_program_are_the_same_class_afterwards(program: Path) -> None:
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split("\n")[0] == "Mine False True [0, 1, 2]"
