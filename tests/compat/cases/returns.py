"""Number of return values: `num_returns` as a number, generators behind it, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from casebook import attempt, case


@case
def none_one_and_three(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def three() -> tuple[int, str, None]:
        return 1, "two", None

    a, b, c = three.remote()
    print(ray.get(a), ray.get(b), ray.get(c), ray.get([c, b, a]))
    print(ray.get(three.options(num_returns=1).remote()))
    print(three.options(num_returns=0).remote())


@case
def lists_and_other_sequences(ray: Any) -> None:
    def pair(kind: str) -> Any:
        return {"list": [1, 2], "tuple": (1, 2), "text": "ab", "dict": {"x": 1, "y": 2}, "range": range(2)}[kind]

    remote_pair = ray.remote(num_returns=2)(pair)
    for kind in ("list", "tuple", "text", "dict", "range"):
        attempt(kind, lambda kind=kind: ray.get(remote_pair.remote(kind)))


@case
def wrong_number(ray: Any) -> None:
    @ray.remote
    def values(n: int) -> tuple[int, ...]:
        return tuple(range(n))

    for n in (1, 2, 3):
        refs = values.options(num_returns=2).remote(n)
        attempt(f"{n} for 2", lambda refs=refs: ray.get(refs))
    attempt("not a sequence", lambda: ray.get(ray.remote(lambda: 5).options(num_returns=2).remote()))
    attempt("none for none", lambda: ray.remote(lambda: 5).options(num_returns=0).remote())


@case
def one_error_fails_all(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def fail() -> tuple[int, int]:
        raise KeyError("x")

    first, second = fail.remote()
    attempt("first", lambda: ray.get(first))
    attempt("second", lambda: ray.get(second))


@case
def generator_with_a_fixed_number(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def squares() -> Iterator[int]:
        for i in range(3):
            yield i * i

    print(ray.get(squares.remote()))


@case
def generator_with_too_few(ray: Any) -> None:
    @ray.remote(num_returns=3)
    def two() -> Iterator[int]:
        yield 1
        yield 2

    refs = two.remote()
    for ref in refs:
        attempt("value", lambda ref=ref: ray.get(ref, timeout=20))


@case
def generator_that_fails(ray: Any) -> None:
    @ray.remote(num_returns=3, max_retries=0)
    def fail() -> Iterator[int]:
        yield 1
        raise ValueError("stop")

    for ref in fail.remote():
        attempt("value", lambda ref=ref: ray.get(ref, timeout=20))


@case
def methods(ray: Any) -> None:
    @ray.remote
    class Pair:
        @ray.method(num_returns=2)
        def both(self) -> tuple[int, int]:
            return 1, 2

        def single(self) -> tuple[int, int]:
            return 3, 4

    pair = Pair.remote()
    a, b = pair.both.remote()
    print(ray.get([a, b]))
    print(ray.get(pair.single.remote()))
    print(ray.get(pair.single.options(num_returns=2).remote()))
    print(ray.get(pair.both.options(num_returns=1).remote()))
    print(pair.single.options(num_returns=0).remote())


@case
def method_of_a_handle_passed_on(ray: Any) -> None:
    @ray.remote
    class Pair:
        @ray.method(num_returns=2)
        def both(self) -> tuple[str, str]:
            return "left", "right"

    @ray.remote
    def ask(pair: Any) -> list[str]:
        return ray.get(pair.both.remote())

    print(ray.get(ask.remote(Pair.remote())))


@case
def large_and_small(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def sizes() -> tuple[bytes, int]:
        return b"x" * 1_000_000, 1

    large, small = sizes.remote()
    print(len(ray.get(large)), ray.get(small))


@case
def a_wait_on_parts(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def parts() -> tuple[int, int]:
        return 1, 2

    refs = parts.remote()
    ready, rest = ray.wait(refs, num_returns=2)
    print(len(ready), len(rest), ready == refs)
