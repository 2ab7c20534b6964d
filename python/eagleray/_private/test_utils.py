"""Helpers for tests of programs, under the names of ``ray._private.test_utils``.

Those that look into Ray's own servers can be imported, so that the rest of a file can be used, and raise an error that
names them when they are called.
"""

from __future__ import annotations

import contextlib
import fnmatch
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import eagleray
from eagleray import util
from eagleray._common.network_utils import find_free_port as find_free_port
from eagleray._common.test_utils import DEFAULT_DRIVER_TIMEOUT_SECONDS as DEFAULT_DRIVER_TIMEOUT_SECONDS
from eagleray._common.test_utils import FakeTimer as FakeTimer
from eagleray._common.test_utils import MetricSamplePattern as MetricSamplePattern
from eagleray._common.test_utils import PrometheusTimeseries as PrometheusTimeseries
from eagleray._common.test_utils import Semaphore as Semaphore
from eagleray._common.test_utils import SignalActor as SignalActor
from eagleray._common.test_utils import async_wait_for_condition as async_wait_for_condition
from eagleray._common.test_utils import fetch_prometheus as fetch_prometheus
from eagleray._common.test_utils import fetch_prometheus_metric_timeseries as fetch_prometheus_metric_timeseries
from eagleray._common.test_utils import fetch_prometheus_metrics as fetch_prometheus_metrics
from eagleray._common.test_utils import fetch_prometheus_timeseries as fetch_prometheus_timeseries
from eagleray._common.test_utils import fetch_raw_prometheus as fetch_raw_prometheus
from eagleray._common.test_utils import is_named_tuple as is_named_tuple
from eagleray._common.test_utils import run_string_as_driver as run_string_as_driver
from eagleray._common.test_utils import wait_for_condition as wait_for_condition
from eagleray._private.outside.memory import memory_summary
from eagleray.core.generated._enumerations import ACTOR_STATES
from eagleray.util import state as _records
from eagleray.util.queue import Empty, Queue

#: An older name of Ray's.
async_wait_for_condition_async_predicate = async_wait_for_condition


class RayTestTimeoutException(Exception):
    """What a test raises that has waited for too long."""


