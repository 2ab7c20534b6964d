"""The program that ``eagleray trace-report --run`` traces: empty tasks and actor calls, one by one and many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import eagleray as ray

SINGLE, MANY, ROUNDS = 1000, 1000, 4


class _Nothing:
    def call(self) -> None:
        return None


def main() -> None:
    """Runs the calls in a session of its own."""
    with ray.init(address="local"):
        task = ray.remote(lambda: None)
        actor = ray.remote(num_cpus=0)(_Nothing).remote()
        _calls(task.remote)
        _calls(actor.call.remote)


def _calls(call: Callable[[], Any]) -> None:
    ray.get([call() for _ in range(MANY)])  # workers start
    for _ in range(SINGLE):
        ray.get(call())
    for _ in range(ROUNDS):
        ray.get([call() for _ in range(MANY)])


if __name__ == "__main__":
    main()
