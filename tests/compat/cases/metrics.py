"""``util.metrics``: what counters, gauges and histograms take and refuse, and what they say of themselves."""

from __future__ import annotations

import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from casebook import attempt, case


def metrics(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}.util.metrics")


def warned(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call returns, and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [one.category.__name__ for one in caught]


@case
def names_of_the_module(ray: Any) -> None:
    print(sorted(metrics(ray).__all__))


@case
def facts_of_a_counter(ray: Any) -> None:
    print(metrics(ray).Counter("facts_c", "what it is", ("a", "b")).info)
    print(metrics(ray).Counter(name="facts_c2", description="d", tag_keys=None).info)


@case
def facts_of_a_gauge_and_a_histogram(ray: Any) -> None:
    print(metrics(ray).Gauge("facts_g").info)
    print(metrics(ray).Histogram("facts_h", "d", [1, 2.5], ("a",)).info)


@case
def counters_count_up_only(ray: Any) -> None:
    counter = metrics(ray).Counter("up")
    for value in (1, 2.5, True, 0, -1, 0.0, "1", None):
        attempt(repr(value), lambda value=value: counter.inc(value))
    attempt("nothing", lambda: counter.inc())


@case
def gauges_take_every_number_and_none(ray: Any) -> None:
    gauge = metrics(ray).Gauge("level")
    for value in (1, -2.5, 0, True, float("inf"), None, "1", [1]):
        attempt(repr(value), lambda value=value: gauge.set(value))


@case
def histograms_take_numbers(ray: Any) -> None:
    histogram = metrics(ray).Histogram("sizes", boundaries=[1, 10])
    for value in (1, -2.5, 0, True, 1e9, None, "1"):
        attempt(repr(value), lambda value=value: histogram.observe(value))


@case
def boundaries_must_be_positive(ray: Any) -> None:
    for boundaries in (None, [], [0, 1], [1, -1], [1, 2], [5, 1], (1, 2)):
        attempt(
            repr(boundaries),
            lambda boundaries=boundaries: metrics(ray).Histogram("b", boundaries=boundaries).boundaries,
        )


@case
def tag_keys_are_a_tuple_of_texts(ray: Any) -> None:
    for keys in (("a",), (), None, ["a"], "a", (1,), ("a", 2)):
        attempt(repr(keys), lambda keys=keys: metrics(ray).Gauge("keys", tag_keys=keys).info["tag_keys"])


@case
def each_tag_needs_a_value(ray: Any) -> None:
    counter = metrics(ray).Counter("needs", tag_keys=("a", "b"))
    for tags in (None, {}, {"a": "1"}, {"a": "1", "b": "2"}, {"a": "1", "b": "2", "c": "3"}):
        attempt(repr(tags), lambda tags=tags: counter.inc(1, tags))


@case
def values_of_tags_are_texts(ray: Any) -> None:
    gauge = metrics(ray).Gauge("texts", tag_keys=("a",))
    for value in ("1", "", 1, None, b"1"):
        attempt(repr(value), lambda value=value: gauge.set(1, {"a": value}))


@case
def default_tags_fill_in(ray: Any) -> None:
    counter = metrics(ray).Counter("fills", tag_keys=("a", "b"))
    print(counter.set_default_tags({"a": "1"}) is counter, counter.info["default_tags"])
    attempt("b is missing", lambda: counter.inc())
    attempt("b is given", lambda: counter.inc(tags={"b": "2"}))
    attempt("a again", lambda: counter.inc(tags={"a": "x", "b": "2"}))
    print(counter.info["default_tags"])


@case
def default_tags_are_checked(ray: Any) -> None:
    gauge = metrics(ray).Gauge("checked", tag_keys=("a",))
    for tags in ({"a": "1"}, {"b": "1"}, {"a": 1}, {}):
        attempt(repr(tags), lambda tags=tags: gauge.set_default_tags(tags).info["default_tags"])


@case
def a_name_must_not_be_empty(ray: Any) -> None:
    for kind in ("Counter", "Gauge"):
        attempt(kind, lambda kind=kind: getattr(metrics(ray), kind)(""))
    attempt("Histogram", lambda: metrics(ray).Histogram("", boundaries=[1]))


@case
def a_name_that_is_none_warns_and_counts_nothing(ray: Any) -> None:
    for name in ("1a", "a b", "a-b", "a.b"):
        counter, kinds = warned(lambda name=name: metrics(ray).Counter(name, tag_keys=("k",)))
        print(name, kinds, counter.inc(), counter.info["name"])


@case
def a_colon_in_a_name_warns(ray: Any) -> None:
    gauge, kinds = warned(lambda: metrics(ray).Gauge("a:b"))
    print(kinds, gauge.set(1))


@case
def a_histogram_checks_its_name_before_its_boundaries(ray: Any) -> None:
    attempt("no name, no boundaries", lambda: metrics(ray).Histogram("", boundaries=[]))
    attempt("a list of tags", lambda: metrics(ray).Histogram("h", boundaries=[0], tag_keys=["a"]))


@case
def metrics_travel_to_tasks(ray: Any) -> None:
    counter = metrics(ray).Counter("travels", "d", ("a",))
    gauge = metrics(ray).Gauge("travels_g")
    histogram = metrics(ray).Histogram("travels_h", boundaries=[1, 2])

    @ray.remote
    def use(*given: Any) -> Any:
        given[0].inc(2, {"a": "x"})
        given[1].set(1)
        given[2].observe(1.5)
        return [one.info for one in given]

    print(ray.get(use.remote(counter, gauge, histogram)))


@case
def metrics_are_pickled(ray: Any) -> None:
    for one in (metrics(ray).Gauge("p", "d", ("a",)), metrics(ray).Histogram("p_h", "d", [1, 2], ("a",))):
        print(type(pickle.loads(pickle.dumps(one))).__name__, pickle.loads(pickle.dumps(one)).info)


@case
def actors_keep_metrics(ray: Any) -> None:
    kind = metrics(ray).Counter

    @ray.remote
    class Keeps:
        def __init__(self) -> None:
            self.counter = kind("kept", tag_keys=("n",)).set_default_tags({"n": "1"})

        def count(self) -> Any:
            self.counter.inc()
            return self.counter.info

    keeps = Keeps.remote()
    print(ray.get([keeps.count.remote() for _ in range(2)]))


@case
def one_name_twice(ray: Any) -> None:
    one, two = (metrics(ray).Counter("twice", tag_keys=("a",)) for _ in range(2))
    print(one is two, one.inc(1, {"a": "1"}), two.inc(1, {"a": "1"}))
