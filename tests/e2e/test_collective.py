"""``util.collective``: groups of tasks and actors on CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import eagleray as ray
import numpy as np
import pytest
from eagleray.util import collective as col
from eagleray.util.collective import bfloat16
from eagleray.util.collective.types import Backend, ReduceOp
from pace import until

pytestmark = pytest.mark.usefixtures("session")


@ray.remote(num_cpus=0)
class Member:
    def join(self, size: int, rank: int, name: str = "default", timeout: int = 30_000) -> int:
        col.init_collective_group(size, rank, "gloo", name, timeout)
        return col.get_rank(name)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)


def members(size: int, name: str) -> list[Any]:
    made = [Member.remote() for _ in range(size)]
    assert ray.get([one.join.remote(size, rank, name) for rank, one in enumerate(made)]) == list(range(size))
    return made


def together(made: list[Any], function: Callable[..., Any], *args: Any) -> list[Any]:
    """Runs a function in all members at the same time."""
    return list(ray.get([one.run.remote(function, *args) for one in made]))


def test_each_call_gives_each_member_its_part() -> None:
    made = members(3, "all")

    def calls() -> Any:
        rank, out = col.get_rank("all"), {}
        mine = np.arange(3.0) + rank
        for op in ReduceOp:
            value = mine.copy()
            col.allreduce(value, "all", op)
            out[op.name] = value.tolist()
        value = mine.copy()
        col.reduce(value, 1, "all", ReduceOp.MAX)
        out["reduce"] = value.tolist()
        value = mine.copy()
        col.broadcast(value, 2, "all")
        out["broadcast"] = value.tolist()
        gathered = [np.zeros(3) for _ in range(3)]
        col.allgather(gathered, mine, "all")
        out["allgather"] = [one.tolist() for one in gathered]
        value = np.zeros(3)
        col.reducescatter(value, [mine * place for place in range(3)], "all")
        out["reducescatter"] = value.tolist()
        col.barrier("all")
        if rank == 0:
            col.send(np.array([7, 8]), 1, "all")
            col.send(np.array([9, 9]), 1, "all")
        elif rank == 1:
            got = [np.zeros(2, int), np.zeros(2, int)]
            for one in got:
                col.recv(one, 0, "all")
            out["recv"] = [one.tolist() for one in got]
        return out

    answers = together(made, calls)
    for rank, out in enumerate(answers):
        assert out["SUM"] == [3, 6, 9] and out["PRODUCT"] == [0, 6, 24]
        assert out["MIN"] == [0, 1, 2] and out["MAX"] == [2, 3, 4]
        assert out["reduce"] == ([2, 3, 4] if rank == 1 else [rank, rank + 1, rank + 2])
        assert out["broadcast"] == [2, 3, 4]
        assert out["allgather"] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        assert out["reducescatter"] == [3 * rank, 6 * rank, 9 * rank]
    assert answers[1]["recv"] == [[7, 8], [9, 9]]


def test_large_arrays_and_many_calls() -> None:
    made = members(2, "large")

    def calls() -> Any:
        value = np.ones((1000, 300))
        for _ in range(20):
            col.allreduce(value, "large")
        return value.min(), value.max()

    assert together(made, calls) == [(2.0**20, 2.0**20)] * 2


def test_actors_that_a_driver_declares_join_with_their_first_call() -> None:
    made = [Member.remote() for _ in range(2)]
    col.create_collective_group(made, 2, [1, 0], "gloo", "declared")
    with pytest.raises(RuntimeError, match="there is a collective group 'declared' already"):
        col.create_collective_group(made, 2, [1, 0], "gloo", "declared")

    def ranks() -> Any:
        before = col.is_group_initialized("declared"), col.get_rank("declared")
        value = np.array([1])
        col.allreduce(value, "declared")
        return before, col.get_rank("declared"), col.get_collective_group_size("declared"), value.tolist()

    assert together(made, ranks) == [((False, -1), 1, 2, [2]), ((False, -1), 0, 2, [2])]
    other = Member.remote()
    with pytest.raises(RuntimeError, match="no member of the collective group 'declared'"):
        ray.get(other.run.remote(col.barrier, "declared"))
    col.destroy_collective_group("declared")
    with pytest.raises(RuntimeError, match="has ended"):
        ray.get(made[0].run.remote(col.barrier, "declared"))


def test_a_group_that_all_have_left_can_be_made_again() -> None:
    for _ in range(2):
        made = members(2, "again")
        assert together(made, col.destroy_collective_group, "again") == [None, None]
        assert together(made, col.is_group_initialized, "again") == [False, False]
        until(lambda: not [name for name in ray.util.list_named_actors() if name.endswith(":again")])


def test_members_that_do_not_come_are_named() -> None:
    one = Member.remote()
    with pytest.raises(RuntimeError, match=r"'alone': the ranks \[1\] have not come within 0.2 s"):
        ray.get(one.join.remote(2, 0, "alone", 200))
    made = [Member.remote() for _ in range(2)]
    ray.get([one.__ray_ready__.remote() for one in made])
    ray.get([one.join.remote(2, rank, "late", 2000) for rank, one in enumerate(made)])
    with pytest.raises(RuntimeError, match=r"barrier: the ranks \[1\] have not made this call within 2 s"):
        ray.get(made[0].run.remote(col.barrier, "late"))
    with pytest.raises(RuntimeError, match="rank 1 has sent nothing to rank 0"):
        ray.get(made[0].run.remote(lambda: col.recv(np.zeros(1), 1, "late")))


def test_members_that_call_different_things_are_told() -> None:
    made = members(2, "mixed")

    def calls() -> None:
        if col.get_rank("mixed"):
            col.barrier("mixed")
        else:
            col.allreduce(np.ones(2), "mixed")

    with pytest.raises(RuntimeError, match=r"rank 0 calls allreduce\(.*\), and rank 1 calls barrier"):
        together(made, calls)

    def shapes() -> None:
        col.allreduce(np.ones(2 + col.get_rank("mixed")), "mixed")

    with pytest.raises(RuntimeError, match="rank 0 calls allreduce"):
        together(made, shapes)
    assert together(made, col.barrier, "mixed") == [None, None]  # the group goes on


def test_wrong_arguments_are_refused_before_anybody_waits() -> None:
    made = members(2, "wrong")

    def refused(call: Callable[[], Any], kind: Any, words: str) -> None:
        with pytest.raises(kind, match=words):
            ray.get(made[0].run.remote(call))

    refused(lambda: col.allreduce([1, 2], "wrong"), TypeError, "numpy arrays and torch tensors")
    refused(lambda: col.allreduce(np.ones(1), "wrong", "sum"), TypeError, "op must be a ReduceOp")
    refused(lambda: col.broadcast(np.ones(1), 2, "wrong"), ValueError, "src_rank must be from 0 to 1")
    refused(lambda: col.send(np.ones(1), 0, "wrong"), RuntimeError, "is self")
    refused(lambda: col.allgather([np.ones(1)], np.ones(1), "wrong"), RuntimeError, "list of 2 tensors")
    refused(lambda: col.init_collective_group(2, 0, "gloo", "wrong"), RuntimeError, "a member of .* already")
    refused(lambda: col.init_collective_group(2, 2, "gloo", "x"), RuntimeError, "rank must be from 0 to 1")
    refused(lambda: col.init_collective_group(2, 0, "nccl", "x"), NotImplementedError, "backend='gloo'")
    refused(lambda: col.init_collective_group(2, 0, "gloo", ""), ValueError, "group_name")
    refused(lambda: col.init_collective_group(2, 0, "gloo", "x", 0), ValueError, "gloo_timeout")
    refused(lambda: col.allreduce_multigpu([np.ones(1)]), RuntimeError, "Multigpu")
    refused(lambda: col.barrier("none"), RuntimeError, "no member of the collective group 'none'")
    with pytest.raises(RuntimeError, match="this is a driver"):
        col.allreduce(np.ones(1))
    with pytest.raises(NotImplementedError, match="backends of one's own"):
        col.register_collective_backend("mine", object)


def test_a_tensor_from_the_object_store_is_not_written() -> None:
    made = members(1, "store")

    def call(value: Any) -> None:
        col.allreduce(value, "store")

    with pytest.raises(RuntimeError, match="copy it first"):
        ray.get(made[0].run.remote(call, np.ones(100_000)))


def test_names_of_backends() -> None:
    assert [Backend("gloo"), Backend("NCCL"), Backend("torch_gloo")] == ["GLOO", "NCCL", "GLOO"]
    with pytest.raises(ValueError, match="Unrecognized backend"):
        Backend("mpi")
    assert col.is_backend_available("gloo") and not col.is_backend_available("nccl")


def test_bfloat16_is_half_of_a_float32() -> None:
    every = np.arange(1 << 16, dtype="u2")
    wide = bfloat16.widened(every.view(bfloat16.TYPE))
    numbers = ~np.isnan(wide)
    assert (bfloat16.rounded(wide).view("u2")[numbers] == every[numbers]).all()
    assert np.isnan(bfloat16.widened(bfloat16.rounded(wide[~numbers]))).all() and (~numbers).sum() == 254
    near = np.float32([[1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 3.4e38]])
    found = bfloat16.widened(bfloat16.rounded(near))
    assert found.tolist() == [[1, 1 + 2**-6, 1 + 2**-7, np.inf]]  # ties go to the even one
    assert bfloat16.rounded(np.float32(2)).shape == () and bfloat16.name(np.dtype("V2")) == "bfloat16"


def test_arrays_of_bfloat16_are_combined_as_numbers() -> None:
    made = members(2, "short")

    def calls() -> Any:
        rank = col.get_rank("short")
        value = bfloat16.rounded(np.float32([1.5, -2, 1e30]) * (rank + 1))
        col.allreduce(value, "short")
        other = bfloat16.rounded(np.float32([rank, 7]))
        col.broadcast(other, 1, "short")
        try:
            col.allreduce(np.ones(2, "V2" if rank else "f4"), "short")
        except RuntimeError as error:
            return bfloat16.widened(value).tolist(), bfloat16.widened(other).tolist(), str(error)
        raise AssertionError("arrays of two types were combined")

    for value, other, said in together(made, calls):
        assert value[:2] == [4.5, -6] and abs(value[2] - 3e30) < 2**-8 * 3e30 and other == [1, 7]
        assert "float32" in said and "bfloat16" in said


def test_torch_tensors_of_a_cpu() -> None:
    torch = pytest.importorskip("torch")
    made = members(2, "torch")

    def calls() -> Any:
        found = []
        for kind in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8):
            value = torch.ones(8, dtype=kind)[::2]
            col.allreduce(value, "torch")
            parts = [torch.zeros(2, dtype=kind) for _ in range(2)]
            col.allgather(parts, torch.full((2,), 3, dtype=kind), "torch")
            found.append([*value.tolist(), *parts[1].tolist(), value.dtype is kind])
        try:
            col.allreduce(torch.ones(2).to(torch.float8_e4m3fn), "torch")
        except TypeError as error:
            assert "float8_e4m3fn" in str(error)
        else:
            raise AssertionError("taken")
        return found

    assert together(made, calls) == [[[2, 2, 2, 2, 3, 3, True]] * 5] * 2
