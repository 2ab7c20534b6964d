"""What tasks and actors ask of the labels of their node, what is refused, and the labels of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from casebook import accepts, attempt, label_case

Asked = Mapping[str, Any]


def strategies(ray: Any) -> Any:
    return import_module(f"{ray.__name__}.util.scheduling_strategies")


def runs(ray: Any, made: list[tuple[str, Any]], seconds: float = 4) -> None:
    """Says which of these references become ready with a value. Work that no node can run waits under Ray."""
    ready, _ = ray.wait([ref for _, ref in made], num_returns=len(made), timeout=seconds)
    for label, ref in made:
        if ref in ready:
            try:
                ray.get(ref)
            except Exception:
                ready.remove(ref)
        print(label, "runs" if ref in ready else "does not run")


def tasks(ray: Any, asked: list[tuple[str, Asked]]) -> None:
    task = ray.remote(num_cpus=0)(lambda: 1)
    runs(ray, [(label, task.options(**options).remote()) for label, options in asked])


def actors(ray: Any, asked: list[tuple[str, Asked]]) -> None:
    class Here:
        def one(self) -> int:
            return 1

    kept = [(label, ray.remote(num_cpus=0)(Here).options(**options).remote()) for label, options in asked]
    runs(ray, [(label, actor.one.remote()) for label, actor in kept], 12)


def selectors(*asked: Asked) -> list[tuple[str, Asked]]:
    return [(str(selector), {"label_selector": selector}) for selector in asked]


@label_case
def labels_of_the_node(ray: Any) -> None:
    node = ray.nodes()[0]
    labels = node["Labels"]
    print(sorted(labels), labels["ray.io/node-id"] == node["NodeID"], repr(labels["empty"]), labels["zone"])


@label_case
def labels_in_the_driver(ray: Any) -> None:
    print(ray.get_runtime_context().get_node_labels() == ray.nodes()[0]["Labels"])


@label_case
def labels_in_a_task(ray: Any) -> None:
    get = ray.remote(lambda: ray.get_runtime_context().get_node_labels())
    print(ray.get(get.remote(), timeout=60) == ray.nodes()[0]["Labels"])


@label_case
def labels_in_an_actor(ray: Any) -> None:
    class Here:
        def labels(self) -> Any:
            return ray.get_runtime_context().get_node_labels()

    print(ray.get(ray.remote(Here).remote().labels.remote(), timeout=60) == ray.nodes()[0]["Labels"])


@label_case
def a_users_label_replaces_a_default_one(ray: Any) -> None:
    print(ray.nodes()[0]["Labels"]["ray.io/market-type"])


@label_case
def equality(ray: Any) -> None:
    tasks(ray, selectors({"zone": "a"}, {"zone": "b"}, {"other": "a"}, {"zone": "A"}, {}))


@label_case
def not_equal(ray: Any) -> None:
    tasks(ray, selectors({"zone": "!a"}, {"zone": "!b"}, {"other": "!a"}))


@label_case
def one_of_several(ray: Any) -> None:
    tasks(ray, selectors({"zone": "in(a,b)"}, {"zone": "in(b, a)"}, {"zone": "in(b,c)"}, {"other": "in(a)"}))


@label_case
def none_of_several(ray: Any) -> None:
    tasks(ray, selectors({"zone": "!in(a,b)"}, {"zone": "!in(b, c)"}, {"other": "!in(a)"}))


@label_case
def all_conditions_hold(ray: Any) -> None:
    tasks(ray, selectors({"zone": "a", "tier": "x"}, {"zone": "a", "tier": "y"}, {"zone": "!b", "tier": "in(x,y)"}))


@label_case
def empty_values(ray: Any) -> None:
    tasks(ray, selectors({"empty": ""}, {"zone": ""}, {"other": ""}))


@label_case
def default_labels_are_selected(ray: Any) -> None:
    node = ray.nodes()[0]["NodeID"]
    asked = {"the node": node, "not the node": f"!{node}", "another": "ab" * 28}
    tasks(ray, [(label, {"label_selector": {"ray.io/node-id": text}}) for label, text in asked.items()])


@label_case
def selectors_of_actors(ray: Any) -> None:
    actors(ray, selectors({"zone": "a"}, {"zone": "b"}, {"zone": "!b"}, {"zone": "in(a,b)"}, {"other": "!in(a)"}, {}))


@label_case
def selector_in_the_decorator(ray: Any) -> None:
    right = ray.remote(label_selector={"zone": "a"})(lambda: 1)
    wrong = ray.remote(label_selector={"zone": "b"})(lambda: 1)
    made = [("right", right.remote()), ("wrong", wrong.remote())]
    made += [("replaced", wrong.options(label_selector={"zone": "a"}).remote())]
    runs(ray, [*made, ("removed", wrong.options(label_selector=None).remote())])


def falls(*lists: Any, first: Asked | None = None) -> list[tuple[str, Asked]]:
    selector = {"zone": "b"} if first is None else first
    return [(str(listed), {"label_selector": selector, "fallback_strategy": listed}) for listed in lists]


@label_case
def fallback_strategies_of_tasks(ray: Any) -> None:
    wrong, right = {"label_selector": {"zone": "c"}}, {"label_selector": {"zone": "a"}}
    tasks(ray, falls([right], [wrong], [wrong, right], [], None, [{"label_selector": {}}], [{"label_selector": None}]))


@label_case
def fallback_strategies_of_actors(ray: Any) -> None:
    wrong, right = {"label_selector": {"zone": "c"}}, {"label_selector": {"zone": "a"}}
    actors(ray, falls([right], [wrong], [wrong, right]))


@label_case
def fallback_strategy_without_a_selector(ray: Any) -> None:
    tasks(ray, [("any node", {"fallback_strategy": [{"label_selector": {"zone": "b"}}]})])


@label_case
def wrong_selectors_are_refused(ray: Any) -> None:
    for selector in (
        *({"zone": text} for text in ("!", "!!a", "in()", "!in()", "in(a,)", "in(,a)", "in(a", "in(a,  b)", "a b")),
        *({"zone": text} for text in ("-a", "a-", "a,b", "not(a)", "x" * 64, "in(" + "x" * 64 + ")", "!in(a!b)", "*")),
        *({name: "a"} for name in ("", "a b", "-a", "a-", "x" * 64, "x/y/z", "-x/z", "x-/z", "x/", "ä")),
    ):
        accepts(str(selector)[:60], lambda selector=selector: ray.remote(label_selector=selector)(lambda: 1))


@label_case
def right_selectors_are_taken(ray: Any) -> None:
    for selector in (
        *({"zone": text} for text in ("a", "!a", "in(a)", "!in(a,b)", "in(a, b)", "a.b_c-d", "A1", "", "x" * 63)),
        *({name: "a"} for name in ("a", "A.b_c-d", "x" * 63, "x.y/z", "ray.io/market-type")),
        {},
        None,
    ):
        accepts(str(selector)[:60], lambda selector=selector: ray.remote(label_selector=selector)(lambda: 1))


@label_case
def selectors_of_the_wrong_type_are_refused(ray: Any) -> None:
    for selector in ("zone", [("zone", "a")], 3, {3: "a"}, {"zone": 3}, {"zone": ["a"]}):
        accepts(str(selector), lambda selector=selector: ray.remote(label_selector=selector)(lambda: 1))


@label_case
def wrong_selectors_of_actors_are_refused(ray: Any) -> None:
    for selector in ({"zone": "a b"}, {"a b": "a"}, {"zone": 3}, "zone"):
        accepts(str(selector), lambda selector=selector: ray.remote(label_selector=selector)(type("A", (), {})))
        actor = ray.remote(type("A", (), {}))
        accepts(f"{selector} in options", lambda actor=actor, selector=selector: actor.options(label_selector=selector))


@label_case
def wrong_fallback_strategies_are_refused(ray: Any) -> None:
    right = {"label_selector": {"zone": "a"}}
    for listed in (
        *({"label_selector": {}}, (right,), "x", 3),
        *([{}], [right, {}], ["x"], [None], [{"num_cpus": 1}], [{**right, "memory": 3}]),
        *([{"label_selector": "x"}], [{"label_selector": {"zone": "a b"}}], [right, {"label_selector": {"a b": "c"}}]),
    ):
        accepts(str(listed), lambda listed=listed: ray.remote(fallback_strategy=listed)(lambda: 1))


@label_case
def right_fallback_strategies_are_taken(ray: Any) -> None:
    right = {"label_selector": {"zone": "a"}}
    for listed in (None, [], [right], [right, right], [{"label_selector": {}}], [{"label_selector": None}]):
        accepts(str(listed), lambda listed=listed: ray.remote(fallback_strategy=listed)(lambda: 1))


@label_case
def methods_have_no_selector(ray: Any) -> None:
    class Here:
        def one(self) -> int:
            return 1

    actor = ray.remote(Here).remote()
    try:
        ray.get(actor.one.options(label_selector={"zone": "a"}).remote(), timeout=60)
        print("taken")
    except Exception as error:
        print("refused", isinstance(error, (TypeError, ValueError)))


@label_case
def operators_refuse_wrong_values(ray: Any) -> None:
    s = strategies(ray)
    for operator in (s.In, s.NotIn):
        for values in ((), (3,), ("a", 3), (None,), ("a",), ("a", "b")):
            accepts(f"{operator.__name__}{values}", lambda operator=operator, values=values: operator(*values))
    for operator in (s.Exists, s.DoesNotExist):
        attempt(f"{operator.__name__} of a value", lambda operator=operator: operator("a"))
    print(s.In("a", "b").values, s.NotIn("c").values)


@label_case
def strategies_of_labels_refuse_wrong_arguments(ray: Any) -> None:
    s = strategies(ray)
    make: dict[str, Callable[[], Any]] = {
        "nothing": lambda: s.NodeLabelSchedulingStrategy(),
        "empty": lambda: s.NodeLabelSchedulingStrategy({}),
        "both empty": lambda: s.NodeLabelSchedulingStrategy({}, soft={}),
        "none": lambda: s.NodeLabelSchedulingStrategy(None),
        "a text": lambda: s.NodeLabelSchedulingStrategy("a"),
        "a list": lambda: s.NodeLabelSchedulingStrategy([s.In("a")]),
        "a number as key": lambda: s.NodeLabelSchedulingStrategy({3: s.In("a")}),
        "a text as operator": lambda: s.NodeLabelSchedulingStrategy({"a": "b"}),
        "a class as operator": lambda: s.NodeLabelSchedulingStrategy({"a": s.Exists}),
        "a wrong soft one": lambda: s.NodeLabelSchedulingStrategy(None, soft={"a": "b"}),
        "soft by position": lambda: s.NodeLabelSchedulingStrategy({"a": s.Exists()}, {"a": s.Exists()}),
        "hard": lambda: s.NodeLabelSchedulingStrategy({"a": s.Exists()}),
        "hard by name": lambda: s.NodeLabelSchedulingStrategy(hard={"a": s.Exists()}),
        "soft": lambda: s.NodeLabelSchedulingStrategy(None, soft={"a": s.Exists()}),
        "both": lambda: s.NodeLabelSchedulingStrategy({"a": s.Exists()}, soft={"b": s.DoesNotExist()}),
    }
    for label, function in make.items():
        accepts(label, function)


@label_case
def strategies_of_labels_have_expressions(ray: Any) -> None:
    s = strategies(ray)
    made = s.NodeLabelSchedulingStrategy({"a": s.In("x", "y"), "b": s.Exists()}, soft={"c": s.NotIn("z")})
    for expression in (*made.hard, *made.soft):
        print(expression.key, type(expression.operator).__name__, getattr(expression.operator, "values", None))


@label_case
def hard_labels(ray: Any) -> None:
    s = strategies(ray)
    asked = {
        "in a": {"zone": s.In("a")},
        "in a and b": {"zone": s.In("b", "a")},
        "in b": {"zone": s.In("b")},
        "not in a": {"zone": s.NotIn("a")},
        "not in b": {"zone": s.NotIn("b", "c")},
        "other not in a": {"other": s.NotIn("a")},
        "exists": {"zone": s.Exists()},
        "empty exists": {"empty": s.Exists()},
        "other exists": {"other": s.Exists()},
        "does not exist": {"zone": s.DoesNotExist()},
        "other does not exist": {"other": s.DoesNotExist()},
        "two": {"zone": s.In("a"), "tier": s.In("x")},
        "two of which one is wrong": {"zone": s.In("a"), "tier": s.In("y")},
    }
    make = s.NodeLabelSchedulingStrategy
    tasks(ray, [(label, {"scheduling_strategy": make(hard)}) for label, hard in asked.items()])


@label_case
def soft_labels(ray: Any) -> None:
    s = strategies(ray)
    make = s.NodeLabelSchedulingStrategy
    tasks(
        ray,
        [
            ("soft that is met", {"scheduling_strategy": make({}, soft={"zone": s.In("a")})}),
            ("soft that is not met", {"scheduling_strategy": make({}, soft={"zone": s.In("b")})}),
            ("hard and soft", {"scheduling_strategy": make({"zone": s.In("a")}, soft={"zone": s.In("b")})}),
            ("wrong hard", {"scheduling_strategy": make({"zone": s.In("b")}, soft={"zone": s.In("a")})}),
        ],
    )


@label_case
def actors_with_a_strategy_of_labels(ray: Any) -> None:
    s = strategies(ray)
    make = s.NodeLabelSchedulingStrategy
    asked = [make({"zone": s.In("a")}), make({"zone": s.Exists()}, soft={"zone": s.In("b")})]
    actors(ray, [(str(i), {"scheduling_strategy": strategy}) for i, strategy in enumerate(asked)])


@label_case
def labels_together_with_a_strategy(ray: Any) -> None:
    s = strategies(ray)
    node = ray.nodes()[0]["NodeID"]
    group = ray.util.placement_group([{"CPU": 1}])
    ray.get(group.ready(), timeout=60)
    found = {
        "DEFAULT": "DEFAULT",
        "SPREAD": "SPREAD",
        "the node": s.NodeAffinitySchedulingStrategy(node, soft=False),
        "rather the node": s.NodeAffinitySchedulingStrategy(node, soft=True),
        "labels": s.NodeLabelSchedulingStrategy({"tier": s.In("x")}),
        "group": s.PlacementGroupSchedulingStrategy(group),
    }
    for zone in ("a", "b"):
        tasks(
            ray,
            [
                (f"{label} in {zone}", {"scheduling_strategy": strategy, "label_selector": {"zone": zone}})
                for label, strategy in found.items()
            ],
        )


@label_case
def labels_together_with_resources(ray: Any) -> None:
    zone = {"label_selector": {"zone": "a"}}
    tasks(
        ray,
        [
            ("memory", {**zone, "memory": 1000}),
            ("a custom one", {**zone, "resources": {"disk": 1}}),
            ("one that is not there", {**zone, "resources": {"tape": 1}}),
        ],
    )


@label_case
def bundles_with_labels(ray: Any) -> None:
    for selector in ({"zone": "a"}, {"zone": "!a"}, {"zone": "in(a,b)"}, {"other": "!x"}):
        group = ray.util.placement_group([{"CPU": 1}], bundle_label_selector=[selector])
        try:
            print(selector, group.wait(3))
        except Exception:
            print(selector, False)
        ray.util.remove_placement_group(group)


@label_case
def a_selector_stays_with_what_is_tried_again(ray: Any) -> None:
    import os

    class Tries:
        count = 0

        def next(self) -> int:
            self.count += 1
            return self.count

    def dies(tries: Any) -> str:
        if ray.get(tries.next.remote()) < 3:
            os._exit(1)
        return str(ray.get_runtime_context().get_node_labels()["zone"])

    tries = ray.remote(num_cpus=0)(Tries).remote()
    task = ray.remote(label_selector={"zone": "a"}, max_retries=3)(dies)
    print(ray.get(task.remote(tries), timeout=60), ray.get(tries.next.remote()))
