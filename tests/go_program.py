"""The Go program of the tests: built once, and its functions and actors as Python calls them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import eagleray as ray

ROOT = Path(__file__).parents[1]


def program() -> str:
    """The path of the program of the tests, which is built if its sources have changed."""
    return _built("./tests/e2e/goworker", "goworker")


def example() -> str:
    """The path of the example's program."""
    return _built("./examples/goworker", "example")


@functools.cache
def _built(package: str, name: str) -> str:
    path = ROOT / "build" / "tools" / name
    words = ["go", "build", "-o", str(path), package]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return str(path)


def function(name: str, /, **options: Any) -> Any:
    """A function of the program."""
    made = ray.cross_language.go_function(name, worker=program())
    return made.options(**options) if options else made


def actor(kind: str = "Counter", /, **options: Any) -> Any:
    """A kind of actors of the program."""
    made = ray.cross_language.go_actor_class(kind, worker=program())
    return made.options(**options) if options else made


def call(name: str, /, *args: Any, **options: Any) -> Any:
    """What a function of the program gives."""
    return ray.get(function(name, **options).remote(*args), timeout=60)
