"""A zygote's warm-up: it leaves the process as it was, and the interpreter has adapted the code of a worker's start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from pace import PATIENCE_S

#: A process that is prepared like a zygote, and tells what differs in it after the warm-up.
PROGRAM = """
import dis, json, os, signal, sys

from eagleray._private import functions
from eagleray._private.calls import core
from eagleray._private.worker import host, main, runner, startup, warmup
from eagleray._private.worker.cancel import cancellation
from eagleray._private.context import here
from eagleray._private.state import process

core.prepare()
ADAPTIVE = {"adaptive": True} if sys.version_info >= (3, 11) else {}
setup = {"env": {"EAGLERAY_ENV_KEY": "k"}, "sys_path": [], "cwd": "/", "preload": [], "bare": False}
os.environ["EAGLERAY_ENV_KEY"] = "k"
defaults = main.worker_defaults(setup, dict(os.environ))
signals = [signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD, signal.SIGTERM]


def state():
    return {
        "streams": [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__, sys.argv, sys.modules["__main__"]],
        "here": dict(vars(here)), "environ": dict(os.environ), "exit": os._exit, "session": process.session,
        "hook": sys.unraisablehook, "signals": [signal.getsignal(number) for number in signals],
        "arrived": dict(functions._received),
        "early": set(cancellation.early), "handler": cancellation.handler, "kept": list(startup._keep),
        "threads": len(os.listdir("/proc/self/task")), "files": sorted(os.listdir("/proc/self/fd")),
    }


before = state()
warmup.warm_up(defaults)
after = state()
ways = {
    "start": main.join, "host": host.host, "take": runner.CallRunner.take, "call": runner.CallRunner.run_call,
}

def operations(way, **how):
    return [i.opname for i in dis.get_instructions(way, **how)]


plain = [name for name, way in ways.items() if operations(way) == operations(way, **ADAPTIVE)]
print(json.dumps({"differs": [name for name in before if before[name] != after[name]], "plain": plain}))
"""


@pytest.fixture(scope="module", params=["plain", "traced"])
def told(request: Any, tmp_path_factory: Any) -> dict[str, Any]:
    more = {"EAGLERAY_TRACE": str(tmp_path_factory.mktemp("stamps"))} if request.param == "traced" else {}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **more})
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_process_is_as_it_was(told: dict[str, Any]) -> None:
    assert told["differs"] == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this interpreter does not adapt")
def test_the_interpreter_has_adapted(told: dict[str, Any]) -> None:
    assert told["plain"] == []


def test_zygotes_do_it_before_the_first_worker(fresh: Any) -> None:
    fresh.init(address="local", num_cpus=1, log_to_driver=False)
    assert fresh.get(
        fresh.remote(lambda: "eagleray._private.worker.warmup" in sys.modules).remote(), timeout=PATIENCE_S
    )
