"""``experimental.tqdm_ray``: progress bars."""

from __future__ import annotations

import contextlib
import importlib
import io
from typing import Any

from casebook import attempt, case


def bars(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.experimental.tqdm_ray")


@case
def a_bar_counts_its_steps(ray: Any) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        bar = bars(ray).tqdm(range(3), desc="steps")
        print(list(bar), bar.n if hasattr(bar, "n") else None, bar.total)
        other = bars(ray).tqdm(total=10)
        other.update(4)
        other.update()
        print(other._get_state()["x"], other.total)
        other.close()
        other.close()


@case
def the_state_of_a_bar(ray: Any) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        bar = bars(ray).tqdm(desc="d", total=5, unit="page", position=2)
        state = bar._get_state()
        print(
            sorted(state),
            state["__magic_token__"],
            state["desc"],
            state["total"],
            state["unit"],
            state["pos"],
            state["closed"],
        )
        bar.close()
        print(bar._get_state()["closed"])


@case
def a_bar_without_steps(ray: Any) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        bar = bars(ray).tqdm(total=2)
        attempt("iterate", lambda: list(bar))
        bar.close()


@case
def lines_between_bars(ray: Any) -> None:
    bars(ray).safe_print("a", 1, sep="-")
    print(bars(ray).instance() is bars(ray).instance())


@case
def bars_in_tasks(ray: Any) -> None:
    make = bars(ray).tqdm

    @ray.remote
    def work() -> int:
        return sum(make(range(5), desc="work"))

    print(ray.get(work.remote()))
