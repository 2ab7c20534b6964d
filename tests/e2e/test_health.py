"""Health over HTTP, as operators and probes ask for it, and ``eagleray health-check``."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess

import pytest
from pace import until
from ports import free_ports
from two_nodes import Node, TwoNodes

pytestmark = pytest.mark.timeout(300)
LIMIT = 60.0
AGENT = ("/api/local_raylet_healthz", "/api/healthz")


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    """Asks a port of this machine; 0 when nobody answers."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    try:
        line.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        line.close()


def test_head_and_nodes_say_that_they_are_well_and_nothing_else() -> None:
    head, one, two = free_ports(3)
    flags = (f"--dashboard-port={head}", f"--dashboard-agent-listen-port={one}")
    with TwoNodes(*flags, second=(f"--dashboard-agent-listen-port={two}",)) as both:
        assert get(head, "/api/gcs_healthz") == (200, "success")
        for port in (one, two):
            for path in AGENT:
                assert get(port, path) == (200, "success")
                assert get(port, path, Host="head.default.svc.cluster.local") == (200, "success")
        for port in (head, one, two):
            without = 401 if port == head else 404  # a head serves jobs to who has the token
            assert get(port, "/")[0] == get(port, "/api/jobs/")[0] == without
            assert get(port, "/api/healthz", Origin="http://evil.example")[0] == 403
            assert get(port, "/", Host="evil.example")[0] == 421
            with open(both.token) as file:
                assert get(port, "/", Authorization=f"Bearer {file.read().strip()}")[0] == 404

        assert both.first("health-check") == ""
        assert both.second("health-check", f"--address={both.address}", "--skip-version-check") == ""
        assert "ray_client_server" in both.first("health-check", "--component=ray_client_server", status=1)

        killed = both.first.pid("head.pid")
        subprocess.run(["kill", f"-{signal.SIGSTOP}", str(both.first.pid("warden.pid"))], check=True)
        try:
            subprocess.run(["kill", f"-{signal.SIGKILL}", str(killed)], check=True)
            until(lambda: get(head, "/api/gcs_healthz")[0] == 0)
            assert "no head answers" in both.second("health-check", f"--address={both.address}", status=1)
            assert get(two, "/api/healthz") == (200, "success")  # the node goes on without a head
        finally:
            subprocess.run(["kill", f"-{signal.SIGCONT}", str(both.first.pid("warden.pid"))], check=True)
        until(lambda: get(head, "/api/gcs_healthz") == (200, "success"))
        both.second("stop")
        until(lambda: get(two, "/api/healthz")[0] == 0)
        both.join(both.second)


def test_a_port_that_is_taken_is_an_error_only_if_it_was_asked_for() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        node = Node("x")
        try:
            words = ("start", "--head", "--port=0", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000")
            for flag in ("--dashboard-port", "--dashboard-agent-listen-port"):
                said = node(*words, f"{flag}={port}", status=2)
                assert f"port {port} is taken" in said and flag in said
            with TwoNodes(), TwoNodes():  # four nodes want 52365
                pass
        finally:
            node.clear()


def test_health_check_of_a_head_without_tls_and_of_none() -> None:
    with TwoNodes("--insecure", second=("--insecure",)) as both:
        assert both.second("health-check", f"--address={both.address}") == ""
        address = both.address
    node = Node("x")
    assert "no head answers" in node("health-check", f"--address={address}", status=1)
    assert "no cluster is running" in node("health-check", status=1)
    with socket.socket() as held:  # something else answers there
        held.bind(("127.0.0.1", 0))
        held.listen()
        assert "no head answers" in node("health-check", f"--address=127.0.0.1:{held.getsockname()[1]}", status=1)
    node.clear()
