"""One call runner serves tasks, methods of plain and threaded actors, and coroutines: each promise holds for all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pace import PATIENCE_S, until

KINDS = ("task", "method", "threads", "group", "async")


class TaskIdWhereUnpickled:
    """Becomes the id of the task that unpickles it."""

    def __reduce__(self) -> Any:
        return eval, ("__import__('eagleray').get_runtime_context().get_task_id()",)


def _runs(ray: Any, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """What calls the function as a task or as a method; the result has ``options`` as well."""
    if kind == "task":
        return ray.remote(num_cpus=0)(function)

    class Plain:
        def method(self, *args: Any) -> Any:
            return function(*args)

    class Async:
        async def method(self, *args: Any) -> Any:
            return function(*args)

    options = {"threads": {"max_concurrency": 2}, "group": {"concurrency_groups": {"g": 1}}}.get(kind, {})
    actor = ray.remote(num_cpus=0, **options)(Async if kind == "async" else Plain).remote()
    method = actor.method.options(concurrency_group="g") if kind == "group" else actor.method
    method.keeps_the_actor = actor
    return method


@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_knows_the_task_id_while_it_is_unpickled(ray: Any, kind: str) -> None:
    def compare(seen: str | None) -> tuple[str | None, str | None]:
        return seen, ray.get_runtime_context().get_task_id()

    seen, own = ray.get(_runs(ray, kind, compare).remote(TaskIdWhereUnpickled()), timeout=PATIENCE_S)
    assert seen == own and own is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_traceback_begins_in_the_code_of_the_user(ray: Any, kind: str) -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose") as caught:
        ray.get(_runs(ray, kind, fail).remote(), timeout=PATIENCE_S)
    files = [line for line in str(caught.value).splitlines() if line.strip().startswith("File ")]
    assert files and all(__file__ in line for line in files), str(caught.value)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_an_actor_survives_exceptions_to_retry_on_that_it_cannot_unpickle(
    ray: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"only_in_the_driver_{kind}"
    source = tmp_path / f"{name}.py"
    source.write_text("class Known(Exception): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    known = __import__(name).Known

    def fail(message: str) -> str:
        if message:
            raise ValueError(message)
        return "still there"

    method: Any = _runs(ray, kind, fail)
    assert ray.get(method.remote(""), timeout=PATIENCE_S) == "still there"
    source.unlink()
    for compiled in tmp_path.glob("__pycache__/*"):
        compiled.unlink()
    with pytest.raises(ModuleNotFoundError, match=name) as caught:
        ray.get(
            method.options(max_task_retries=3, retry_exceptions=[known]).remote("the first failure"),
            timeout=PATIENCE_S,
        )
    assert "the first failure" in str(caught.value)
    assert ray.get(method.remote(""), timeout=PATIENCE_S) == "still there"


class Deleted:
    """Writes a file when it is deleted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __del__(self) -> None:
        self.path.write_text("deleted")


ENDINGS: dict[str, Any] = {"exit_actor": None, "0": 0, "1": 1, "none": None, "text": "this is the end"}


@pytest.mark.parametrize(
    ("kind", "how"), [(kind, how) for kind in KINDS for how in ENDINGS if (kind, how) != ("task", "exit_actor")]
)
def test_what_a_call_has_is_deleted_when_it_ends_its_process(ray: Any, kind: str, how: str, tmp_path: Path) -> None:
    """The actor's instance is deleted, and so are the local variables of the call."""
    instance, local = tmp_path / "instance", tmp_path / "local"

    def end() -> None:
        kept = Deleted(local)
        if how == "exit_actor":
            ray.actor.exit_actor()
        sys.exit(ENDINGS[how])
        del kept

    class Plain(Deleted):
        def method(self) -> None:
            end()

    class Async(Deleted):
        async def method(self) -> None:
            end()

    if kind == "task":
        refs = [ray.remote(num_cpus=0, max_retries=0)(end).remote()]
    else:
        options = {"threads": {"max_concurrency": 2}, "group": {"concurrency_groups": {"g": 1}}}.get(kind, {})
        actor = ray.remote(num_cpus=0, **options)(Async if kind == "async" else Plain).remote(instance)
        method = actor.method.options(concurrency_group="g") if kind == "group" else actor.method
        refs = [method.remote()]
    with pytest.raises((ray.exceptions.ActorDiedError, ray.exceptions.WorkerCrashedError)):
        ray.get(refs, timeout=PATIENCE_S)
    until(local.exists, "the local variables of the call were not deleted")
    if kind != "task":
        until(instance.exists, "the instance was not deleted")


@pytest.mark.parametrize("how", ENDINGS)
def test_arguments_of_a_plain_method_of_an_async_actor_are_deleted_when_it_ends(
    ray: Any, how: str, tmp_path: Path
) -> None:
    path = tmp_path / "argument"

    @ray.remote(num_cpus=0)
    class Async:
        async def other(self) -> None: ...

        def method(self, values: list[Any]) -> None:
            values.append(Deleted(path))
            if how == "exit_actor":
                ray.actor.exit_actor()
            sys.exit(ENDINGS[how])

    actor = Async.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.method.remote([]), timeout=PATIENCE_S)
    until(path.exists, "the argument was not deleted")


@pytest.mark.parametrize("how", ["exit_actor", "0", "1", "raises", "raises from a method", "raises for another"])
def test_what_a_constructor_has_made_is_deleted_when_it_ends_the_actor(ray: Any, how: str, tmp_path: Path) -> None:
    class Ends(Deleted):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            if how == "exit_actor":
                ray.actor.exit_actor()
            if how == "raises":
                raise ValueError("on purpose")
            if how == "raises from a method":
                try:
                    self.fail()
                except KeyError as problem:
                    raise ValueError("on purpose") from problem
            if how == "raises for another":  # the context has the frame that holds the instance
                try:
                    self.fail()
                except KeyError:
                    raise ValueError("on purpose") from RuntimeError("another")
            sys.exit(ENDINGS[how])

        def fail(self) -> None:
            raise KeyError("on purpose")

        def method(self) -> None: ...

    path = tmp_path / "instance"
    actor = ray.remote(num_cpus=0)(Ends).remote(path)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.method.remote(), timeout=PATIENCE_S)
    until(path.exists, "the instance was not deleted")


@pytest.mark.parametrize("kind", ["method", "threads", "async"])
def test_arguments_of_a_constructor_go_when_it_has_ended(ray: Any, kind: str) -> None:
    class Plain:
        def __init__(self, *values: bytes) -> None:
            self.size = sum(map(len, values))

        def total(self) -> int:
            return self.size

    class Async(Plain):
        async def nothing(self) -> None: ...

    def free() -> float:
        return float(ray.available_resources()["object_store_memory"])

    until(lambda: free() == ray.cluster_resources()["object_store_memory"], "the store is empty")
    cls = ray.remote(num_cpus=0, max_concurrency=2 if kind == "threads" else None)(Async if kind == "async" else Plain)
    actor = cls.remote(bytes(1 << 20), ray.put(bytes(1 << 20)))
    assert ray.get(actor.total.remote(), timeout=PATIENCE_S) == 2 << 20
    until(lambda: free() == ray.cluster_resources()["object_store_memory"], "nothing keeps what the constructor got")
