"""``util.metrics``, and what Prometheus reads of a node."""

from __future__ import annotations

import pickle
import re
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray._private.session import metric_reports
from eagleray.util import metrics
from pace import until
from ports import free_port, free_ports
from test_health import get
from two_nodes import TwoNodes

pytestmark = pytest.mark.timeout(300)


def series(port: int, **headers: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a port shows: names and labels of series, and their values."""
    status, text = get(port, "/metrics", **headers)
    assert status == 200, text
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line).groups()  # type: ignore[union-attr]
            found[name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))] = float(value)
    return found


def values(port: int, name: str, **labels: str) -> list[float]:
    """The values of the series of a name that have these labels."""
    wanted = set(labels.items())
    return sorted(value for (other, has), value in series(port).items() if other == name and wanted <= has)


@ray.remote(num_cpus=0)
class Counting:
    def __init__(self) -> None:
        self.calls = metrics.Counter("calls", "calls of an actor", ("way",)).set_default_tags({"way": "in"})
        self.level = metrics.Gauge("level")

    def count(self, number: float) -> str:
        self.calls.inc(number)
        self.calls.inc(1, {"way": "out"})
        self.level.set(number)
        return ray.get_runtime_context().get_worker_id()


@ray.remote(num_cpus=0)
def observe(value: float) -> None:
    metrics.Histogram("seconds", boundaries=[1, 10]).observe(value)


def test_drivers_tasks_and_actors_are_seen_and_gauges_leave_with_their_process(fresh: Any) -> None:
    port = free_port()
    early = metrics.Gauge("early")
    early.set(7)  # before there is a session
    context = ray.init(address="local", num_cpus=2, _metrics_export_port=port)
    assert context.address_info["metrics_export_port"] == port == ray.nodes()[0]["MetricsExportPort"]
    actor = Counting.remote()
    worker = ray.get(actor.count.remote(2.5))
    ray.get([observe.remote(value) for value in (0.5, 1, 5, 50)])
    until(lambda: values(port, "ray_early") == [7])
    until(lambda: values(port, "ray_calls_total", way="in", WorkerId=worker) == [2.5])
    assert values(port, "ray_calls_total", way="out") == [1] and values(port, "ray_level") == [2.5]
    until(lambda: sum(values(port, "ray_seconds_count")) == 4)
    assert [sum(values(port, "ray_seconds_bucket", le=le)) for le in ("1", "10", "+Inf")] == [2, 3, 4]
    assert sum(values(port, "ray_seconds_sum")) == 56.5
    assert values(port, "ray_resources", Name="CPU", State="AVAILABLE") == [2]
    assert values(port, "ray_actors", State="ALIVE") == [1] and values(port, "ray_running_jobs") == [1]
    assert values(port, "ray_tasks", Name="observe", State="FINISHED") == [4]
    ray.kill(actor)
    until(lambda: not values(port, "ray_level"))
    assert values(port, "ray_calls_total", WorkerId=worker) == [1, 2.5]
    early.set(8)
    until(lambda: values(port, "ray_early") == [8])
    ray.shutdown()
    assert get(port, "/metrics")[0] == 0
    ray.init(address="local", _metrics_export_port=port)  # a new session is told all again
    until(lambda: values(port, "ray_early") == [8])


def test_only_this_machine_and_no_page_of_a_browser_reads_the_metrics_of_a_session(fresh: Any) -> None:
    port = free_port()
    ray.init(address="local", _metrics_export_port=port)
    assert get(port, "/metrics")[0] == 200
    assert get(port, "/")[0] == 404
    assert get(port, "/metrics", Host="evil.example")[0] == 421
    assert get(port, "/metrics", Origin="http://evil.example")[0] == 403
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    assert [where.partition(":")[0] for where in listening if int(where.partition(":")[2] or "0", 16) == port] == [
        "0100007F"
    ]


def test_a_port_that_is_taken_or_is_none_is_an_error(fresh: Any) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        with pytest.raises(Exception, match=f"port {port} is taken"):
            ray.init(address="local", _metrics_export_port=port)
    for wrong, kind in ((0, ValueError), (70_000, ValueError), ("80", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="_metrics_export_port"):
            ray.init(address="local", _metrics_export_port=wrong)


def test_without_a_port_nothing_is_kept_by_the_node_and_nothing_fails(fresh: Any) -> None:
    ray.init(address="local", num_cpus=1)
    assert ray.nodes()[0]["MetricsExportPort"] == -1
    worker = Counting.remote()
    ray.get(worker.count.remote(1))
    counter = metrics.Counter("unseen")
    counter.inc()
    metric_reports.reports.flush()
    counter.inc()


def test_each_node_of_a_cluster_shows_its_own_metrics_to_who_has_the_token() -> None:
    one, two = free_ports(2)
    with TwoNodes(f"--metrics-export-port={one}", second=(f"--metrics-export-port={two}",)) as both:
        for port in (one, two):
            assert get(port, "/metrics")[0] == 401
            assert get(port, "/metrics", Authorization="Bearer " + "0" * 64)[0] == 401
        program = """
import eagleray as ray
from eagleray.util import metrics
@ray.remote(resources={"b": 1}, num_cpus=0)
def count():
    metrics.Counter("there").inc(3)
@ray.remote(num_cpus=0, resources={"b": 1})
class Keep:
    def wait(self): pass
metrics.Counter("here").inc(2)
ray.get(count.remote())
print("counted", flush=True)
input()
"""
        child = subprocess.Popen(
            [sys.executable, "-c", program],
            env=both.first.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout is not None and child.stdout.readline() == "counted\n"
            with open(both.token) as file:
                bearer = f"Bearer {file.read().strip()}"
            seen = lambda port: {name: value for (name, _), value in series(port, Authorization=bearer).items()}  # noqa: E731
            until(lambda: seen(one).get("ray_here_total") == 2)
            until(lambda: seen(two).get("ray_there_total") == 3)
            assert "ray_there_total" not in seen(one) and "ray_here_total" not in seen(two)
        finally:
            child.communicate("\n", timeout=60)
        assert child.returncode == 0


def test_a_program_that_makes_too_many_series_is_told_and_stays_small(
    monkeypatch: pytest.MonkeyPatch, fresh: Any
) -> None:
    said: list[str] = []
    monkeypatch.setattr(metric_reports.driver_log, "warning", said.append)
    monkeypatch.setattr(metric_reports, "MOST_SERIES", metric_reports.reports.series + 3)
    gauge = metrics.Gauge("many", tag_keys=("k",))
    for index in range(10):
        gauge.set(index, {"k": str(index)})
    table = gauge._table
    assert table is not None and len(table.rows) == 3
    gauge.set(5, {"k": "0"})  # what is there goes on
    assert table.rows[(("k", "0"),)][0] == 5 and len(said) == 1 and "many" in said[0]


def test_what_the_node_refuses_is_said_once(monkeypatch: pytest.MonkeyPatch, fresh: Any) -> None:
    said: list[str] = []
    monkeypatch.setattr(metric_reports.driver_log, "warning", said.append)
    port = free_port()
    ray.init(address="local", _metrics_export_port=port)
    gauge = metrics.Gauge("long", tag_keys=("k",))
    for _ in range(3):
        gauge.set(1, {"k": "x" * 5000})
        metric_reports.reports.flush()
    assert len(said) == 1 and "the value of tag k of metric long" in said[0]
    assert values(port, "eagleray_metrics_refused_total") == [3]


def test_names_of_tags_become_labels() -> None:
    assert [metric_reports.label_name(key) for key in ("a", "a b", "1x", "", "a-b")] == ["a", "a_b", "_1x", "_", "a_b"]


def test_metrics_are_pickled_with_their_tags_and_boundaries() -> None:
    gauge = pickle.loads(pickle.dumps(metrics.Gauge("g", "d", ("a",)).set_default_tags({"a": "1"})))
    assert gauge.info == {"name": "g", "description": "d", "tag_keys": ("a",), "default_tags": {"a": "1"}}
    histogram = pickle.loads(pickle.dumps(metrics.Histogram("h", boundaries=[5, 1])))
    assert histogram.boundaries == [5, 1]
    histogram.observe(1)
    assert histogram._table.boundaries == (1.0, 5.0) and next(iter(histogram._table.rows.values()))[1] == [1, 0, 0]


def test_a_name_that_is_none_warns_and_its_metric_keeps_nothing() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bad = metrics.Counter("1 x", tag_keys=("a",))
    bad.inc()
    assert [one.filename for one in caught] == [__file__] and bad._table is None


def test_wrong_values_are_refused_with_the_name_of_the_metric() -> None:
    histogram = metrics.Histogram("wrong", boundaries=[1])
    with pytest.raises(ValueError, match="wrong is NaN"):
        histogram.observe(float("nan"))
    with pytest.raises(ValueError, match="201 boundaries"):
        metrics.Histogram("wrong", boundaries=list(range(1, 202)))
    with pytest.raises(ValueError, match="counter wrong"):
        metrics.Counter("wrong").inc(float("inf"))
    for wrong in (5, None):
        with pytest.raises(TypeError, match="name of a metric"):
            metrics.Counter(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the description of metric x"):
        metrics.Counter("x", None)  # type: ignore[arg-type]
