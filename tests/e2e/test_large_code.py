"""Functions, classes, variables and names that are larger than a message, or too large for one."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import eagleray
import pytest
from pace import until

MIB = 1 << 20


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with eagleray.init(address="local", num_cpus=2, object_store_memory=800 * MIB, log_to_driver=False):
        yield eagleray


def free(ray: Any) -> float:
    found: float = ray.available_resources()["object_store_memory"]
    return found


def call_functions_that_capture_much(ray: Any) -> None:
    data = os.urandom(70 * MIB)

    @ray.remote
    def size() -> int:
        return len(data)

    @ray.remote
    def nested(depth: int) -> int:
        return len(data) if depth == 0 else ray.get(nested.remote(depth - 1))

    assert ray.get([size.remote(), size.remote()]) == [70 * MIB] * 2
    assert ray.get(size.options(num_returns=1, max_retries=0).remote()) == 70 * MIB
    assert ray.get(nested.remote(2)) == 70 * MIB


def test_a_function_that_captures_much_runs_and_leaves(ray: Any, caplog: Any) -> None:
    before = free(ray)
    logger = logging.getLogger("eagleray")
    logger.addHandler(caplog.handler)  # a session's logger does not hand its messages on
    try:
        call_functions_that_capture_much(ray)
    finally:
        logger.removeHandler(caplog.handler)
    assert "The remote function" in caplog.text and "is very large: 70 MiB" in caplog.text
    gc.collect()  # a function that calls itself refers to itself
    until(lambda: free(ray) >= before - MIB, "what the functions captured leaves the store")


def test_a_default_argument_may_be_large(ray: Any) -> None:
    @ray.remote
    def size(data: bytes = os.urandom(70 * MIB)) -> int:
        return len(data)

    assert ray.get(size.remote()) == 70 * MIB


def test_references_that_large_code_captures_live(ray: Any) -> None:
    def make(data: bytes, reference: Any) -> Any:
        @ray.remote
        def both() -> tuple[int, str]:
            return len(data), ray.get(reference)

        return both.remote

    call = make(os.urandom(8 * MIB), ray.put("inside"))
    gc.collect()
    assert ray.get(call()) == (8 * MIB, "inside")


def test_a_class_that_captures_much_restarts(ray: Any) -> None:
    data = os.urandom(70 * MIB)

    @ray.remote(num_cpus=0, max_restarts=1, max_task_retries=1)
    class Holder:
        def __init__(self) -> None:
            self.pid = os.getpid()

        def size(self) -> int:
            return len(data)

        def die_once(self, pid: int) -> int:
            if os.getpid() == pid:
                os._exit(1)
            return len(data)

        def where(self) -> int:
            return self.pid

    holder = Holder.remote()
    assert ray.get(holder.size.remote()) == 70 * MIB
    assert ray.get(holder.die_once.remote(ray.get(holder.where.remote()))) == 70 * MIB


def test_exceptions_to_retry_on_may_capture_much(ray: Any) -> None:
    class Mine(Exception):
        data = os.urandom(70 * MIB)

    @ray.remote(retry_exceptions=[Mine], max_retries=1)
    def one() -> int:
        return 1

    @ray.remote(num_cpus=0)
    class Actor:
        def one(self) -> int:
            return 1

    assert ray.get(one.remote()) == 1
    with pytest.raises(ValueError, match="bytes"):
        Actor.remote().one.options(retry_exceptions=[Mine]).remote()


def test_too_much_code_is_refused_at_the_call(ray: Any, monkeypatch: Any) -> None:
    data = os.urandom(100 * MIB)

    @ray.remote
    def size() -> int:
        return len(data)

    @ray.remote
    class Holder:
        def size(self) -> int:
            return len(data)

    with pytest.raises(ValueError, match=r"The remote function .*size is too large: 100 MiB"):
        size.remote()
    with pytest.raises(ValueError, match=r"The actor .*Holder is too large: 100 MiB"):
        Holder.remote()
    monkeypatch.setenv("FUNCTION_SIZE_ERROR_THRESHOLD", str(200 * MIB))
    assert ray.get(size.remote()) == 100 * MIB


def test_environment_variables_may_be_larger_than_exec_takes(ray: Any) -> None:
    @ray.remote
    def sizes(depth: int) -> dict[str, int]:
        found = {name: len(text) for name, text in os.environ.items() if name.startswith("LARGE")}
        assert depth == 0 or ray.get(sizes.remote(depth - 1)) == found
        return found

    variables = {"LARGE_A": "a" * MIB, "LARGE_B": "b" * (3 * MIB), "LARGE_C": "c" * 10}
    assert ray.get(sizes.options(runtime_env={"env_vars": variables}).remote(1)) == {
        name: len(text) for name, text in variables.items()
    }


def test_what_is_too_large_for_messages_raises_at_the_call(ray: Any) -> None:
    @ray.remote
    def one() -> int:
        return 1

    @ray.remote(num_cpus=0)
    class Actor:
        def one(self) -> int:
            return 1

    huge, large = "n" * (70 * MIB), "n" * (10 * MIB)
    for call in (
        lambda: one.options(runtime_env={"env_vars": {"HUGE": huge}}).remote(),
        lambda: one.options(name=huge).remote(),
        lambda: one.options(name=large).remote(),
        lambda: one.options(resources={large: 1}).remote(),
        lambda: Actor.options(name=huge).remote(),
        lambda: Actor.options(name="short", namespace=huge).remote(),
        lambda: Actor.options(resources={large: 1}).remote(),
        lambda: Actor.options(runtime_env={"env_vars": {"HUGE": huge}}).remote(),
        lambda: ray.get_actor(huge),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert len(str(caught.value)) < 2000
    assert ray.get(one.remote()) == 1


def test_many_small_values_in_one_message(ray: Any) -> None:
    """More than a frame has room for: results, arguments of tasks, of methods and of constructors."""

    @ray.remote
    def several(count: int) -> list[bytes]:
        return [bytes(1000)] * count

    @ray.remote
    def count(*values: bytes) -> int:
        return sum(map(len, values))

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self, *values: bytes) -> None:
            self.size = sum(map(len, values))

        def count(self, *values: bytes) -> int:
            return self.size + sum(map(len, values))

    results = several.options(num_returns=17_500).remote(17_500)
    assert ray.get(count.remote(*results)) == 17_500_000
    assert ray.get(Counter.remote().count.remote(*results)) == 17_500_000
    large = [ray.put(bytes(90_000)) for _ in range(200)]
    for options in ({}, {"name": "counter"}):
        assert ray.get(Counter.options(**options).remote(*large).count.remote(b"12")) == 18_000_002


def test_many_resources() -> None:
    source = """
import eagleray as ray
names = {f"resource_{number}": 1 for number in range(10_000)}
with ray.init(address="local", num_cpus=1, resources=names):
    assert len(ray.cluster_resources()) > 10_000 and len(ray.nodes()[0]["Resources"]) > 10_000
    f = ray.remote(lambda: len(ray.available_resources()))
    assert ray.get(f.options(resources={"resource_77": 1}).remote()) > 9_990
    assert ray.get(f.options(resources=names).remote()) < 100
print(len(names))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    assert done.stdout == "10000\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("namespace='n' * (70 << 20)", "bytes"),
        ("resources={'n' * (10 << 20): 1}", "name of a resource"),
        ("labels={'n' * (10 << 20): 'a'}", "label"),
        ("runtime_env={'env_vars': {'HUGE': 'x' * (70 << 20)}}", "HUGE"),
        ("**os.environ.update(HUGE='x' * (1 << 20)) or {}", "os.environ"),
    ],
)
def test_init_refuses_what_is_too_large(script: Any, arguments: str, message: str) -> None:
    done = script(f"import os\nimport eagleray as ray\nray.init(address='local', num_cpus=1, {arguments})", check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ValueError") and message in last and len(last) < 2000
