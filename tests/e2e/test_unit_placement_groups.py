"""Placement groups without a cluster: checks of arguments, the texts of strategies, and what the head is asked."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import eagleray
import msgpack
import pytest
from eagleray._private import context
from eagleray._private.calls import placement, placement_groups
from eagleray._private.calls.signatures import CallShape, params_of
from eagleray._private.calls.submitter import Target, submitter
from eagleray._private.context import here
from eagleray._private.faults import to_exception
from eagleray._private.hot_error import HotError
from eagleray._private.session import group_table
from eagleray._private.state import UNIT, process
from eagleray.exceptions import (
    ActorDiedError,
    ActorPlacementGroupRemoved,
    PlacementGroupUnschedulableError,
    RayError,
    RaySystemError,
    TaskPlacementGroupRemoved,
)
from eagleray.util.placement_group import (
    PlacementGroup,
    PlacementGroupID,
    check_placement_group_index,
    get_current_placement_group,
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as InGroup

ID = PlacementGroupID(bytes(range(18)))
HEX = ID.hex()
GROUP = PlacementGroup(ID, [{"CPU": 1.0}, {"CPU": 2.0, "GPU": 1.0}])
CPU = {"CPU": UNIT}
RECORD: dict[str, Any] = {
    "group_id": ID.binary(),
    "name": "pair",
    "namespace": "tests",
    "strategy": "SPREAD",
    "state": "CREATED",
    "detached": True,
    "job_id": b"\0\0\0\7",
    "owner": b"",
    "actor_id": b"",
    "bundles": [{"res": {"CPU": UNIT}, "labels": {}}, {"res": {"GPU": UNIT // 2}, "labels": {"zone": "a"}}],
    "nodes": ["ab" * 28, ""],
    "created_ms": 1000,
    "placed_ms": 1250,
    "ended_ms": 0,
    "why": "",
    "infeasible": "",
}


class Head:
    """A head that answers as a test says, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: list[Any] = []

    def rpc(self, method: str, body: bytes, timeout_ms: int) -> bytes:
        assert timeout_ms > 0
        self.asked.append((method, msgpack.unpackb(body)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return bytes(msgpack.packb(answer))


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Head:
    found = Head()
    monkeypatch.setattr(process, "session", SimpleNamespace(hot=found, namespace="tests", wait=False, role="driver"))
    return found


@pytest.fixture
def enter() -> Iterator[Callable[[str], None]]:
    yield context.enter_group
    context.enter_group("")


def text(**options: Any) -> str:
    return placement.strategy_of(options, "work", CPU)


# ---- where work runs -------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, "DEFAULT"),
        ({"scheduling_strategy": "DEFAULT"}, "DEFAULT"),
        ({"scheduling_strategy": "SPREAD"}, "SPREAD"),
        ({"scheduling_strategy": NodeAffinitySchedulingStrategy("a" * 56, soft=True)}, f"node:{'a' * 56}:soft"),
        ({"scheduling_strategy": InGroup(GROUP)}, f"group:{HEX}:-1"),
        ({"scheduling_strategy": InGroup(GROUP, 1)}, f"group:{HEX}:1"),
        ({"scheduling_strategy": InGroup(GROUP, 0, True)}, f"group:{HEX}:0:capture"),
        ({"scheduling_strategy": InGroup(GROUP, 0, False)}, f"group:{HEX}:0"),
        ({"scheduling_strategy": InGroup(None)}, "DEFAULT"),
        ({"scheduling_strategy": InGroup(PlacementGroup.empty())}, "DEFAULT"),
        ({"placement_group": GROUP}, f"group:{HEX}:-1"),
        ({"placement_group": GROUP, "placement_group_bundle_index": 1}, f"group:{HEX}:1"),
        ({"placement_group": GROUP, "placement_group_capture_child_tasks": True}, f"group:{HEX}:-1:capture"),
        ({"placement_group": None, "scheduling_strategy": "SPREAD"}, "SPREAD"),
        ({"placement_group": "default"}, "DEFAULT"),
        ({"placement_group_bundle_index": -1, "placement_group_capture_child_tasks": True}, "DEFAULT"),
    ],
)
def test_options_say_where_work_runs(options: dict[str, Any], wanted: str) -> None:
    assert text(**options) == wanted


