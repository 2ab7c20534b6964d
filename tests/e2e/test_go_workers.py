"""Functions of a Go worker program, called from Python."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eagleray.exceptions import (
    CrossLanguageError,
    RayTaskError,
    RuntimeEnvSetupError,
    TaskCancelledError,
    WorkerCrashedError,
)
from go_program import ROOT, call, example, function, program
from pace import until

pytestmark = pytest.mark.usefixtures("session")


def refused(name: str, *args: Any, **options: Any) -> CrossLanguageError:
    """The error of a call."""
    with pytest.raises(CrossLanguageError) as caught:
        call(name, *args, **options)
    error: Any = caught.value
    assert isinstance(error, RayTaskError)
    cause: CrossLanguageError = error.cause
    return cause


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("sum", (1, 2), 3),
        ("sum", (True + 0, -5), -4),
        ("join", (",", "a", "b"), "a,b"),
        ("join", (",",), ""),
        ("nothing", (), None),
        ("same", ({"a": (1, None, 2.5, b"x"), "b": [True]},), {"a": [1, None, 2.5, b"x"], "b": [True]}),
        ("same", (2**64 + 1,), 2**64 + 1),
        ("double", ({"id": 3, "items": ["a"], "note": None, "more": 1},), {"id": 6, "items": ["a", "a"], "note": None}),
        ("double", ({"id": 1, "items": (), "note": "n"},), {"id": 2, "items": [], "note": "n"}),
        ("blob", (300_000,), bytes(300_000)),
    ],
)
def test_values_in_and_out(name: str, args: tuple[Any, ...], result: Any) -> None:
    assert call(name, *args) == result


def test_arrays_and_references(ray: Any) -> None:
    large = np.arange(100_000, dtype=np.float64)
    assert call("total", large) == call("total", ray.put(large)) == large.sum()
    made = call("zeros", 50_000)
    assert made.shape == (50_000,) and not made.any()
    one = function("sum").remote(1, 1)
    assert call("sum", one, ray.put(2)) == 4
    assert call("get", [ray.put(1), one, ray.put(5)]) == 8
    assert ray.get(call("put", [1, "two"])) == [1, "two"]


def test_several_results_and_none(ray: Any) -> None:
    halves = function("halves", num_returns=2).remote(7)
    assert ray.get(halves) == [3, 4]
    assert function("nothing", num_returns=0).remote() is None
    error = refused_many(ray, function("halves", num_returns=3).remote(7))
    assert "returned 2 values, and was called for 3 results" in error
    error = refused_many(ray, function("sum", num_returns=2).remote(1, 2))
    assert "only a slice or an array" in error


def refused_many(ray: Any, refs: list[Any]) -> str:
    with pytest.raises(CrossLanguageError) as caught:
        ray.get(refs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("sum", (1,), "sum(int, int) takes 2 arguments, and was given 1"),
        ("sum", (1, 2, 3), "sum(int, int) takes 2 arguments, and was given 3"),
        ("join", (), "join(string, ...string) takes 1 argument or more, and was given 0"),
        ("sum", (1, "x"), "argument 1 of sum(int, int): the value does not fit the Go type: a str cannot become"),
        ("sum", (1.5, 1), "argument 0 of sum(int, int)"),
        ("sum", (2**70, 1), "1180591620717411303424 does not fit"),
        ("same", ({1, 2},), "a set, or another type without a form in Go"),
        ("same", (object(),), "it contains a builtins.object"),
        ("nix", (), "the Go worker program has no function 'nix'; it has registered the functions "),
        ("Counter", (), "is an actor of the Go worker program, and was called as a function"),
        ("count", (3,), 'is a stream: call it with num_returns="streaming"'),
    ],
)
def test_calls_that_are_refused(name: str, args: tuple[Any, ...], text: str) -> None:
    error = refused(name, *args)
    assert error.kind == "refused" and error.language == "go" and error.function == name
    assert text.replace("'", '"') in str(error).replace("'", '"')


def test_keyword_arguments_are_refused(ray: Any) -> None:
    with pytest.raises(CrossLanguageError, match="has no keyword arguments, but was given b: pass them by position"):
        ray.get(function("sum").remote(1, b=2))


def test_an_error_a_panic_and_a_result_that_cannot_travel(ray: Any) -> None:
    error = refused("fail", "no good")
    assert (error.kind, error.message) == ("error", "no good")
    assert f"The Go function fail of {program()} returned an error: no good" in str(error)
    error = refused("panics", [1], 5)
    assert (error.kind, error.message) == ("panic", "runtime error: index out of range [5] with length 1")
    assert "main.failures.func" in str(error) and "goworker/main.go:" in str(error)
    assert "reflect.Value" not in str(error) and "runtime/debug.Stack" not in str(error)
    error = refused("channel")
    assert error.kind == "result" and "a chan int cannot be sent" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is CrossLanguageError and again.message == error.message and str(again) == str(error)

    @ray.remote
    def catches(refs: list[Any]) -> str:
        try:
            ray.get(refs[0])
        except CrossLanguageError as problem:
            return str(problem)
        return ""

    assert "returned an error: inside" in ray.get(catches.remote([function("fail").remote("inside")]))


def test_an_argument_that_failed_fails_the_call(ray: Any) -> None:
    @ray.remote
    def breaks() -> None:
        raise KeyError("python")

    with pytest.raises(KeyError, match="python"):
        call("sum", breaks.remote(), 1)
    assert refused("sum", function("fail").remote("first"), 1).message == "first"


def test_retries_of_errors(tmp_path: Path) -> None:
    assert refused("fails_once", str(tmp_path / "a")).message == "not yet"
    assert call("fails_once", str(tmp_path / "b"), retry_exceptions=True) == "done"
    assert refused("never", str(tmp_path / "c"), retry_exceptions=True, max_retries=5).message == "never"
    assert (tmp_path / "c").read_text() == "x"


def test_processes_that_end(tmp_path: Path) -> None:
    with pytest.raises(WorkerCrashedError, match="ended with exit code 3"):
        call("exits", 3, max_retries=0)
    with pytest.raises(WorkerCrashedError) as caught:
        call("panics_elsewhere", max_retries=0)
    assert "panic: in a goroutine of its own" in str(caught.value) and "main.go:" in str(caught.value)
    with pytest.raises(WorkerCrashedError, match="killed by signal 9"):
        call("dies_once", str(tmp_path / "a"), max_retries=0)
    assert call("dies_once", str(tmp_path / "b"), max_retries=1) > 0


def test_streams(ray: Any, tmp_path: Path) -> None:
    def items(name: str, *args: Any, **options: Any) -> list[Any]:
        return [ray.get(ref) for ref in function(name, num_returns="streaming", **options).remote(*args)]

    assert items("count", 500) == list(range(500)) and items("count", 0) == []
    assert items("letters", "größe") == list("größe")
    stream = function("breaks", num_returns="streaming").remote(2)
    assert [ray.get(next(stream)), ray.get(next(stream))] == [0, 1]
    with pytest.raises(CrossLanguageError, match="broken at 2"):
        ray.get(next(stream))
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(CrossLanguageError, match="is no stream"):
        items("sum", 1, 2)
    path = tmp_path / "noted"
    stream = function("noted", num_returns="streaming", _generator_backpressure_num_objects=2).remote(str(path))
    assert ray.get(next(stream)) == 0
    until(lambda: path.exists() and path.read_text() == "2")
    del stream
    until(lambda: (tmp_path / "noted.closed").exists())
    assert int(path.read_text()) <= 3


def test_resources_and_devices() -> None:
    assert call("gpus", num_gpus=1) in (["0"], ["1"]) and sorted(call("gpus", num_gpus=2)) == ["0", "1"]
    assert call("gpus") == []
    assert call("variable", "CUDA_VISIBLE_DEVICES", num_gpus=2) == "0,1"
    assert call("variable", "CUDA_VISIBLE_DEVICES") == ""
    assert call("resources", num_cpus=2, resources={"slot": 1}) == {"CPU": 2, "slot": 1}
    assert call("pid", max_calls=1) != call("pid", max_calls=1)


def test_where_it_runs(ray: Any) -> None:
    from eagleray.util.placement_group import placement_group, remove_placement_group
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

    node = ray.nodes()[0]["NodeID"]
    assert call("info", scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))["NodeID"] == node
    assert call("info", scheduling_strategy="SPREAD")["NodeID"] == node
    group = placement_group([{"CPU": 1, "GPU": 1}])
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
    try:
        assert len(call("gpus", num_gpus=1, scheduling_strategy=strategy)) == 1
    finally:
        remove_placement_group(group)
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="CPU"):
        call("pid", num_cpus=400)


def test_the_environment(tmp_path: Path) -> None:
    env = {"env_vars": {"A_TEST": "value"}, "working_dir": str(tmp_path)}
    assert call("variable", "A_TEST", runtime_env=env) == "value"
    assert call("folder", runtime_env=env) == str(tmp_path)
    for name in ("EAGLERAY_GO_WORKER", "EAGLERAY_ENV_KEY", "EAGLERAY_GO_PYTHON", "EAGLERAY_ZYGOTE_ADDED"):
        assert call("variable", name) == ""
    assert call("variable", "HOME") == os.environ.get("HOME", "")
    info = call("info")
    assert info["Name"] == "info" and len(info["TaskID"]) == 48 and info["ActorID"] == ""


def test_calls_of_others_inside(ray: Any) -> None:
    assert call("python", "math:sqrt", 4.0) == 2
    error = refused("python", "builtins:int", "zz")
    assert error.kind == "error" and "int raised ValueError: invalid literal" in error.message
    assert call("fib", 7) == 13


def test_cancellation(ray: Any, tmp_path: Path) -> None:
    def cancelled(name: str, path: Path, **how: Any) -> None:
        ref = function(name, max_retries=0).remote(str(path))
        until(path.exists)
        ray.cancel(ref, **how)
        with pytest.raises(TaskCancelledError):
            ray.get(ref, timeout=30)

    cancelled("waits", tmp_path / "a")
    until((tmp_path / "a.cancelled").exists)
    cancelled("waits_for_child", tmp_path / "b")
    until((tmp_path / "b.cancelled").exists)
    cancelled("waits", tmp_path / "c", force=True)
    assert not (tmp_path / "c.cancelled").exists()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"fallback": [{"num_cpus": 1}]}, ValueError, "is written in Go and cannot have fallback="),
        ({"retry_exceptions": [ValueError]}, ValueError, "worker.NoRetry"),
        ({"num_returns": "dynamic"}, ValueError, "streams with 'streaming'"),
        ({"runtime_env": {"py_modules": ["/tmp"]}}, ValueError, "for workers that run Python"),
        ({"max_concurrency": 2}, ValueError, "max_concurrency"),
        ({"num_cpuss": 1}, ValueError, "did you mean 'num_cpus'"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        function("sum", **options)


def test_programs_that_are_no_workers(ray: Any, tmp_path: Path, monkeypatch: Any) -> None:
    go_function = ray.cross_language.go_function
    for name, text in (("ends", "exit 0"), ("fails", "echo it is broken >&2; exit 4")):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        with pytest.raises(RuntimeEnvSetupError, match="calls Main of package core/worker") as caught:
            ray.get(go_function("f", worker=path).remote(), timeout=30)
        assert "it is broken" in str(caught.value) or name == "ends"
    path = tmp_path / "text"
    path.write_text("no program")
    with pytest.raises(ValueError, match="is not executable"):
        go_function("f", worker=path)
    path.chmod(0o755)
    with pytest.raises(RuntimeEnvSetupError, match=r"start the Go worker program .*exec format error"):
        ray.get(go_function("f", worker=path).remote(), timeout=30)
    with pytest.raises(ValueError, match="is no file of this machine"):
        go_function("f", worker=tmp_path)
    with pytest.raises(ValueError, match="give its path"):
        go_function("f", worker="no-such-program-anywhere")
    monkeypatch.delenv("EAGLERAY_GO_PROGRAM", raising=False)
    with pytest.raises(ValueError, match="EAGLERAY_GO_PROGRAM"):
        go_function("f")
    monkeypatch.setenv("EAGLERAY_GO_PROGRAM", program())
    assert ray.get(go_function("sum").remote(2, 2)) == 4
    for name in ("", "x" * 2000):
        with pytest.raises(ValueError, match="from 1 to 1024 bytes"):
            go_function(name, worker=program())


def test_a_program_that_was_built_again_is_used(ray: Any, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    with pytest.raises(RuntimeEnvSetupError):
        ray.get(ray.cross_language.go_function("sum", worker=path).remote(1, 2), timeout=30)
    path.unlink()
    os.link(program(), path)
    assert ray.get(ray.cross_language.go_function("sum", worker=path).remote(1, 2), timeout=30) == 3


def test_functions_travel(ray: Any) -> None:
    @ray.remote
    def uses(f: Any) -> Any:
        return ray.get(f.remote(20, 1))

    assert ray.get(uses.remote(function("sum", num_cpus=0))) == 21
    with pytest.raises(TypeError, match=r"try 'sum.remote\(\)'"):
        function("sum")()
    assert repr(function("sum")) == f"GoFunction('sum', worker={program()!r})"


def test_names_of_rays_module_that_are_missing(ray: Any) -> None:
    for name in ("java_function", "cpp_function", "java_actor_class", "cpp_actor_class"):
        with pytest.raises(AttributeError, match=rf"has no eagleray.cross_language.{name} .*in Go"):
            getattr(ray.cross_language, name)


def test_the_guide_says_what_happens(tmp_path: Path) -> None:
    """The program of docs/go-workers.md is built, and the Python program there calls it and prints what it says."""
    text = (ROOT / "docs" / "go-workers.md").read_text()
    blocks = dict(re.findall(r"(?s)```(go|python)\n(package main.*?|import eagleray.*?)```", text))
    folder = ROOT / "build" / "tools" / "_guide"  # in the module, but not in its pattern ./...
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.go").write_text(blocks["go"])
    words = ["go", "build", "-o", str(tmp_path / "goworker"), "./build/tools/_guide"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-c", blocks["python"]], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"(?m)^ *print\(.*\)  # (.*)$", blocks["python"])


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "goworker" / "call.py", example()],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "mean: 3.0",
        "error: there are no numbers",
        "primes: [2, 3, 5, 7, 11, 13, 17, 19]",
        "left: [4, 2]",
    ]
