"""Helpers for tests of programs: conditions, signals, semaphores, drivers, small functions."""

from __future__ import annotations

import asyncio
import collections
import importlib
import os
from typing import Any, NamedTuple

from casebook import attempt, case, eventually


def helpers(ray: Any) -> Any:
    return importlib.import_module(f"{ray.__name__}._common.test_utils")


class Pair(NamedTuple):
    left: int
    right: int


@case
def a_condition_is_awaited(ray: Any) -> None:
    found = helpers(ray)
    seen: list[int] = []

    def third(step: int) -> bool:
        seen.append(step)
        if len(seen) == 2:
            raise KeyError("twice")
        return len(seen) == 3

    print(found.wait_for_condition(third, retry_interval_ms=1, step=7), seen)
    attempt("never", lambda: found.wait_for_condition(lambda: False, timeout=0.05, retry_interval_ms=1))
    try:
        found.wait_for_condition(lambda: {}["key"], timeout=0.05, retry_interval_ms=1)
    except RuntimeError as error:
        print("KeyError: 'key'" in str(error), str(error).startswith("The condition wasn't met"))
    attempt("raises", lambda: found.wait_for_condition(lambda: {}["key"], raise_exceptions=True))


@case
def a_condition_is_awaited_on_an_event_loop(ray: Any) -> None:
    found = helpers(ray)
    seen: list[int] = []

    async def third() -> bool:
        seen.append(1)
        return len(seen) == 3

    print(asyncio.run(found.async_wait_for_condition(third, retry_interval_ms=1)), len(seen))
    print(asyncio.run(found.async_wait_for_condition(lambda: True)))
    late = found.async_wait_for_condition(lambda: False, timeout=0.05, retry_interval_ms=1)
    attempt("never", lambda: asyncio.run(late))


@case
def a_signal_lets_those_go_on_who_wait(ray: Any) -> None:
    signal = helpers(ray).SignalActor.remote()
    print(ray.get(signal.wait.remote(should_wait=False)), ray.get(signal.cur_num_waiters.remote()))
    waiting = [signal.wait.remote() for _ in range(3)]
    print(eventually(lambda: ray.get(signal.cur_num_waiters.remote()), 3))
    print(len(ray.wait(waiting, timeout=0)[0]), ray.get(signal.send.remote()), ray.get(waiting))
    print(ray.get(signal.wait.remote()), ray.get(signal.cur_num_waiters.remote()))
    again = helpers(ray).SignalActor.options(name="signal").remote()
    first = again.wait.remote()
    print(eventually(lambda: ray.get(again.cur_num_waiters.remote()), 1))
    ray.get(again.send.remote(clear=True))
    print(ray.get(first), len(ray.wait([again.wait.remote()], timeout=0.1)[0]))


@case
def a_semaphore_has_places(ray: Any) -> None:
    places = helpers(ray).Semaphore.remote(value=2)
    print(ray.get([places.acquire.remote(), places.acquire.remote()]), ray.get(places.locked.remote()))
    third = places.acquire.remote()
    print(len(ray.wait([third], timeout=0.1)[0]), ray.get(places.release.remote()), ray.get(third))
    print(ray.get(helpers(ray).Semaphore.remote().locked.remote()))


@case
def a_program_runs_as_a_driver(ray: Any) -> None:
    found = helpers(ray)
    print(found.run_string_as_driver("import sys\nprint(1)\nprint(2, file=sys.stderr)", timeout=60).split())
    print(found.run_string_as_driver("import os\nprint(os.environ['HUE'])", {**os.environ, "HUE": "dark"}).strip())
    try:
        found.run_string_as_driver("import sys\nprint('said')\nsys.exit(3)")
    except Exception as error:
        print(type(error).__name__, error.returncode, "said" in str(error.output))  # type: ignore[attr-defined]


@case
def clocks_and_named_tuples(ray: Any) -> None:
    found = helpers(ray)
    clock = found.FakeTimer(10)
    clock.advance(5)
    print(clock.time(), clock.reset(1), clock.time(), found.FakeTimer().time() > 1)
    clock.realistic_sleep(2)
    print(clock.time() > 3)
    listed = collections.namedtuple("listed", "one two")
    print([found.is_named_tuple(one) for one in (listed, Pair, tuple, list, int)])


@case
def patterns_of_metrics(ray: Any) -> None:
    found = helpers(ray)
    sample = collections.namedtuple("sample", "name labels value")("calls", {"node": "a", "kind": "b"}, 2.0)
    pattern = found.MetricSamplePattern
    wanted = [
        pattern(),
        pattern(name="calls", value=2.0),
        pattern(name="other"),
        pattern(value=3.0),
        pattern(partial_label_match={"node": "a"}),
        pattern(partial_label_match={"node": "a", "kind": "c"}),
    ]
    print([one.matches(sample) for one in wanted])


@case
def small_functions(ray: Any) -> None:
    utils = importlib.import_module(f"{ray.__name__}._common.utils")
    print(utils.decode(b"abc"), utils.decode(None, allow_none=True) == "", utils.binary_to_hex(b"\x01\xff"))
    print(utils.hex_to_binary("01ff"), len(utils.get_random_alphanumeric_string(7)))
    attempt("decode", lambda: utils.decode("abc"))
    print(utils.import_attr("os.path.join") is os.path.join, utils.import_attr("os.path:join") is os.path.join)
    attempt("path", lambda: utils.import_attr(3))
    attempt("class", lambda: utils.load_class("nothing"))
    network = importlib.import_module(f"{ray.__name__}._common.network_utils")
    print(network.build_address("host", 1), network.build_address("::1", "2"), network.is_localhost("localhost"))
    print([network.parse_address(one) for one in ("host:1", "http://host:2", "[::1]:3", "host", "::1")])
    private = importlib.import_module(f"{ray.__name__}._private.utils")
    formatted = {"CPU_group_0_a1": 1.0, "CPU_group_a1": 2.0, "GPU_group_a1": 1.0, "bundle_group_a1": 3.0, "memory": 5.0}
    print(sorted(private.parse_pg_formatted_resources_to_original(formatted).items()))
    for name in (3, "", "blue"):
        attempt(repr(name), lambda name=name: print(private.validate_namespace(name)))


@case
def resources_of_a_group_by_their_names(ray: Any) -> None:
    worker = f"{ray.__name__}._private.worker"

    @ray.remote(num_cpus=1)
    def held() -> list[str]:
        found = importlib.import_module(worker).get_resource_ids()
        return [name for name in found if not name.startswith("bundle")]

    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}])
    inside = held.options(placement_group=group, placement_group_bundle_index=1).remote()
    print(sorted(name.replace(group.id.hex(), "ID") for name in ray.get(inside)), ray.get(held.remote()))
    ray.util.remove_placement_group(group)