def test_children_of_a_captured_group_run_in_it_unless_they_say_otherwise(enter: Any, head: Head) -> None:
    enter(f"group:{HEX}:1:capture")
    head.answers = [{**RECORD}]
    inherited = f"group:{HEX}:-1:capture"
    assert text() == text(placement_group="default") == inherited
    assert [method for method, _ in head.asked] == ["group_get"], "the bundles are asked for once"
    assert text(placement_group_bundle_index=0) == f"group:{HEX}:0:capture"
    for options in (
        {"placement_group": None},
        {"scheduling_strategy": InGroup(None)},
        {"scheduling_strategy": "DEFAULT"},
        {"placement_group_capture_child_tasks": False},
    ):
        assert text(**options) == "DEFAULT"
    assert text(scheduling_strategy="SPREAD") == "SPREAD"
    other = PlacementGroup(PlacementGroupID.from_random(), [{"CPU": 1.0}])
    assert text(placement_group=other) == f"group:{other.id.hex()}:-1:capture", "and its children capture as well"
    assert text(scheduling_strategy=InGroup(other, 0, False)) == f"group:{other.id.hex()}:0"
    with pytest.raises(ValueError, match="placement_group=None"):
        text(fallback=[{"num_cpus": 2}])
    with pytest.raises(ValueError, match="no bundle has so much"):
        placement.strategy_of({}, "work", {"CPU": 5 * UNIT})


def test_a_group_that_does_not_capture_keeps_children_out_unless_they_ask_for_it(enter: Any, head: Head) -> None:
    enter(f"group:{HEX}:0")
    assert text() == text(placement_group="default") == "DEFAULT" and not head.asked
    head.answers = [{**RECORD}]
    assert text(placement_group_capture_child_tasks=True) == f"group:{HEX}:-1:capture"


@pytest.mark.parametrize("index", [2, -2, 100])
def test_a_bundle_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=f"bundle index {index} is invalid: the group has 2 bundles"):
        text(scheduling_strategy=InGroup(GROUP, index))
    with pytest.raises(ValueError, match=f"bundle index {index} is invalid"):
        check_placement_group_index(GROUP, index)


@pytest.mark.parametrize("index", ["0", 1.0, True])
def test_an_index_that_is_no_number_is_refused(index: Any) -> None:
    with pytest.raises(TypeError, match="whole number"):
        text(scheduling_strategy=InGroup(GROUP, index))


def test_an_index_without_a_group_is_refused() -> None:
    for options in ({}, {"placement_group": None}, {"placement_group": PlacementGroup.empty()}):
        with pytest.raises(ValueError, match="there is no placement group"):
            text(placement_group_bundle_index=0, **options)
    with pytest.raises(ValueError, match="must be -1"):
        check_placement_group_index(PlacementGroup.empty(), 0)
    check_placement_group_index(PlacementGroup.empty(), -1)


