"""torch's tensors on the CPU: what `put`, `get`, arguments and results make of them. Without torch nothing runs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import eagleray as ray
import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
LARGE = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    with ray.init(num_cpus=2, log_to_driver=False):
        yield


@ray.remote
def same(value: Any) -> Any:
    return value


def through(value: Any) -> Any:
    """What comes back from the store; a task gives the same."""
    found = ray.get(ray.put(value))
    assert type(ray.get(same.remote(value))) is type(found)
    return found


TENSORS = {
    "float32": lambda: torch.arange(6.0).reshape(2, 3),
    "bfloat16": lambda: torch.ones(3, dtype=torch.bfloat16),
    "float16": lambda: torch.ones(3, dtype=torch.half),
    "complex64": lambda: torch.ones(2, dtype=torch.complex64),
    "bool": lambda: torch.tensor([True, False]),
    "uint16": lambda: torch.ones(4).to(torch.uint16),
    "large": lambda: torch.arange(LARGE),
    "large bfloat16": lambda: torch.ones(LARGE, dtype=torch.bfloat16),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "every second": lambda: torch.arange(10)[::2],
    "with an offset": lambda: torch.arange(10)[3:],
    "expanded": lambda: torch.ones(1).expand(5),
    "empty": lambda: torch.empty(0, 3),
    "a scalar": lambda: torch.tensor(4),
    "conjugate": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "with a gradient": lambda: torch.ones(3, requires_grad=True),
    "a result with a gradient": lambda: torch.ones(3, requires_grad=True) * 2,
    "a parameter": lambda: torch.nn.Parameter(torch.ones(LARGE)),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor(name: str) -> None:
    value = TENSORS[name]()
    found = through(value)
    assert type(found) is type(value) and torch.equal(found, value)
    for field in ("dtype", "shape", "requires_grad"):
        assert getattr(found, field) == getattr(value, field)
    assert found.stride() == value.stride() and found.storage_offset() == value.storage_offset()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "uint32", "uint64"])
def test_types_of_which_torch_has_no_pickle(name: str) -> None:
    kind = getattr(torch, name)
    value = torch.arange(LARGE).to(kind)
    found = through(value)
    assert found.dtype is kind and torch.equal(found.view(torch.uint8), value.view(torch.uint8))


@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_tensors(form: str) -> None:
    value = getattr(torch.eye(300), form)()
    found = through(value)
    assert found.layout == value.layout and torch.equal(found.to_dense(), torch.eye(300))


def test_a_quantized_tensor() -> None:
    value = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)
    assert torch.equal(through(value).dequantize(), value.dequantize())


def test_what_was_got_may_be_written_and_the_object_stays() -> None:
    ref = ray.put(torch.ones(LARGE))
    one, two = ray.get(ref), ray.get(ref)
    one.add_(1)
    assert one.sum() == 2 * LARGE and two.sum() == LARGE and ray.get(ref).sum() == LARGE


def test_tensors_that_share_memory_share_it_again() -> None:
    whole = torch.zeros(LARGE)
    found, part, row = through((whole, whole[2:5], whole.view(4, -1)[1]))
    part[0] = 99
    row[0] = 7
    assert found[2] == 99 and found[LARGE // 4] == 7 and whole.sum() == 0


def test_memory_that_is_shared_travels_once() -> None:
    from eagleray._private.values import pickling

    whole = torch.zeros(LARGE)
    data, buffers, _, _ = pickling.dumps([whole, whole[1:], {"again": whole.view(-1, 2)}])
    assert buffers is not None and [buffer.nbytes for buffer in buffers] == [4 * LARGE] and len(data) < 4096
    data, buffers, _, _ = pickling.dumps([torch.zeros(3) for _ in range(10)])
    assert buffers is None


class Tied(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(64, 64)
        self.second = torch.nn.Linear(64, 64)
        self.second.weight = self.first.weight
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


def test_a_module_with_tied_parameters_trains_where_it_arrives() -> None:
    found = through(Tied())
    assert found.first.weight is found.second.weight and found.first.weight.requires_grad
    optimizer = torch.optim.SGD(found.parameters(), lr=0.1)
    before = found.first.weight.detach().clone()
    found(torch.ones(1, 64)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, found.first.weight)


def test_an_actor_that_trains() -> None:
    @ray.remote
    class Trainer:
        def __init__(self, model: Any) -> None:
            self.model = model
            self.optimizer = torch.optim.Adam(model.parameters())

        def step(self, x: Any) -> Any:
            self.optimizer.zero_grad()
            loss = self.model(x).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            return loss.detach(), self.model.state_dict(), self.optimizer.state_dict()

    trainer = Trainer.remote(Tied())
    losses = [ray.get(trainer.step.remote(torch.ones(2, 64)))[0] for _ in range(3)]
    assert losses[0] > losses[2]
    _, weights, state = ray.get(trainer.step.remote(torch.ones(2, 64)))
    model = Tied()
    model.load_state_dict(weights)
    torch.optim.Adam(model.parameters()).load_state_dict(state)
    assert model.first.weight is model.second.weight


def test_other_things_of_torch() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
    assert torch.equal(through(packed).data, packed.data)
    assert through((torch.float32, torch.device("cpu"), torch.ones(2, 3).size())) == (
        torch.float32,
        torch.device("cpu"),
        torch.Size([2, 3]),
    )
    assert through(torch.empty(3, device="meta")).is_meta
    named = torch.ones(2)
    named.origin = "here"
    assert through(named).origin == "here"
    assert ray.get(ray.remote(lambda: torch.arange(LARGE)).remote()).sum() == LARGE * (LARGE - 1) // 2
    closed = torch.ones(LARGE)
    assert ray.get(ray.remote(lambda: float(closed.sum())).remote()) == LARGE


SHARED = """
    import warnings, torch
    import eagleray as ray

    ray.init(num_cpus=1)
    big = torch.arange(1 << 20)
    ref = ray.put({"big": big, "part": big[4:8], "small": torch.ones(2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that the memory may not be written
        one, two = ray.get(ref), ray.get(ref)
    assert one["big"].data_ptr() == two["big"].data_ptr() != big.data_ptr()
    assert one["part"].data_ptr() == one["big"].data_ptr() + 32
    one["small"].add_(1)  # small ones are copies
    del ref, two
    assert one["big"].sum() == big.sum()  # the object lives as long as a tensor looks at it
    @ray.remote
    def place(found, again):
        return found["big"].data_ptr() - again["big"].data_ptr(), int(found["big"].sum())
    ref = ray.put({"big": big})
    print(ray.get(place.remote(ref, ref)))
"""


@pytest.mark.parametrize("value", ["1", "0"])
def test_tensors_in_the_object_store_itself(value: str) -> None:
    env = {**os.environ, "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": value}
    command = [sys.executable, "-c", textwrap.dedent(SHARED)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    if value == "1":
        assert done.stdout.endswith(f"(0, {(1 << 19) * ((1 << 20) - 1)})\n"), done.stdout + done.stderr
    else:
        assert "AssertionError" in done.stderr


def test_without_numpy_torch_writes_its_own_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    from eagleray._private.values import torch_storage

    storage = torch.ones(3).untyped_storage()
    assert torch_storage.reduce(storage) is not NotImplemented
    monkeypatch.delitem(sys.modules, "numpy")
    assert torch_storage.reduce(storage) is NotImplemented
