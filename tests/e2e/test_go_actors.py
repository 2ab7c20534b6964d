"""Actors of a Go worker program, called from Python, and handles that pass between the languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray.exceptions import ActorDiedError, CrossLanguageError, TaskCancelledError
from go_program import actor, call, function
from pace import until

pytestmark = pytest.mark.usefixtures("session")


def test_calls_in_order_and_errors(ray: Any) -> None:
    counter = actor().remote(5)
    assert ray.get([counter.Add.remote(n) for n in (1, 2, 3)]) == [6, 8, 11]
    assert ray.get(counter.Actor.remote()) == counter._actor_id.hex()
    with pytest.raises(CrossLanguageError) as caught:
        ray.get(counter.Fail.remote("bad"))
    assert caught.value.cause.message == "bad" and "Counter.Fail" in str(caught.value)  # type: ignore[attr-defined]
    with pytest.raises(CrossLanguageError, match='has no method "Nix"; its methods are Actor, Add, '):
        ray.get(counter.Nix.remote())
    with pytest.raises(CrossLanguageError, match="a chan int cannot travel between processes"):
        ray.get(counter.Channel.remote(1))
    with pytest.raises(CrossLanguageError, match="cannot run Python code"):
        ray.get(counter.__ray_call__.remote(lambda self: 1))
    assert ray.get(counter.__ray_ready__.remote()) is True
    assert [ray.get(ref) for ref in counter.Steps.options(num_returns="streaming").remote(2)] == [12, 13]


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("Broken", ("panic",), "panicked: no actor today"),
        ("Broken", ("error",), "returned an error: it cannot be made"),
        ("Broken", (), r"takes 1 argument, and was given 0"),
        ("Nix", (), 'has no actor "Nix"; it has registered the actors Broken, Counter'),
        ("sum", (), "is a function of the Go worker program, and an actor was to be made of it"),
    ],
)
def test_constructors_that_fail(ray: Any, name: str, args: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ActorDiedError, match=text) as caught:
        ray.get(actor(name).remote(*args).Add.remote(1))
    assert isinstance(caught.value.cause.cause, CrossLanguageError)  # type: ignore[union-attr]


def test_ends(ray: Any, tmp_path: Path) -> None:
    counter = actor().remote()
    with pytest.raises(ActorDiedError, match="exit_actor"):
        ray.get(counter.Leave.remote())
    counter = actor().remote()
    pid = ray.get(counter.Pid.remote())
    ray.kill(counter)
    with pytest.raises(ActorDiedError):
        ray.get(counter.Add.remote(1))
    until(lambda: not Path(f"/proc/{pid}").exists())
    counter = actor().remote()
    pid = ray.get(counter.Pid.remote())
    del counter
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_restarts_and_retries(ray: Any, tmp_path: Path) -> None:
    counter = actor(max_restarts=1, max_task_retries=1).remote(3)
    assert ray.get(counter.Add.remote(1)) == 4
    assert ray.get(counter.DieOnce.remote(str(tmp_path / "a"))) == 3
    counter = actor(max_task_retries=2).remote()
    once = counter.FailOnce.options(retry_exceptions=True)
    assert ray.get(once.remote(str(tmp_path / "b"))) == "done"
    with pytest.raises(ValueError, match="lists classes of Python"):
        counter.FailOnce.options(retry_exceptions=[ValueError])


def test_concurrency_resources_and_cancellation(ray: Any, tmp_path: Path) -> None:
    counter = actor(max_concurrency=2, num_gpus=1).remote()
    assert ray.get([counter.Meet.remote(), counter.Meet.remote()], timeout=60) == [True, True]
    assert len(ray.get(counter.GPUs.remote())) == 1
    path = tmp_path / "waits"
    ref = counter.Wait.remote(str(path))
    until(path.exists)
    ray.cancel(ref)
    with pytest.raises(TaskCancelledError):
        ray.get(ref, timeout=30)
    assert ray.get(counter.Add.remote(1)) == 1


def test_names(ray: Any) -> None:
    made = actor(name="go counter", lifetime="detached").remote(1)
    try:
        found = ray.get_actor("go counter")
        assert ray.get([found.Add.remote(1), made.Add.remote(1)]) == [2, 3]
        again = actor(name="go counter", get_if_exists=True).remote(100)
        assert ray.get(again.Add.remote(1)) == 4
        with pytest.raises(ValueError, match="already taken"):
            actor(name="go counter").remote()
    finally:
        ray.kill(made)


def test_handles_pass_between_the_languages(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Adder:
        total = 0

        def add(self, n: int) -> int:
            self.total += n
            return self.total

    @ray.remote
    def use(handles: list[Any]) -> int:
        return sum(ray.get([one.Add.remote(10) for one in handles]))

    adder, counter = Adder.remote(), actor().remote(1)
    assert call("add_to", adder, "add", 4) == 4
    assert call("add_to", counter, "Add", 4) == 5
    assert ray.get(use.remote([counter])) == 15
    made = call("make_counter", 7)
    assert ray.get(made.Add.remote(1)) == 8 and ray.get(use.remote([made, made])) == 46
    back = call("same", {"handle": [made]})["handle"][0]
    assert back == made and ray.get(back.Add.remote(0)) == 28
    pid = ray.get(made.Pid.remote())
    del made
    assert ray.get(back.Add.remote(0)) == 28
    del back
    until(lambda: not Path(f"/proc/{pid}").exists())
    with pytest.raises(CrossLanguageError, match="an actor's handle"):
        ray.get(function("sum").remote(adder, 1))


def test_options_that_are_refused(ray: Any) -> None:
    with pytest.raises(ValueError, match="cannot be kept in order"):
        actor(max_concurrency=2, allow_out_of_order_execution=False)
    assert ray.get(actor(allow_out_of_order_execution=True).remote().Add.remote(2)) == 2
    with pytest.raises(ValueError, match="use max_concurrency"):
        actor(concurrency_groups={"io": 1})
    with pytest.raises(TypeError, match=r"use 'Counter.remote\(\)'"):
        actor()()