@pytest.mark.parametrize(
    ("needs", "fits"),
    [
        ({}, True),
        ({"CPU": UNIT // 2}, True),
        ({"CPU": 2 * UNIT, "GPU": UNIT}, True),
        ({"CPU": 3 * UNIT}, False),
        ({"GPU": 2 * UNIT}, False),
        ({"slot": 1}, False),
        ({"memory": UNIT}, False),
    ],
)
def test_a_request_must_fit_one_bundle(needs: dict[str, int], fits: bool) -> None:
    options = {"scheduling_strategy": InGroup(GROUP, 0)}  # as under Ray, any of them
    if fits:
        assert placement.in_group(placement.strategy_of(options, "work", needs))
        return
    with pytest.raises(
        ValueError, match=r"Cannot schedule work in the placement group: .*The bundles are \{.CPU.: 1\}"
    ):
        placement.strategy_of(options, "work", needs)


def test_an_actor_that_holds_nothing_needs_a_bundle_that_can_create_it() -> None:
    gpus = PlacementGroup(ID, [{"GPU": 1.0}])
    with pytest.raises(ValueError, match=r'it needs \{"CPU": 1\} to be created'):
        placement.strategy_of({"placement_group": gpus}, "Work", {}, CPU)
    assert placement.strategy_of({"placement_group": GROUP}, "Work", {}, CPU) == f"group:{HEX}:-1"


def test_memory_of_gpus_and_gpus_are_judged_by_the_core() -> None:
    for bundle, needs in (({"GPU": 1.0}, {"gpu_memory": UNIT << 30}), ({"gpu_memory": 2.0**30}, {"GPU": UNIT // 2})):
        assert placement.in_group(placement.strategy_of({"placement_group": PlacementGroup(ID, [bundle])}, "f", needs))


def test_a_group_is_named_once_and_without_a_fallback() -> None:
    def work() -> None: ...

    class Work: ...

    for target in (work, Work):
        made = eagleray.remote(placement_group=GROUP)(target)
        for other in ("SPREAD", InGroup(GROUP)):
            with pytest.raises(ValueError, match="cannot be used together"):
                made.options(scheduling_strategy=other)
        made.options(placement_group=None).options(scheduling_strategy="SPREAD")
        for options in ({"placement_group": GROUP}, {"scheduling_strategy": InGroup(GROUP)}):
            with pytest.raises(ValueError, match="fallback in a placement group is not supported yet"):
                eagleray.remote(fallback=[{"num_cpus": 2}], **options)(target)


@pytest.mark.parametrize(
    "options",
    [
        {"placement_group": "mine"},
        {"placement_group": ID},
        {"placement_group_bundle_index": "0"},
        {"placement_group_capture_child_tasks": "yes"},
        {"scheduling_strategy": InGroup("mine")},  # type: ignore[arg-type]
        {"scheduling_strategy": InGroup(GROUP, 0, "false")},  # type: ignore[arg-type]
        {"scheduling_strategy": 7},
    ],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        eagleray.remote(**options)(lambda: None)


def test_submitters_look_again_only_when_the_group_changes(enter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    hot = SimpleNamespace(submit=lambda *args: found[-1])
    monkeypatch.setattr(process, "session", SimpleNamespace(hot=hot))

    def resolve() -> Target:
        found.append(here.strategy)
        results: Any = SimpleNamespace(streams_references=False, number=1)
        template: Any = SimpleNamespace(number=1)
        return Target(template, results)

    remote = submitter("work", CallShape(params_of(lambda: None, bound=False)), resolve)
    places = ["", "", f"group:{HEX}:0", f"group:{HEX}:0", f"group:{HEX}:1", f"group:{HEX}:1:capture", "SPREAD", ""]
    for place in places:
        enter(place)
        assert remote() == (place if place.startswith("group:") else "")
    assert found == ["", f"group:{HEX}:0", f"group:{HEX}:1", f"group:{HEX}:1:capture", ""]


# ---- what a group is made of -----------------------------------------------


@pytest.mark.parametrize(
    ("bundles", "says"),
    [
        ([], "empty list"),
        ({}, "must be a list, got dict"),
        (({"CPU": 1},), "must be a list, got tuple"),
        ([{}], "bundles[0] asks for nothing"),
        ([{"CPU": 1}, {"CPU": 0, "GPU": 0.0}], "bundles[1] asks for nothing"),
        ([["CPU", 1]], "bundles[0] must be a dictionary"),
        ([{"CPU": "1"}], "bundles[0] must be a dictionary"),
        ([{1: 1}], "bundles[0] must be a dictionary"),
        ([{"": 1}], "bundles[0] must be a dictionary"),
        ([{"CPU": None}], "bundles[0] must be a dictionary"),
        ([{"CPU": -1}], "must be nonnegative"),
        ([{"CPU": float("nan")}], "must be a finite number"),
        ([{"CPU": 0.00001}], "precision"),
        ([{"CPU": 1, "GPU": 1.5}], "bundles[0]: GPU: asked for 1.5"),
        ([{"gpu_memory": "much"}], "is not a size"),
        ([{"bundle": 1}], "reserved"),
        ([{"x" * 70_000: 1}], "70000 characters"),
    ],
)
def test_wrong_bundles_are_refused(head: Head, bundles: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        placement_group(bundles)
    assert not head.asked


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"strategy": "TIGHT"}, ValueError, "'TIGHT': it must be one of PACK, SPREAD, STRICT_PACK, STRICT_SPREAD"),
        ({"strategy": "pack"}, ValueError, "it must be one of"),
        ({"_soft_target_node_id": "a" * 56}, ValueError, "_soft_target_node_id is not supported"),
        ({"lifetime": "forever"}, ValueError, "takes None or 'detached', got 'forever'"),
        ({"name": 7}, TypeError, "must be a text"),
        ({"bundle_label_selector": {}}, ValueError, "must be a list"),
        ({"bundle_label_selector": []}, ValueError, "has 0 entries for 1 bundles"),
        ({"bundle_label_selector": [{"zone": 1}]}, ValueError, "bundle_label_selector[0]"),
        ({"bundle_label_selector": ["zone"]}, ValueError, "bundle_label_selector[0]"),
        ({"topology_strategy": {"rack": "STRICT_PACK"}}, ValueError, "topology_strategy is not supported"),
    ],
)
def test_wrong_arguments_are_refused(head: Head, arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)):
        placement_group([{"CPU": 1}], **arguments)
    assert not head.asked


def test_the_head_gets_a_new_group_in_units(head: Head) -> None:
    head.answers = [{"group_id": ID.binary()}]
    bundles = [{"CPU": 1, "GPU": 0.5, "slot": 0}, {"memory": 100, "gpu_memory": "1GiB"}]
    group = placement_group(bundles, "SPREAD", "pair", "detached", bundle_label_selector=[{}, {"zone": "a"}])
    assert group.id == ID and not group.is_empty
    assert group.bundle_specs == [{"CPU": 1.0, "GPU": 0.5}, {"gpu_memory": 2.0**30, "memory": 100.0}]
    assert group.bundle_count == 2 and len(head.asked) == 1
    assert head.asked == [
        (
            "group_create",
            {
                "bundles": [
                    {"res": {"CPU": UNIT, "GPU": UNIT // 2}, "labels": {}},
                    {"res": {"gpu_memory": UNIT << 30, "memory": 100 * UNIT}, "labels": {"zone": "a"}},
                ],
                "strategy": "SPREAD",
                "name": "pair",
                "namespace": "tests",
                "detached": True,
                "waits": False,
            },
        )
    ]


def test_memory_of_the_store_is_left_out_with_a_warning(head: Head) -> None:
    head.answers = [{"group_id": ID.binary()}]
    with pytest.warns(DeprecationWarning, match="has no effect"):
        placement_group([{"CPU": 1, "object_store_memory": 1 << 20}])
    assert head.asked[0][1]["bundles"] == [{"res": {"CPU": UNIT}, "labels": {}}]
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="nothing but 'object_store_memory'"):
        placement_group([{"object_store_memory": 1 << 20}])


def test_a_taken_name_is_an_error_that_names_it(head: Head) -> None:
    head.answers = [HotError("already_exists", "taken")]
    with pytest.raises(RaySystemError, match=r"'pair'.*is already taken"):
        placement_group([{"CPU": 1}], name="pair")


# ---- waiting, looking up, removing -----------------------------------------


def test_wait_asks_until_the_group_is_there(head: Head) -> None:
    head.answers = [{"state": "PENDING", "message": ""}] * 3 + [{"state": "CREATED", "message": ""}]
    assert GROUP.wait() is True
    assert [body["seen"] for _, body in head.asked] == [""] * 4
    assert all(0 < body["timeout_ms"] <= 500 for _, body in head.asked), "Ctrl-C is not kept waiting"


def test_wait_ends_with_its_time(head: Head) -> None:
    head.answers = [{"state": "RESCHEDULING", "message": ""}]
    assert GROUP.wait(0) is False and head.asked[0][1]["timeout_ms"] == 0
    head.answers = [{"state": "PENDING", "message": ""}]
    assert GROUP.wait(timeout_seconds=0.0001) is False
    for wrong in (None, "1", True):
        with pytest.raises(TypeError, match="number of seconds"):
            GROUP.wait(wrong)  # type: ignore[arg-type]


def test_wait_raises_for_a_group_that_never_comes(head: Head) -> None:
    head.answers = [{"state": "INFEASIBLE", "message": "it needs 4 CPU and the cluster has 2"}]
    with pytest.raises(PlacementGroupUnschedulableError, match="it needs 4 CPU"):
        GROUP.wait()
    head.answers = [{"state": "REMOVED", "message": ""}, {"state": "REMOVED", "message": "it was removed by f"}]
    with pytest.raises(TaskPlacementGroupRemoved, match=HEX):
        GROUP.wait(float("inf"))
    with pytest.raises(TaskPlacementGroupRemoved, match=f"{HEX} was removed: it was removed by f"):
        GROUP.wait()


def test_a_removed_or_unknown_group_is_left_alone(head: Head) -> None:
    head.answers = [None, HotError("not_found", "no such group"), HotError("internal", "broken")]
    remove_placement_group(GROUP)
    remove_placement_group(GROUP)
    assert head.asked == [("group_remove", {"group_id": ID.binary()})] * 2
    with pytest.raises(RayError, match="broken"):
        remove_placement_group(GROUP)
    with pytest.raises(TypeError):
        remove_placement_group(HEX)  # type: ignore[arg-type]
    remove_placement_group(PlacementGroup.empty())
    assert len(head.asked) == 3


@pytest.mark.parametrize("wrong", [HEX, 7, b"", PlacementGroup])
def test_what_is_no_group_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"placement_group_table\(\) takes a PlacementGroup"):
        placement_group_table(wrong)
    with pytest.raises(TypeError, match=r"check_placement_group_index\(\) takes a PlacementGroup"):
        check_placement_group_index(wrong, 0)
    with pytest.raises(TypeError, match=r"get_placement_group\(\) takes the name of a group, a text; got \[\]"):
        get_placement_group([])  # type: ignore[arg-type]


def test_groups_are_found_by_name(head: Head) -> None:
    head.answers = [RECORD, None]
    found = get_placement_group("pair")
    assert found == PlacementGroup(ID) and found.bundle_specs == [{"CPU": 1.0}, {"GPU": 0.5}]
    assert head.asked == [("group_by_name", {"name": "pair", "namespace": "tests"})]
    with pytest.raises(ValueError, match="'other'"):
        get_placement_group("other")
    with pytest.raises(ValueError, match="not empty"):
        get_placement_group("")
    with pytest.raises(TypeError):
        get_placement_group(7)  # type: ignore[arg-type]


def test_bundles_are_asked_for_once(head: Head) -> None:
    head.answers = [RECORD, None]
    handle = PlacementGroup(ID)
    assert handle.bundle_count == 2 and handle.bundle_specs[1] == {"GPU": 0.5} and len(head.asked) == 1
    with pytest.raises(ValueError, match=f"no placement group {HEX}"):
        _ = PlacementGroup(ID).bundle_specs
    with pytest.raises(ValueError, match="no placement group"):
        _ = PlacementGroup.empty().bundle_specs


def test_the_table_has_the_keys_of_ray(head: Head) -> None:
    head.answers = [RECORD, None, [RECORD, {**RECORD, "group_id": bytes(18), "state": "REMOVED", "placed_ms": 0}]]
    row = placement_group_table(GROUP)
    assert row == {
        "placement_group_id": HEX,
        "name": "pair",
        "bundles": {0: {"CPU": 1.0}, 1: {"GPU": 0.5}},
        "bundles_to_node_id": {0: "ab" * 28, 1: ""},
        "strategy": "SPREAD",
        "state": "CREATED",
        "stats": {
            "end_to_end_creation_latency_ms": 250.0,
            "scheduling_latency_ms": 250.0,
            "scheduling_attempt": 1,
            "highest_retry_delay_ms": 0.0,
            "scheduling_state": "FINISHED",
        },
    }
    assert placement_group_table(GROUP) == {}
    table = placement_group_table()
    assert table[HEX] == row and set(table) == {HEX, "00" * 18}
    assert table["00" * 18]["state"] == "REMOVED" and table["00" * 18]["stats"]["scheduling_attempt"] == 0


def test_rows_of_the_state_api() -> None:
    row = group_table.state_row({**RECORD, "infeasible": "too large", "state": "PENDING", "nodes": []})
    assert row["creator_job_id"] == "00000007" and row["is_detached"] is True and row["name"] == "pair"
    assert [bundle["node_id"] for bundle in row["bundles"]] == [None, None]
    assert row["bundles"][1]["bundle_id"] == {"placement_group_id": HEX, "bundle_index": 1}
    assert row["bundles"][1]["label_selector"] == {"zone": "a"}
    assert row["stats"]["scheduling_state"] == "INFEASIBLE"


# ---- handles, ids, errors --------------------------------------------------


def test_handles_are_equal_when_they_name_the_same_group() -> None:
    other = PlacementGroup(PlacementGroupID.from_random())
    assert PlacementGroup(ID) == GROUP and hash(PlacementGroup(ID)) == hash(GROUP) and other != GROUP and GROUP != HEX
    again = pickle.loads(pickle.dumps(GROUP))
    assert type(again) is PlacementGroup and again == GROUP and again.bundle_cache == GROUP.bundle_specs
    strategy = pickle.loads(pickle.dumps(InGroup(GROUP, 1, True)))
    assert strategy.placement_group == GROUP and strategy.placement_group_bundle_index == 1
    assert strategy.placement_group_capture_child_tasks is True
    assert PlacementGroup.empty() == PlacementGroup.empty() and PlacementGroup.empty().is_empty


def test_ids_have_eighteen_bytes() -> None:
    assert eagleray.PlacementGroupID is PlacementGroupID and PlacementGroupID.size() == 18
    assert PlacementGroupID.nil().is_nil() and not ID.is_nil() and PlacementGroupID.from_hex(HEX) == ID
    job = eagleray.JobID.from_int(7)
    made = PlacementGroupID.of(job)
    assert made.binary()[-4:] == job.binary() and made != PlacementGroupID.of(job)
    with pytest.raises(ValueError, match="takes 18 bytes"):
        PlacementGroupID(b"short")


def test_the_current_group_is_that_of_the_worker(enter: Any, head: Head) -> None:
    runtime = eagleray.get_runtime_context()
    assert get_current_placement_group() is None and runtime.get_placement_group_id() is None
    assert runtime.current_placement_group_id.is_nil() and not runtime.should_capture_child_tasks_in_placement_group
    enter(f"group:{HEX}:-1:capture")
    assert get_current_placement_group() == GROUP and runtime.get_placement_group_id() == HEX
    assert runtime.current_placement_group_id == ID and runtime.should_capture_child_tasks_in_placement_group
    enter("SPREAD")
    assert get_current_placement_group() is None and not head.asked


def test_faults_of_groups_become_their_errors() -> None:
    task = to_exception("placement_group_removed", "placement group 07 was removed")
    assert type(task) is TaskPlacementGroupRemoved and str(task) == "placement group 07 was removed"
    actor = to_exception("placement_group_removed", f"\tclass_name: A\n\tactor_id: {'ab' * 16}\nThe actor is dead.")
    assert type(actor) is ActorPlacementGroupRemoved and isinstance(actor, ActorDiedError)
    assert actor.actor_id == "ab" * 16 and "The actor is dead." in str(actor)
    again = pickle.loads(pickle.dumps(actor))
    assert type(again) is ActorPlacementGroupRemoved and str(again) == str(actor) and again.actor_id == actor.actor_id
    never = to_exception("placement_group_unschedulable", "it needs 4 CPU")
    assert type(never) is PlacementGroupUnschedulableError and "it needs 4 CPU" in str(never)
    assert str(TaskPlacementGroupRemoved()) and str(ActorPlacementGroupRemoved())


def test_strategies_are_those_of_ray() -> None:
    assert placement_groups.STRATEGIES == ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
