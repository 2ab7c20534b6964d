"""References as arguments: resolved at the top level, passed through when nested, and failing with their task."""

from __future__ import annotations

from typing import Any

from casebook import attempt, case


@case
def top_level_is_resolved(ray: Any) -> None:
    @ray.remote
    def kinds(*args: Any, **named: Any) -> tuple[list[Any], dict[str, Any]]:
        return list(args), named

    ref = ray.put(5)
    print(ray.get(kinds.remote(ref, 6, x=ref, y=7)))


@case
def nested_is_passed_through(ray: Any) -> None:
    @ray.remote
    def look(box: Any) -> list[Any]:
        values = box.values() if isinstance(box, dict) else box
        return [isinstance(item, ray.ObjectRef) and ray.get(item) for item in values]

    ref = ray.put("deep")
    print(ray.get(look.remote([ref, 1])))
    print(ray.get(look.remote({"k": ref})))
    print(ray.get(look.remote((ref,))))
    print(ray.get(look.remote(ray.put([ref]))))


@case
def chains(ray: Any) -> None:
    @ray.remote
    def inc(x: int) -> int:
        return x + 1

    ref = ray.put(0)
    for _ in range(50):
        ref = inc.remote(ref)
    print(ray.get(ref))


@case
def many_references_at_once(ray: Any) -> None:
    @ray.remote
    def one(i: int) -> int:
        return i

    @ray.remote
    def total(*parts: int) -> int:
        return sum(parts)

    print(ray.get(total.remote(*[one.remote(i) for i in range(40)])))


@case
def the_same_reference_twice(ray: Any) -> None:
    @ray.remote
    def compare(a: list[int], b: list[int]) -> tuple[bool, bool]:
        return a == b, a is b

    ref = ray.put([1, 2])
    print(ray.get(compare.remote(ref, ref))[0])


@case
def errors_go_to_the_dependants(ray: Any) -> None:
    @ray.remote
    def fail() -> int:
        raise ValueError("first")

    @ray.remote
    def use(x: int) -> int:
        print("never runs")
        return x

    @ray.remote
    class Sink:
        def take(self, x: int) -> int:
            return x

    bad = fail.remote()
    attempt("task", lambda: ray.get(use.remote(bad)))
    attempt("chain", lambda: ray.get(use.remote(use.remote(bad))))
    attempt("keyword", lambda: ray.get(use.remote(x=bad)))
    sink = Sink.remote()
    attempt("actor", lambda: ray.get(sink.take.remote(bad)))
    print("the actor lives:", ray.get(sink.take.remote(1)))


@case
def the_text_of_a_passed_error(ray: Any) -> None:
    @ray.remote
    def fail() -> int:
        raise ValueError("the cause")

    @ray.remote
    def use(x: int) -> int:
        return x

    try:
        ray.get(use.remote(fail.remote()))
    except ValueError as error:
        print("names the cause:", "ValueError: the cause" in str(error), type(error).__name__)


@case
def large_arguments(ray: Any) -> None:
    @ray.remote
    def measure(data: bytes, text: str, numbers: list[int]) -> tuple[int, int, int]:
        return len(data), len(text), sum(numbers)

    print(ray.get(measure.remote(b"x" * 5_000_000, "y" * 300_000, list(range(100_000)))))
    data = ray.put(b"z" * 3_000_000)
    print(ray.get([measure.remote(data, "", []) for _ in range(3)]))


@case
def arguments_are_copies(ray: Any) -> None:
    @ray.remote
    def change(items: list[int]) -> list[int]:
        items.append(99)
        return items

    items = [1]
    print(ray.get(change.remote(items)), items)
    ref = ray.put(items)
    print(ray.get(change.remote(ref)), ray.get(ref))


@case
def values_are_taken_at_the_call(ray: Any) -> None:
    @ray.remote
    def read(box: dict[str, int]) -> dict[str, int]:
        return box

    box = {"x": 1}
    ref = read.remote(box)
    box["x"] = 2
    stored = ray.put(box)
    box["x"] = 3
    print(ray.get(ref), ray.get(stored))


@case
def actors_resolve_too(ray: Any) -> None:
    @ray.remote
    class Holder:
        def __init__(self, value: int, box: list[Any]) -> None:
            self.value = value
            self.inner = ray.get(box[0])

        def show(self, more: int, nested: list[Any]) -> tuple[int, int, int, bool]:
            return self.value, self.inner, more, isinstance(nested[0], ray.ObjectRef)

    ref = ray.put(4)
    holder = Holder.remote(ref, [ref])
    print(ray.get(holder.show.remote(ref, nested=[ref])))


@case
def a_reference_in_a_closure(ray: Any) -> None:
    ref = ray.put("captured")

    @ray.remote
    def read() -> str:
        return ray.get(ref)

    print(ray.get(read.remote()))


@case
def a_stored_reference_keeps_its_object(ray: Any) -> None:
    @ray.remote
    def make() -> Any:
        return [ray.put(b"kept" * 100_000)]

    (inner,) = ray.get(make.remote())
    print(ray.get(inner)[:4], len(ray.get(inner)))


@case
def a_borrower_keeps_an_object(ray: Any) -> None:
    @ray.remote
    class Keeper:
        def keep(self, box: list[Any]) -> None:
            self.box = box

        def read(self) -> int:
            return len(ray.get(self.box[0]))

    keeper = Keeper.remote()
    ref = ray.put(b"x" * 500_000)
    ray.get(keeper.keep.remote([ref]))
    del ref
    print(ray.get(keeper.read.remote()))
