"""What users read when they mistype a name, ask for what is not there, or nest too deeply."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray._private.session import variables

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ("ray.init(num_cpu=2)", RuntimeError, "num_cpu (did you mean 'num_cpus'?)"),
        ("ray.init(_system_confg={})", RuntimeError, "did you mean '_system_config'?"),
        ("ray.remote(num_cpu=1)(print_it)", ValueError, "did you mean 'num_cpus'?"),
        ("ray.remote(max_restart=1)(Some)", ValueError, "did you mean 'max_restarts'?"),
        ("ray.remote(print_it).options(num_gpu=1)", ValueError, "did you mean 'num_gpus'?"),
        ("ray.remote(Some).options(lifetme='detached')", ValueError, "did you mean 'lifetime'?"),
        ("ray.remote(Some).options(max_retries=1)", ValueError, "it is one of remote functions"),
        ("ray.method(num_return=2)", AssertionError, "did you mean 'num_returns'?"),
        ("ray.method(tensor_transport='nccl')", ValueError, "tensors go through the object store"),
        ("ray.remote(Some).remote().go.options(num_return=2)", TypeError, "did you mean 'num_returns'?"),
        ("ray.remote(runtime_env={'env_var': {}})(print_it).remote()", ValueError, "did you mean 'env_vars'?"),
        ("ray.cancel(ray.put(1), recursiv=True)", TypeError, "did you mean 'recursive'?"),
        ("ray.kill(None, norestart=True)", TypeError, "did you mean 'no_restart'?"),
        ("ray.get_actor('a', name_space='b')", TypeError, "did you mean 'namespace'?"),
        ("ray.put(1, _owner=1)", ValueError, "call a method of that actor"),
    ],
)
def test_mistyped_names_are_suggested(ray: Any, call: str, error: type[Exception], text: str) -> None:
    class Some:
        def go(self) -> None: ...

    def print_it() -> None: ...

    with pytest.raises(error, match=re.escape(text)):
        eval(call, {"ray": ray, "Some": Some, "print_it": print_it})


def test_variables_that_are_known_are_those_that_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "environment.md").read_text()
    explained = set(re.findall(r"`((?:EAGLERAY|RAY)_\w*\w)`", text))
    assert explained <= variables.KNOWN, "add the new variable to eagleray/_private/variables.py"
    bare = {name.partition("_")[2] for name in explained}
    assert {name.partition("_")[2] for name in variables.KNOWN} == bare
    for name in [name for name in os.environ if name.startswith(("RAY_", "EAGLERAY_"))]:
        monkeypatch.delenv(name)
    for name in ("EAGLERAY_TMPDRI", "RAY_ADDRES", "RAY_BACKEND_LOG_LEVEL", "RAY_memory_limit_bytes", "EAGLERAY_XYZZY"):
        monkeypatch.setenv(name, "1")
    for name in ("EAGLERAY_BENCH_SESSION", "EAGLERAY_ROBUST_MARK"):  # of this project's own programs
        monkeypatch.setenv(name, "1")
    found = variables.unknown()
    assert len(found) == 3
    assert "EAGLERAY_TMPDRI is not known: did you mean EAGLERAY_TMPDIR?" in found[0]
    assert "EAGLERAY_XYZZY is not known" in found[1]
    assert "RAY_ADDRES is not known: did you mean RAY_ADDRESS?" in found[2]


def test_what_has_no_effect_says_so_once(script: Any) -> None:
    done = script(
        """
        import eagleray as ray

        for _ in range(2):
            given = {"proxy_server_url": "http://x", "enable_resource_isolation": True}
            ray.init(num_cpus=1, _redis_password="x", **given)
            ray.shutdown()
        ray.init(num_cpus=1, include_dashboard=False, dashboard_host="127.0.0.1", logging_config=None)
        """,
        env={**os.environ, "EAGLERAY_DEDUPLOGS": "0"},
    )
    said = re.findall(r"init\((\w+)=…\) has no effect: .+", done.stderr)
    assert sorted(said) == ["_redis_password", "enable_resource_isolation", "proxy_server_url"]
    assert done.stderr.count("EAGLERAY_DEDUPLOGS is not known") == 1


def test_settings_of_system_config_that_do_nothing_are_told_of(script: Any) -> None:
    done = script(
        """
        import eagleray as ray

        settings = {"object_spilling_treshold": 0.5, "min_spilling_size": 0, "health_check_period_ms": 1}
        for _ in range(2):
            ray.init(num_cpus=1, _system_config=settings)
            ray.shutdown()
        """
    )
    said = [line for line in done.stderr.splitlines() if "has no effect" in line]
    assert len(said) == 2, done.stderr
    assert "'object_spilling_treshold': …}) has no effect (did you mean 'object_spilling_threshold'?)" in said[0]
    assert "'health_check_period_ms': …}) has no effect" in said[1] and "min_spilling_size" in said[1]


def test_flags_of_commands_in_python_are_suggested() -> None:
    for arguments, near in (("list actors --fromat json", "--format"), ("memory --grup-by NODE_ADDRESS", "--group-by")):
        command = [sys.executable, "-c", "from eagleray._private.cli import main; main()", *arguments.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and f"did you mean '{near}'?" in done.stderr


def test_an_argument_of_a_node_without_effect_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from eagleray import cluster_utils

    said: list[str] = []
    monkeypatch.setattr(cluster_utils, "_said", set())
    monkeypatch.setattr(cluster_utils.driver_log, "warning", said.append)
    given = {"num_cpus": 2, "dashboard_port": 8265, "redis_password": None, "include_dashboard": False}
    assert cluster_utils._flags(given) == cluster_utils._flags(given) == ["--num-cpus=2"]
    assert len(said) == 1 and "add_node(dashboard_port=…) has no effect" in said[0]


def test_deep_nesting_is_named(ray: Any) -> None:
    @ray.remote
    def take(x: Any) -> None: ...

    @ray.remote
    def give() -> Any:
        return nested()

    def nested() -> Any:
        value: Any = []
        for _ in range(100_000):
            value = [value]
        return value

    class Node:
        after: Any = None

    first = Node()
    for _ in range(5000):
        node = Node()
        node.after, first = first, node
    table: dict[str, Any] = {}
    for _ in range(5000):
        table = {"a": table}
    for value, step in ((nested(), "[0]"), (table, "['a']"), (first, ".after")):
        for use in (ray.put, take.remote):
            with pytest.raises(pickle.PicklingError, match="nested too deeply") as caught:
                use(value)
            text = str(caught.value)
            assert f"{step} → {step} → …" in text and "flatter" in text
            assert "Locks" not in text and "recursion" not in text
    with pytest.raises(pickle.PicklingError, match="the result of give: it is nested too deeply"):
        ray.get(give.remote())


def test_a_limit_of_addresses_points_to_the_store() -> None:
    program = "import eagleray; eagleray.init(num_cpus=1, object_store_memory=6_000_000_000)"
    done = subprocess.run(
        ["bash", "-c", 'ulimit -v 4000000; exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "object_store_memory" in last and "ulimit -v" in last


def test_references_of_another_session_are_told_in_public_words(ray: Any) -> None:
    unknown = ray.ObjectRef.from_random()

    @ray.remote
    def take(x: Any) -> None: ...

    uses = [ray.get, ray.put, take.remote, ray.cancel, pickle.dumps, lambda ref: ref.owner_address()]
    for use in [*uses, lambda ref: ray.put([ref]), lambda ref: take.remote([ref]), lambda ref: ref.future().result(30)]:
        with pytest.raises((ValueError, TypeError, ray.exceptions.RayError)):
            use(unknown)
