"""What the driver of a submitted job inherits from the submission: its runtime environment and its metadata."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from eagleray._private import driver_log
from eagleray._private.calls.control import rpc
from eagleray._private.hot_error import HotError
from eagleray._private.state import EnvBase, Session

#: The variable in the environment of an entrypoint. The name is Ray's.
VARIABLE = "RAY_JOB_CONFIG_JSON_ENV_VAR"
#: Lets a driver change what the submission has said.
OVERRIDE = "RAY_OVERRIDE_JOB_RUNTIME_ENV"
_DRIVERS = "eagleray.jobs.drivers"
_SUBMISSION = "job_submission_id"


class Inherited:
    """What a submission gives to its drivers.

    Attributes:
        runtime_env: Its runtime environment.
        packages: The folders of that, as other nodes get them.
        metadata: Its metadata.
        python: The interpreter with which nodes make virtual environments for it.
        prefix: The ``sys.prefix`` of the processes that run it on the node of its entrypoint.
    """

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.runtime_env: dict[str, Any] = dict(said.get("runtime_env") or {})
        self.packages: list[dict[str, Any]] = list(said.get("packages") or ())
        self.metadata: dict[str, str] = dict(said.get("metadata") or {})
        self.python = str(said.get("python") or "")
        self.prefix = str(said.get("prefix") or "")


def text(env: EnvBase, metadata: Mapping[str, str]) -> str:
    """Returns what the variable says, for an entrypoint that runs in an environment."""
    packages = [
        {name: value.hex() if isinstance(value, bytes) else value for name, value in package.items()}
        for package in env.spec.get("packages", ())
    ]
    said = {"runtime_env": env.runtime_env, "metadata": dict(metadata), "packages": packages}
    return json.dumps({**said, "python": env.spec["python"], "prefix": sys.prefix}, default=str)


def inherited() -> Inherited | None:
    """Returns what this process inherits; None if it belongs to no submitted job.

    Raises:
        ValueError: the variable makes no sense.
    """
    said = os.environ.get(VARIABLE)
    if not said:
        return None
    try:
        return Inherited(json.loads(said))
    except (ValueError, TypeError, AttributeError) as problem:
        raise ValueError(
            f"the variable {VARIABLE} is not what a submitted job gets ({problem}): unset it, or give it a JSON object"
        ) from None


def join(before: Inherited, runtime_env: Mapping[str, Any]) -> None:
    """Checks that a driver adds to the environment of its submission and changes nothing of it, unless it may.

    Raises:
        ValueError: it changes something.
    """
    if os.environ.get(OVERRIDE) == "1":
        changed = {name for name in ("working_dir", "py_modules") if name in runtime_env}
        if "working_dir" in changed:
            before.packages = [package for package in before.packages if package.get("Module")]
        before.runtime_env = {name: value for name, value in before.runtime_env.items() if name not in changed}
        return
    twice = sorted(name for name in runtime_env if name in before.runtime_env and name not in ("env_vars", "config"))
    variables = before.runtime_env.get("env_vars", {})
    twice += [f"env_vars[{name!r}]" for name in runtime_env.get("env_vars", {}) if name in variables]
    if twice:
        raise ValueError(
            f"init(runtime_env=…) gives {', '.join(twice)}, and the job was submitted with that already: give it in "
            f"one of the two places, or set {OVERRIDE}=1 so that init() wins"
        )


def note_driver(session: Session, before: Inherited) -> None:
    """Writes into the cluster's state which driver the submission has."""
    submission = before.metadata.get(_SUBMISSION)
    if not submission:
        return
    row = {"id": session.job_id.hex(), "node_ip_address": session.node_addr, "pid": str(os.getpid())}
    body = {"ns": _DRIVERS, "key": submission.encode(), "value": json.dumps(row).encode(), "overwrite": True}
    try:
        rpc(session, "kv_put", body)
    except HotError as problem:
        driver_log.warning(f"the cluster does not know that this program belongs to the job {submission}: {problem}")
