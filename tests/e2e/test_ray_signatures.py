"""What can be called has Ray's parameters, kinds and defaults (tests/compat/signatures.json)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "compat"))

import signatures

ROOT = Path(__file__).parents[2]
TABLE = signatures.load()
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python" / "ray_compat")}
MADE = "programs do not make it themselves"
C = "written in C, which tells no signature"
UNKNOWN = "keywords that Ray would ignore are an error here"
#: What differs, and why. Each entry must differ.
DIFFERENT = {
    "ray.ObjectRefGenerator": MADE,
    "ray._private.worker.RemoteFunctionNoArgs": "only for annotations",
    "ray._private.log_monitor.LogFileInfo": "numbers start at 0 and not at None",
    "ray.actor.ActorClass": MADE,
    "ray.actor.ActorHandle": MADE,
    "ray.actor.ActorMethod": MADE,
    "ray.experimental.register_nixl_memory": "raises, since there is no such transport",
    "ray.experimental.set_target_for_ref": "raises, since there is no such transport",
    "ray.init": "what has no effect here is among its other keywords, and is told of",
    "ray.job_submission.JobSubmissionClient": UNKNOWN,
    "ray.remote_function.RemoteFunction": MADE,
    "ray.runtime_context.RuntimeContext": MADE,
    "ray.types.ObjectRef": MADE,
    "ray.util.actor_group.ActorGroup": UNKNOWN,
    "ray.util.annotations.DeveloperAPI": UNKNOWN,
    "ray.util.annotations.PublicAPI": UNKNOWN,
    "ray.util.client.ray.is_connected": UNKNOWN,
    "ray.util.iter.LocalIterator": "the default is an empty tuple and not None",
    "ray.util.iter_metrics.SharedMetrics": "the default is an empty tuple and not None",
}
#: Methods that are not here although their class is, and why.
ABSENT = {
    r"ray\.(_raylet\.)?ObjectRef\.binary|ray\.ObjectID\.binary": C,
    r"ray\.exceptions\.CrossLanguageError": C,
    r"ray\.exceptions\.\w+\.(to_bytes|from_bytes|from_ray_exception)": "Ray's messages between languages",
    r"ray\..*\.redis_shard_hash": "belongs to Ray's store of state",
    r"ray\.(ActorID|TaskID)\.(of|actor_id|for_\w+)": "ids are not made of other ids here",
    r"ray\.(actor\.ActorClass|actor\.ActorMethod|remote_function\.RemoteFunction)\.bind": "graphs of Ray (ray.dag)",
    r"ray\.actor\.ActorMethod\.remote": "each method has its own",
    r"ray\._private\.worker\.RemoteFunctionNoArgs\.\w+": "only for annotations",
    r"ray\._private\.log_monitor\.LogMonitor\.get_is_autoscaler_v2": "belongs to Ray's autoscaler",
    r"ray\.runtime_env\.RuntimeEnv\.(\w+_uris?|virtualenv_name)": "belongs to the caches of Ray's agents",
    r"ray\.runtime_env\.RuntimeEnvConfig\.\w+_proto\w*": "Ray's messages between processes",
    r"ray\.util\.state\.StateApiClient\.get_version": "asks Ray's dashboard",
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[signatures.Parameter]]:
    command = [sys.executable, ROOT / "tests" / "compat" / "signatures.py"]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {name: [tuple(one) for one in parameters] for name, parameters in json.loads(done.stdout).items()}


def missing(theirs: list[signatures.Parameter], ours: list[signatures.Parameter]) -> str | None:
    """Why a call that is right for ``theirs`` may be wrong for ``ours``, or None."""
    variable = {kind for _, kind, _ in theirs if kind.startswith("VAR_")}
    if lacks := variable - {kind for _, kind, _ in ours}:
        return f"takes no {lacks}"
    plain = [one for one in theirs if not one[1].startswith("VAR_")]
    mine = {one[0]: one for one in ours}
    for name, kind, default in plain:
        if name not in mine:
            return f"has no {name}"
        _, own_kind, own_default = mine[name]
        if own_kind != kind and own_kind != "POSITIONAL_OR_KEYWORD":
            return f"{name} is {own_kind}"
        if default is not None and default != own_default:
            return f"{name} is {own_default} by default, not {default}"
    order = [name for name, kind, _ in plain if kind != "KEYWORD_ONLY"]
    if order != [name for name, kind, _ in ours if kind.startswith("POSITIONAL")][: len(order)]:
        return f"the order is not {order}"
    known = {name for name, _, _ in plain}
    more = [name for name, kind, given in ours if name not in known and given is None and not kind.startswith("VAR_")]
    return f"needs {more}" if more else None


@pytest.mark.parametrize("name", TABLE)
def test_signature(name: str, found: dict[str, list[signatures.Parameter]]) -> None:
    if name in found:
        problem = missing(TABLE[name], found[name])
        assert (problem is not None) == (name in DIFFERENT), problem or "no longer differs"
        return
    owner = name.rpartition(".")[0]
    if owner in found:
        assert any(re.fullmatch(pattern, name) for pattern in ABSENT), f"{owner} has no {name}"


def test_each_reason_is_needed(found: dict[str, list[signatures.Parameter]]) -> None:
    lacking = [name for name in TABLE if name not in found]
    assert [pattern for pattern in ABSENT if not any(re.fullmatch(pattern, name) for name in lacking)] == []
    assert DIFFERENT.keys() <= TABLE.keys()


THEIRS: list[signatures.Parameter] = [("a", "POSITIONAL_OR_KEYWORD", None), ("b", "KEYWORD_ONLY", "1")]


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        (THEIRS, None),
        ([*THEIRS, ("c", "KEYWORD_ONLY", "None"), ("d", "VAR_KEYWORD", None)], None),
        (THEIRS[:1], "has no b"),
        ([("a", "KEYWORD_ONLY", None), THEIRS[1]], "a is KEYWORD_ONLY"),
        ([THEIRS[0], ("b", "KEYWORD_ONLY", "2")], "b is 2 by default, not 1"),
        ([("c", "POSITIONAL_OR_KEYWORD", "1"), *THEIRS], "the order is not ['a']"),
        ([*THEIRS, ("c", "KEYWORD_ONLY", None)], "needs ['c']"),
    ],
)
def test_what_counts_as_a_difference(ours: list[signatures.Parameter], why: str | None) -> None:
    assert missing(THEIRS, ours) == why
