"""Labels of a session with one node, and the checks of what asks for labels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import eagleray
import pytest
from eagleray.exceptions import ActorUnschedulableError, TaskUnschedulableError
from eagleray.util.placement_group import placement_group
from eagleray.util.scheduling_strategies import (
    DoesNotExist,
    Exists,
    In,
    NodeAffinitySchedulingStrategy,
    NodeLabelSchedulingStrategy,
    NotIn,
    PlacementGroupSchedulingStrategy,
)

SPACE = {"zone": "a b"}


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"label_selector": "zone"}, TypeError, "The type of keyword 'label_selector' must be (<class 'dict'"),
        ({"label_selector": [("zone", "a")]}, TypeError, "The type of keyword 'label_selector' must be (<class 'dict'"),
        ({"label_selector": {3: "a"}}, TypeError, "the name of a label must be a text, got 3"),
        ({"label_selector": {"zone": 3}}, TypeError, "the condition of 'zone' must be a text, got 3"),
        ({"label_selector": {"zone": None}}, ValueError, "the condition of 'zone' must be a text, got None"),
        ({"label_selector": SPACE}, ValueError, "Invalid label selector value `a b`"),
        ({"label_selector": {"zone": "!"}}, ValueError, "Invalid label selector value `!`"),
        ({"label_selector": {"zone": "!!a"}}, ValueError, "Invalid label selector value `!!a`"),
        ({"label_selector": {"zone": "in()"}}, ValueError, "Invalid label selector value `in()`"),
        ({"label_selector": {"zone": "!in()"}}, ValueError, "Invalid label selector value `!in()`"),
        ({"label_selector": {"zone": "in(a,)"}}, ValueError, "Invalid label selector value `in(a,)`"),
        ({"label_selector": {"zone": "in(a"}}, ValueError, "Invalid label selector value `in(a`"),
        ({"label_selector": {"zone": "in(a,  b)"}}, ValueError, "Invalid label selector value `in(a,  b)`"),
        ({"label_selector": {"zone": "*"}}, ValueError, "Invalid label selector value `*`"),
        ({"label_selector": {"zone": "(a)"}}, ValueError, "Invalid label selector value `(a)`"),
        ({"label_selector": {"zone": "x" * 64}}, ValueError, "at most 63 characters"),
        ({"label_selector": {"": "a"}}, ValueError, "Invalid label key name ``"),
        ({"label_selector": {"a b": "a"}}, ValueError, "Invalid label key name `a b`"),
        ({"label_selector": {"x" * 64: "a"}}, ValueError, "at most 63 characters"),
        ({"label_selector": {"x/y/z": "a"}}, ValueError, "Invalid label key prefix `x/y`"),
        ({"label_selector": {"-x/z": "a"}}, ValueError, "Invalid label key prefix `-x`"),
        ({"fallback_strategy": {"label_selector": {}}}, TypeError, "must be (<class 'list'>"),
        ({"fallback_strategy": ["x"]}, ValueError, "Each element in fallback_strategy must be a dictionary"),
        ({"fallback_strategy": [{}]}, ValueError, "Empty dictionary found in `fallback_strategy`"),
        ({"fallback_strategy": [{"num_cpus": 1}]}, ValueError, "Unsupported option found: 'num_cpus'"),
        (
            {"fallback_strategy": [{"label_selector": {"a": "b"}, "memory": 3}]},
            ValueError,
            "fallback_strategy[0]: Unsupported option found: 'memory'",
        ),
        ({"fallback_strategy": [{"label_selector": "x"}]}, ValueError, 'The value of "label_selector" must be'),
        (
            {"fallback_strategy": [{"label_selector": {}}, {"label_selector": SPACE}]},
            ValueError,
            "fallback_strategy[1]['label_selector']: Invalid label selector value `a b`",
        ),
        ({"fallback_strategy": [{"label_selector": {"zone": "a"}}] * 100}, ValueError, "at most 99 alternatives"),
        ({"scheduling_strategy": NodeLabelSchedulingStrategy({"a b": In("x")})}, ValueError, "key name `a b`"),
        ({"scheduling_strategy": NodeLabelSchedulingStrategy({"a": In("x", "y z")})}, ValueError, "key value `y z`"),
        ({"scheduling_strategy": NodeLabelSchedulingStrategy({}, soft={"a": NotIn("")})}, ValueError, "key value ``"),
    ],
)
def test_wrong_options_are_refused_where_they_are_written(options: Any, error: type[Exception], text: str) -> None:
    for write in (
        lambda: eagleray.remote(**options)(lambda: 1),
        lambda: eagleray.remote(lambda: 1).options(**options),
        lambda: eagleray.remote(**options)(type("A", (), {})),
        lambda: eagleray.remote(type("A", (), {})).options(**options),
    ):
        with pytest.raises(error, match=re.escape(text)):
            write()


def test_too_much_is_refused_at_the_call(started: None) -> None:
    many = {f"name{i}": f"in({','.join(['x' * 60] * 10)})" for i in range(60)}
    with pytest.raises(ValueError, match="asks too much of labels"):
        eagleray.remote(label_selector=many)(lambda: 1).remote()


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: In(), ValueError, "In takes at least one value"),
        (lambda: NotIn(), ValueError, "NotIn takes at least one value"),
        (lambda: In("a", 3), ValueError, "value in position 1 for the In operator must be str, got 3"),  # type: ignore[arg-type]
        (lambda: NodeLabelSchedulingStrategy({}), ValueError, "cannot both be empty"),
        (lambda: NodeLabelSchedulingStrategy(None), ValueError, "cannot both be empty"),
        (lambda: NodeLabelSchedulingStrategy("a"), ValueError, "hard must be a dictionary"),  # type: ignore[arg-type]
        (lambda: NodeLabelSchedulingStrategy({3: In("a")}), ValueError, "must be a text, got 3"),  # type: ignore[dict-item]
        (lambda: NodeLabelSchedulingStrategy({"a": "b"}), ValueError, "takes one of In, NotIn"),  # type: ignore[dict-item]
        (lambda: NodeLabelSchedulingStrategy(None, soft={"a": 3}), ValueError, "soft: a takes one of"),  # type: ignore[dict-item]
    ],
)
def test_wrong_strategies_of_labels_are_refused(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        make()


@pytest.fixture(scope="module")
def started() -> Iterator[None]:
    eagleray.shutdown()
    eagleray.init(num_cpus=2, labels={"zone": "a", "empty": "", "ray.io/market-type": "spot"})
    yield
    eagleray.shutdown()


@eagleray.remote
def runs() -> bool:
    return True


@eagleray.remote(num_cpus=0)
class Runs:
    def here(self) -> bool:
        return True


def of_actor(**options: Any) -> bool:
    actor = Runs.options(**options).remote()
    there: bool = eagleray.get(actor.here.remote(), timeout=30)
    eagleray.kill(actor)
    return there


YES: list[Any] = [
    {},
    {"zone": "a"},
    {"zone": "!b"},
    {"zone": "in(a,b)"},
    {"zone": "in(b, a)"},
    {"zone": "!in(b,c)"},
    {"other": "!x"},
    {"other": "!in(x)"},
    {"empty": ""},
    {"zone": "a", "other": "!x"},
    {"ray.io/market-type": "spot"},
]
NO: list[Any] = [
    {"zone": "b"},
    {"zone": "!a"},
    {"zone": "in(b,c)"},
    {"zone": "!in(a,b)"},
    {"other": "x"},
    {"other": ""},
    {"zone": ""},
    {"zone": "A"},
    {"zone": "a", "other": "x"},
    {"ray.io/node-id": "ab"},
]


@pytest.mark.parametrize("selector", YES, ids=str)
def test_a_selector_that_the_node_meets(started: None, selector: dict[str, str]) -> None:
    assert eagleray.get(runs.options(label_selector=selector).remote(), timeout=30)
    assert of_actor(label_selector=selector)


@pytest.mark.parametrize("selector", NO, ids=str)
def test_a_selector_that_the_node_does_not_meet_is_an_error_at_once(started: None, selector: dict[str, str]) -> None:
    with pytest.raises(TaskUnschedulableError, match=r"task runs asks for a node with the labels .*not have them"):
        eagleray.get(runs.options(label_selector=selector).remote(), timeout=30)
    with pytest.raises(ActorUnschedulableError, match=r"actor Runs asks for a node with the labels .*not have them"):
        of_actor(label_selector=selector)


@pytest.mark.parametrize(
    ("hard", "soft", "meets"),
    [
        ({"zone": In("a", "b")}, None, True),
        ({"zone": In("b")}, None, False),
        ({"zone": NotIn("b")}, None, True),
        ({"zone": NotIn("a")}, None, False),
        ({"other": NotIn("a")}, None, True),
        ({"zone": Exists()}, None, True),
        ({"empty": Exists()}, None, True),
        ({"other": Exists()}, None, False),
        ({"other": DoesNotExist()}, None, True),
        ({"zone": DoesNotExist()}, None, False),
        ({}, {"zone": In("b")}, True),
        (None, {"zone": In("b")}, True),
        ({"zone": In("a")}, {"zone": In("b")}, True),
        ({"zone": In("b")}, {"zone": In("a")}, False),
    ],
)
def test_a_strategy_of_labels(started: None, hard: Any, soft: Any, meets: bool) -> None:
    strategy = NodeLabelSchedulingStrategy(hard, soft=soft)
    if meets:
        assert eagleray.get(runs.options(scheduling_strategy=strategy).remote(), timeout=30)
        assert of_actor(scheduling_strategy=strategy)
        return
    with pytest.raises(TaskUnschedulableError, match="asks for a node with the labels"):
        eagleray.get(runs.options(scheduling_strategy=strategy).remote(), timeout=30)
    with pytest.raises(ActorUnschedulableError, match="asks for a node with the labels"):
        of_actor(scheduling_strategy=strategy)


def test_labels_go_with_other_options(started: None) -> None:
    node = eagleray.get_runtime_context().get_node_id()
    group = placement_group([{"CPU": 1}])
    eagleray.get(group.ready(), timeout=30)
    by_label = NodeLabelSchedulingStrategy({"zone": In("a")})
    strategies: list[Any] = [
        "SPREAD",
        "DEFAULT",
        by_label,
        NodeAffinitySchedulingStrategy(node, soft=False),
        NodeAffinitySchedulingStrategy(node, soft=True),
        PlacementGroupSchedulingStrategy(group),
    ]
    for strategy in strategies:
        right = runs.options(label_selector={"zone": "a"}, scheduling_strategy=strategy)
        assert eagleray.get(right.remote(), timeout=30)
        with pytest.raises(TaskUnschedulableError, match="zone=b"):
            eagleray.get(right.options(label_selector={"zone": "b"}).remote(), timeout=30)
    eagleray.util.remove_placement_group(group)


def test_fallback_strategy_names_other_labels(started: None) -> None:
    wrong = {"label_selector": {"zone": "b"}}
    for list_, meets in (
        ([{"label_selector": {"zone": "a"}}], True),
        ([wrong, {"label_selector": {"zone": "in(a,c)"}}], True),
        ([{"label_selector": {}}], True),
        ([{"label_selector": None}], True),
        ([wrong], False),
        ([], False),
        (None, False),
    ):
        task = runs.options(**wrong, fallback_strategy=list_)
        if meets:
            assert eagleray.get(task.remote(), timeout=30)
            assert of_actor(**wrong, fallback_strategy=list_)
        else:
            with pytest.raises(TaskUnschedulableError, match="zone=b"):
                eagleray.get(task.remote(), timeout=30)
    assert eagleray.get(runs.options(fallback_strategy=[wrong]).remote(), timeout=30)  # the first choice is any node


def test_options_replace_the_decorators_selector(started: None) -> None:
    task = eagleray.remote(label_selector={"zone": "b"})(lambda: 1)
    assert eagleray.get(task.options(label_selector={"zone": "a"}).remote(), timeout=30) == 1
    assert eagleray.get(task.options(label_selector=None).remote(), timeout=30) == 1


def test_labels_of_the_node(started: None) -> None:
    node = eagleray.get_runtime_context().get_node_id()
    want = {"zone": "a", "empty": "", "ray.io/market-type": "spot", "ray.io/node-id": node}
    mine = eagleray.get_runtime_context().get_node_labels()
    assert want.items() <= mine.items()
    assert eagleray.nodes()[0]["Labels"] == mine
    assert eagleray.get(eagleray.remote(lambda: eagleray.get_runtime_context().get_node_labels()).remote()) == mine
    assert eagleray.get(runs.options(label_selector={"ray.io/node-id": node}).remote(), timeout=30)


def test_the_state_api_shows_selectors_of_actors(started: None) -> None:
    asked: list[dict[str, Any]] = [
        {"label_selector": {"zone": "in(a,b)", "other": "!x"}, "fallback_strategy": [{"label_selector": {}}]},
        {"scheduling_strategy": NodeLabelSchedulingStrategy({"zone": Exists()})},
        {},
    ]
    kept = [Runs.options(**options).remote() for options in asked]
    eagleray.get([actor.here.remote() for actor in kept], timeout=30)
    rows = {row.actor_id: row.label_selector for row in eagleray.util.state.list_actors(detail=True)}
    assert [rows[actor._actor_id.hex()] for actor in kept] == [asked[0]["label_selector"], None, None]
    for actor in kept:
        eagleray.kill(actor)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (SPACE, "Invalid label key value `a b`"),
        ({"a b": "c"}, "Invalid label key name `a b`"),
        ({"-x/y": "c"}, "Invalid label key prefix `-x`"),
        ({"ray.io/node-id": "c"}, "ray.io/node-id is reserved"),
    ],
)
def test_init_refuses_what_no_label_can_be(labels: dict[str, str], text: str) -> None:
    eagleray.shutdown()
    with pytest.raises(ValueError, match=re.escape(text)):
        eagleray.init(num_cpus=1, labels=labels)
    assert not eagleray.is_initialized()


def test_variables_give_labels(script: Any) -> None:
    done = script(
        """
        import eagleray as ray
        ray.init(num_cpus=1, labels={"ray.io/market-type": "on-demand", "team": "theirs"})
        labels = ray.nodes()[0]["Labels"]
        print(sorted((name, value) for name, value in labels.items() if name != "ray.io/node-id"))
        """,
        env={
            **os.environ,
            "RAY_NODE_TYPE_NAME": "big",
            "RAY_NODE_MARKET_TYPE": "spot",
            "RAY_NODE_REGION": "eu",
            "RAY_NODE_ZONE": "z1",
            "RAY_OVERRIDE_LABELS": '{"team": "ours"}',
        },
    )
    for name, value in {
        "ray.io/availability-region": "eu",
        "ray.io/availability-zone": "z1",
        "ray.io/market-type": "on-demand",
        "ray.io/node-group": "big",
        "team": "ours",
    }.items():
        assert str((name, value)) in done.stdout


def test_work_waits_for_labels_where_the_user_says_so() -> None:
    eagleray.shutdown()
    eagleray.init(num_cpus=1, infeasible="wait")
    task = runs.options(label_selector={"zone": "b"}).remote()
    called = Runs.options(label_selector={"zone": "b"}).remote().here.remote()
    assert eagleray.wait([task, called], num_returns=1, timeout=0.3)[0] == []
    eagleray.shutdown()
