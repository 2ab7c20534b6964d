"""Monte Carlo: forked workers draw numbers of their own, in every run others."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from program import Program

pytestmark = pytest.mark.timeout(300)

DRAW = """
    import random, secrets, uuid
    import numpy as np
    {imports}
    ray.init(address="local", num_cpus=4, log_to_driver=False)

    {kernel}
    def draw():
        found = {{
            "random": random.random(),
            "numpy": float(np.random.rand()),
            "default_rng": float(np.random.default_rng().random()),
            "SystemRandom": random.SystemRandom().random(),
            "uuid": uuid.uuid4().hex,
            "secrets": secrets.token_hex(8),
        }}
        {more}
        return found

    @ray.remote(max_calls=1)
    def task():
        return draw()

    @ray.remote(num_cpus=0)
    class Actor:
        def draw(self):
            return draw()

    actors = [Actor.remote() for _ in range({actors})]
    values = ray.get([actor.draw.remote() for actor in actors] + [task.remote() for _ in range({tasks})]) + [draw()]
    say(json.dumps(values))
"""


def runs(program: Callable[..., Program], actors: int = 4, tasks: int = 8, **parts: str) -> list[dict[str, Any]]:
    """What the processes of two sessions have drawn."""
    import json

    found: list[dict[str, Any]] = []
    source = DRAW.format(**{"imports": "", "kernel": "", "more": "", **parts}, actors=actors, tasks=tasks)
    for _ in range(2):
        driver = program(source)
        found += json.loads(driver.line(90))
        assert driver.rest() == []
    assert len(found) == 2 * (actors + tasks + 1)
    return found


def test_every_process_draws_its_own(program: Callable[..., Program]) -> None:
    found = runs(program)
    for kind in found[0]:
        values = [one[kind] for one in found]
        assert len(set(values)) == len(values), f"{kind} repeats: {values}"


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
def test_numba_draws_its_own(program: Callable[..., Program]) -> None:
    """Its generator is a global of the process, apart from numpy's."""
    found = runs(
        program,
        actors=1,
        tasks=2,
        imports="import numba",
        kernel="""
    @numba.njit
    def from_numba():
        return np.random.rand()
""",
        more='found["numba"] = from_numba()',
    )
    values = [one["numba"] for one in found]
    assert len(set(values)) == len(values), f"numba repeats: {values}"


def test_a_seed_is_the_users_to_set(ray: Any) -> None:
    """What a task seeds, it gets, in whichever worker."""

    @ray.remote(max_calls=1)
    def draw(seed: int) -> tuple[float, float]:
        import random

        import numpy as np

        random.seed(seed)
        np.random.seed(seed)
        return random.random(), float(np.random.rand())

    found = ray.get([draw.remote(7) for _ in range(4)] + [draw.remote(8)], timeout=60)
    assert len(set(found[:4])) == 1 and found[4] != found[0]