def run_string_as_driver_stdout_stderr(
    driver_script: str,
    env: Mapping[str, str] | None = None,
    encode: str = "utf-8",
    timeout: float | None = DEFAULT_DRIVER_TIMEOUT_SECONDS,
) -> tuple[str, str]:
    """Runs a program of its own, and returns what it wrote to standard output, and to standard error.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0.
        subprocess.TimeoutExpired: it was killed after ``timeout`` seconds.
    """
    done = subprocess.run(
        [sys.executable, "-"],
        input=driver_script.encode(encode),
        capture_output=True,
        env=None if env is None else dict(env),
        timeout=timeout,
        check=False,
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode:
        print(out, err, file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, done.args, out, err)
    return out, err


def run_string_as_driver_nonblocking(
    driver_script: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Starts a program of its own, and returns its process. Standard output and standard error are pipes."""
    driver = subprocess.Popen(
        [sys.executable, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
    )
    assert driver.stdin is not None
    driver.stdin.write(driver_script.encode())
    driver.stdin.close()
    driver.stdin = None  # communicate() would write to it
    return driver


def check_call_subprocess(argv: Sequence[str], capture_stdout: bool = False, capture_stderr: bool = False) -> Any:
    """Runs a command, and returns what was asked for of standard output and standard error, as bytes."""
    done = subprocess.run(
        list(argv),
        stdout=subprocess.PIPE if capture_stdout else None,
        stderr=subprocess.PIPE if capture_stderr else None,
        check=True,
    )
    found = [text for text in (done.stdout, done.stderr) if text is not None]
    return tuple(found) if len(found) == 2 else next(iter(found), None)


def check_call_ray(args: Sequence[str], capture_stdout: bool = False, capture_stderr: bool = False) -> Any:
    """Runs the command ``ray``, and returns what was asked for of standard output and standard error, as bytes."""
    words = [sys.executable, "-m", "eagleray._private.tools.ray_command", *args]
    return check_call_subprocess(words, capture_stdout, capture_stderr)


def _state_of(pid: int) -> tuple[str, int] | None:
    """The state and the parent of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[0], int(fields[1])


def _pid_alive(pid: int) -> bool:
    found = _state_of(pid)
    return found is not None and found[0] not in "ZX"


def _children(pid: int) -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [one for one in pids if (found := _state_of(one)) is not None and found[1] == pid and found[0] not in "ZX"]


def _await(done: Callable[[], bool], what: str, timeout: float) -> None:
    end = time.monotonic() + timeout
    while not done():
        if time.monotonic() > end:
            raise RayTestTimeoutException(f"{what} after {timeout} s")
        time.sleep(0.1)


def wait_for_pid_to_exit(pid: int, timeout: float = 20) -> None:
    """Waits for the end of a process.

    Raises:
        RayTestTimeoutException: it still runs.
    """
    _await(lambda: not _pid_alive(pid), f"process {pid} still runs", timeout)


def wait_for_children_of_pid(pid: int, num_children: int = 1, timeout: float = 20) -> None:
    """Waits until a process has that many children.

    Raises:
        RayTestTimeoutException: it has fewer.
    """
    _await(lambda: len(_children(pid)) >= num_children, f"process {pid} has less than {num_children} children", timeout)


def wait_for_children_of_pid_to_exit(pid: int, timeout: float = 20) -> None:
    """Waits for the end of the children that a process has now.

    Raises:
        RayTestTimeoutException: one still runs.
    """
    found = _children(pid)
    _await(lambda: not any(map(_pid_alive, found)), f"children of process {pid} still run", timeout)


def convert_actor_state(state: str | int | None) -> str | None:
    """Returns the name of an actor's state, which is a number of ``gcs_utils.ActorTableData``, or the name already."""
    if not state:
        return None
    return ACTOR_STATES.Name(state) if isinstance(state, int) else state


def wait_for_num_actors(num_actors: int, state: str | int | None = None, timeout: float = 10) -> None:
    """Waits until that many actors are there, or are in a state.

    Raises:
        RayTestTimeoutException: there are fewer.
    """
    filters: list[Any] = [("state", "=", convert_actor_state(state))] if state else []

    def enough() -> bool:
        return len(_records.list_actors(filters=filters, limit=num_actors)) >= num_actors

    _await(enough, f"there are less than {num_actors} actors", timeout)


def wait_for_num_nodes(num_nodes: int, timeout_s: float) -> None:
    """Waits until the cluster has had that many nodes.

    Raises:
        RuntimeError: it has had fewer.
    """
    end = time.monotonic() + timeout_s
    while (count := len(eagleray.nodes())) < num_nodes:
        if time.monotonic() > end:
            raise RuntimeError(f"only {count} of {num_nodes} nodes are there after {timeout_s} s")
        time.sleep(0.1)


def kill_actor_and_wait_for_failure(actor: Any, timeout: float = 10, retry_interval_ms: float = 100) -> None:
    """Kills an actor for good, and waits until the cluster knows it.

    Raises:
        RuntimeError: it still lives.
    """
    actor_id = actor._actor_id.hex()
    before = _records.get_actor(actor_id)
    restarts = before.num_restarts if before is not None else 0
    eagleray.kill(actor)

    def gone() -> bool:
        row = _records.get_actor(actor_id)
        return row is None or row.state == "DEAD" or int(row.num_restarts or 0) > int(restarts or 0)

    wait_for_condition(gone, timeout, retry_interval_ms)


def wait_for_assertion(
    assertion_predictor: Callable[..., Any],
    timeout: float = 10,
    retry_interval_ms: float = 100,
    raise_exceptions: bool = False,
    **kwargs: Any,
) -> None:
    """Calls a function until none of its assertions fails.

    Raises:
        AssertionError: that of the last call.
    """

    def holds() -> bool:
        try:
            assertion_predictor(**kwargs)
        except AssertionError:
            return False
        return True

    try:
        wait_for_condition(holds, timeout, retry_interval_ms, raise_exceptions)
    except RuntimeError:
        assertion_predictor(**kwargs)


def wait_until_succeeded_without_exception(
    func: Callable[..., Any],
    exceptions: type[BaseException] | tuple[type[BaseException], ...],
    *args: Any,
    timeout_ms: float = 1000,
    retry_interval_ms: float = 100,
    raise_last_ex: bool = False,
) -> bool:
    """Calls a function until it raises none of these exceptions, and returns whether it did.

    Args:
        func: The function.
        exceptions: The exceptions after which it is called again.
        *args: Its arguments.
        timeout_ms: For how long.
        retry_interval_ms: The pause between two calls.
        raise_last_ex: Whether the last exception is raised when the time is over.
    """
    end = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            func(*args)
        except exceptions:
            if time.monotonic() > end:
                if raise_last_ex:
                    raise
                return False
            time.sleep(retry_interval_ms / 1000)
        else:
            return True


def get_metric_check_condition(
    metrics_to_check: Sequence[MetricSamplePattern],
    timeseries: PrometheusTimeseries | None = None,
    export_addr: str | None = None,
) -> Callable[[], bool]:
    """Returns a function that fetches metrics and says whether each pattern has a sample.

    Args:
        metrics_to_check: The patterns.
        timeseries: Where the samples are collected.
        export_addr: The address, HOST:PORT; None: that of this node.
    """
    collected = timeseries if timeseries is not None else PrometheusTimeseries()
    if export_addr is None:
        node = eagleray.nodes()[0]
        export_addr = f"{node['NodeManagerAddress']}:{node['MetricsExportPort']}"

    def complete() -> bool:
        fetch_prometheus_timeseries([export_addr], collected)
        samples = list(collected.metric_samples.values())
        return all(any(map(pattern.matches, samples)) for pattern in metrics_to_check)

    return complete


def recursive_fnmatch(dirpath: str, pattern: str) -> list[str]:
    """Returns the files in a folder and those below it whose paths, from that folder on, match a pattern."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(dirpath) for name in names]
    return sorted(one for one in files if fnmatch.fnmatch(os.path.relpath(one, dirpath), pattern))


def generate_system_config_map(**kwargs: Any) -> dict[str, Any]:
    """Returns the arguments of ``init`` for these settings."""
    return {"_system_config": kwargs}


def same_elements(elems_a: Sequence[Any], elems_b: Sequence[Any]) -> bool:
    """Returns whether two lists have the same elements as often, in any order."""
    rest = list(elems_b)
    try:
        for one in elems_a:
            rest.remove(one)
    except ValueError:
        return False
    return not rest


def dicts_equal(dict1: Mapping[Any, Any], dict2: Mapping[Any, Any], abs_tol: float = 1e-4) -> bool:
    """Returns whether two dictionaries are the same, floats within a tolerance."""
    return dict1.keys() == dict2.keys() and all(
        abs(value - dict2[key]) <= abs_tol if isinstance(value, float) else value == dict2[key]
        for key, value in dict1.items()
    )


@eagleray.remote
def _put(value: Any) -> Any:
    return value


def put_object(obj: Any, use_ray_put: bool) -> Any:
    """Returns a reference to a value: of ``put``, or of a task's result."""
    return eagleray.put(obj) if use_ray_put else _put.remote(obj)


def wait_until_server_available(address: str, timeout_ms: float = 5000, retry_interval_ms: float = 100) -> bool:
    """Returns whether something listens at HOST:PORT in time."""
    import socket

    host, _, port = address.rpartition("://")[2].rpartition(":")
    end = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return True
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(retry_interval_ms / 1000)


def get_other_nodes(cluster: Any, exclude_head: bool = False) -> list[Any]:
    """Returns the nodes of a ``Cluster`` but that of this program, and but the first one if that is asked for."""
    here = eagleray.get_runtime_context().get_node_id()
    left_out = {here, cluster.head_node.node_id} if exclude_head else {here}
    return [node for node in cluster.list_all_nodes() if node.node_id not in left_out]


def get_non_head_nodes(cluster: Any) -> list[Any]:
    """Returns the nodes of a ``Cluster`` but the first one."""
    return [node for node in cluster.list_all_nodes() if node is not cluster.head_node]


def kill_raylet(raylet: Mapping[str, Any], graceful: bool = False) -> None:
    """Ends the daemon of a node of this machine.

    Args:
        raylet: The node's row of ``nodes()``.
        graceful: Whether it is told to end; else it is killed.

    Raises:
        RuntimeError: no daemon of this machine is that node.
    """
    folder = os.path.dirname(raylet["ObjectStoreSocketName"])
    try:
        with open(os.path.join(folder, "pid"), encoding="ascii") as file:
            pid = int(file.read())
    except (OSError, ValueError):
        raise RuntimeError(f"no daemon of this machine is node {raylet['NodeID']}") from None
    os.kill(pid, signal.SIGTERM if graceful else signal.SIGKILL)


def object_memory_usage() -> float:
    """Returns how many bytes of the object stores are in use."""
    totals, free = eagleray.cluster_resources(), eagleray.available_resources()
    return totals.get("object_store_memory", 0) - free.get("object_store_memory", 0)


def is_placement_group_removed(pg: Any) -> bool:
    """Returns whether a placement group was removed."""
    return bool(util.placement_group_table(pg).get("state") == "REMOVED")


def placement_group_assert_no_leak(pgs_created: Iterable[Any]) -> None:
    """Removes placement groups, and waits until all groups are gone and all that they had is free.

    Raises:
        RuntimeError: something is not.
    """
    for group in pgs_created:
        util.remove_placement_group(group)
    wait_for_condition(lambda: all(row["state"] == "REMOVED" for row in util.placement_group_table().values()))
    totals = eagleray.cluster_resources()
    for name in ("memory", "object_store_memory"):
        totals.pop(name, None)

    def recovered() -> bool:
        free = eagleray.available_resources()
        return all(totals.get(name, free[name]) == free[name] and "_group_" not in name for name in free)

    wait_for_condition(recovered)


def no_resource_leaks_excluding_node_resources() -> bool:
    """Returns whether all resources are free, not counting those that name a node."""
    totals, free = eagleray.cluster_resources(), eagleray.available_resources()
    return all(free.get(name) == amount for name, amount in totals.items() if "node" not in name)


def check_spilled_mb(
    address: Mapping[str, Any],
    spilled: int | list[int] | None = None,
    restored: int | None = None,
    fallback: Any = None,
) -> None:
    """Waits until so many MiB were spilled and restored, and no others.

    Args:
        address: What ``init`` has returned.
        spilled: MiB, or a list of numbers of which one is right; None: nothing.
        restored: MiB; None: nothing.
        fallback: Not supported: there is no second store.

    Raises:
        NotImplementedError: fallback is given.
        RuntimeError: it is not so after 10 seconds.
    """
    if fallback is not None:
        raise NotImplementedError("check_spilled_mb(fallback=…) is not supported: there is no second store")
    wanted = [spilled] if isinstance(spilled, int) else spilled

    def right() -> bool:
        said = memory_summary(address=address["address"], stats_only=True)
        spill = any(f"Spilled {one} MiB" in said for one in wanted) if wanted else "Spilled" not in said
        back = f"Restored {restored} MiB" in said if restored else "Restored" not in said
        return spill and back

    wait_for_condition(right, timeout=10, retry_interval_ms=200)


class BatchQueue(Queue):
    """A queue that gives out several items at once."""

    def get_batch(
        self, batch_size: int | None = None, total_timeout: float | None = None, first_timeout: float | None = None
    ) -> list[Any]:
        """Returns items of the queue, in their order.

        Args:
            batch_size: How many; None: all that come within ``total_timeout``.
            total_timeout: Seconds to wait for all of them; None: no limit, and with ``batch_size=None`` none are waited
                for after the first one.
            first_timeout: Seconds to wait for the first one; None: no limit.

        Raises:
            Empty: fewer came.
        """
        start = time.monotonic()
        found = [self.get(timeout=first_timeout)]
        while batch_size is None or len(found) < batch_size:
            left = None if total_timeout is None else max(0.0, total_timeout - (time.monotonic() - start))
            try:
                if left == 0 or (left is None and batch_size is None):
                    found.append(self.get_nowait())
                else:
                    found.append(self.get(timeout=left))
            except Empty:
                if batch_size is None:
                    return found
                raise
        return found


@contextlib.contextmanager
def chdir(d: str) -> Iterator[None]:
    """Makes a folder the current one for a block."""
    before = os.getcwd()
    os.chdir(d)
    try:
        yield
    finally:
        os.chdir(before)


def generate_runtime_env_dict(
    field: str, spec_format: str, tmp_path: Any, pip_list: list[str] | None = None
) -> dict[str, Any]:
    """Returns a runtime environment with pip packages, as a file or as Python values.

    Args:
        field: "pip".
        spec_format: "file" or "python_object".
        tmp_path: The folder for the file.
        pip_list: The packages; one small one when None.

    Raises:
        ValueError: field or spec_format is something else.
    """
    packages = ["pip-install-test==0.5"] if pip_list is None else pip_list
    if field != "pip" or spec_format not in ("file", "python_object"):
        raise ValueError(f"no runtime environment is made for field {field!r} as {spec_format!r}")
    if spec_format == "python_object":
        return {"pip": packages}
    path = tmp_path / "requirements.txt"
    path.write_text("\n".join(packages))
    return {"pip": str(path)}


def format_web_url(url: str) -> str:
    """Returns an address of a web server with its scheme."""
    url = url.replace("localhost", "127.0.0.1")
    return url if url.startswith("http://") else f"http://{url}"


def client_test_enabled() -> bool:
    """Returns whether tests are to use Ray Client: no."""
    return False


def external_redis_test_enabled() -> bool:
    """Returns whether tests are to use Redis: no."""
    return False


enable_external_redis = external_redis_test_enabled


def redis_replicas() -> int:
    """Returns how many copies of Redis tests are to start: one is Ray's default."""
    return 1


def get_current_unused_port() -> int:
    """Returns a port at which nothing listens now."""
    return find_free_port()


def wait_for_stdout(strings_to_match: Sequence[str], timeout_s: float) -> Callable[[Any], Any]:
    """Makes a decorator: the function's call returns when this process has written all of these texts.

    Raises:
        RuntimeError: it has not written one of them.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with contextlib.redirect_stdout(io.StringIO()) as written:
                value = function(*args, **kwargs)
                wait_for_condition(
                    lambda: all(text in written.getvalue() for text in strings_to_match), timeout=timeout_s
                )
            return value

        return call

    return decorate


def safe_write_to_results_json(
    result: dict[str, Any],
    default_file_name: str = "/tmp/release_test_output.json",
    env_var: str | None = "TEST_OUTPUT_JSON",
) -> None:
    """Writes a result as JSON, to the file that a variable names, in one step."""
    path = os.environ.get(env_var or "", default_file_name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(path + ".new", path)


#: Helpers that look into Ray's own servers → why they have nothing to look into.
_NOT_HERE = {
    **dict.fromkeys(("init_error_pubsub", "get_error_message"), "errors are not published: read the driver's output"),
    **dict.fromkeys(
        ("init_log_pubsub", "get_log_data", "get_log_message", "get_log_sources", "get_log_batch"),
        "output is not published: read the driver's output",
    ),
    **dict.fromkeys(
        ("start_redis_instance", "start_redis_sentinel_instance", "get_redis_cli"), "there is no Redis behind the head"
    ),
    **dict.fromkeys(("setup_tls", "teardown_tls"), "nodes make their own certificates: see docs/cluster.md"),
    **dict.fromkeys(
        ("get_node_stats", "get_resource_usage", "get_load_metrics_report", "get_gcs_memory_used"),
        "nodes do not speak gRPC: use nodes(), available_resources() and eagleray.util.state",
    ),
    **dict.fromkeys(
        ("make_global_state_accessor", "get_dashboard_agent_address", "wait_for_dashboard_agent_available"),
        "there is no such part of a node: use eagleray.util.state",
    ),
    **dict.fromkeys(
        (
            *("ResourceKillerActor", "NodeKillerBase", "NodeKillerActor", "RayletKiller", "WorkerKillerActor"),
            *("EC2InstanceTerminator", "EC2InstanceTerminatorWithGracePeriod", "get_and_run_resource_killer"),
            *("get_and_run_node_killer",),
        ),
        "use Cluster.remove_node(node, allow_graceful=False) of cluster_utils",
    ),
    **dict.fromkeys(
        (
            "simulate_storage",
            "load_test_config",
            "get_test_config_path",
            "monitor_memory_usage",
            "kill_process_by_name",
        ),
        "it is for Ray's own test machines",
    ),
    **dict.fromkeys(
        ("wait_for_aggregator_agent", "wait_for_aggregator_agent_if_enabled", "check_local_files_gced"),
        "there is no such part of a node",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _NOT_HERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"ray._private.test_utils.{name} is not there: {_NOT_HERE[name]}")

    refuse.__name__ = name
    return refuse
