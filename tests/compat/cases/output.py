"""What workers print, as the driver shows it."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
from typing import Any

from casebook import own_session, readings

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def printed(ray: Any, run: Any, wanted: int, error: bool = False) -> list[str]:
    """The lines with a worker's prefix that the driver shows while `run` runs, pids replaced."""
    text = io.StringIO()
    redirect = contextlib.redirect_stderr(text) if error else contextlib.redirect_stdout(text)
    lines: list[str] = []
    with redirect:
        run()
        for content in readings(text.getvalue, seconds=10):
            plain = ESCAPES.sub("", content)
            lines = [re.sub(r"pid=\d+", "pid=N", line) for line in plain.splitlines() if "pid=" in line[:60]]
            if len(lines) >= wanted:
                break
    return lines


@own_session
def of_a_task(ray: Any) -> None:
    ray.init(num_cpus=1)

    @ray.remote
    def speak() -> None:
        print("hello from a task")

    for line in printed(ray, lambda: ray.get(speak.remote()), 1):
        print(line)


@own_session
def of_an_actor(ray: Any) -> None:
    ray.init(num_cpus=1)

    @ray.remote
    class Speaker:
        def __init__(self) -> None:
            print("made")

        def speak(self) -> None:
            print("hello from an actor")

    def run() -> None:
        speaker = Speaker.remote()
        ray.get(speaker.speak.remote())

    for line in printed(ray, run, 2):
        print(line)


@own_session
def on_standard_error(ray: Any) -> None:
    ray.init(num_cpus=1)

    @ray.remote
    def speak() -> None:
        print("to stderr", file=sys.stderr)
        logging.getLogger("x").warning("a warning")

    for line in printed(ray, lambda: ray.get(speak.remote()), 2, error=True):
        print(line)


@own_session
def several_lines(ray: Any) -> None:
    ray.init(num_cpus=1)

    @ray.remote
    def speak() -> None:
        print("first\nsecond")
        print("third ", end="")
        print("goes on")
        print("last without an end", end="")
        sys.stdout.flush()

    for line in printed(ray, lambda: ray.get(speak.remote()), 4):
        print(line)


@own_session
def different_lines_are_not_folded(ray: Any) -> None:
    ray.init(num_cpus=1)

    @ray.remote
    def speak(i: int) -> None:
        print("line", chr(ord("a") + i))

    for line in sorted(printed(ray, lambda: ray.get([speak.remote(i) for i in range(6)]), 6)):
        print(line)


@own_session
def without_folding(ray: Any) -> None:
    os.environ["RAY_DEDUP_LOGS"] = "0"
    try:
        ray.init(num_cpus=1)

        @ray.remote
        def speak() -> None:
            print("the same")

        for line in printed(ray, lambda: ray.get([speak.remote() for _ in range(6)]), 6):
            print(line)
    finally:
        del os.environ["RAY_DEDUP_LOGS"]


@own_session
def not_to_the_driver(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)

    @ray.remote
    def speak() -> None:
        print("unheard")

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        ray.get([speak.remote() for _ in range(3)])
        ray.shutdown()
    print("unheard" in text.getvalue())
