"""What type checkers must object to: each line with a comment ``wrong``, and no other."""

from __future__ import annotations

import eagleray as ray


@ray.remote
def f(x: int) -> int:
    return x


def arguments() -> None:
    f.remote("a")  # wrong
    f.remote(1, 2)  # wrong
    f.remote(y=1)  # wrong


def results() -> None:
    number: str = ray.get(f.remote(1))  # wrong
    ray.get(1)  # wrong
    ray.wait(f.remote(1))  # wrong
    print(number)


def options() -> None:
    f.options(fallback_after="soon")  # wrong
    ray.remote(num_gpus=1, fallback=[2])  # wrong
    ray.init(num_cpu="many", num_cpus="many")  # wrong
