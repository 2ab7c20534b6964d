"""What programs and nodes notice of heads that end, move and come back."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from eagleray._private.cli import BINARY
from pace import until
from ports import free_ports
from several_heads import Heads
from steadywork import CALLS
from two_nodes import LIMIT, Node

pytestmark = pytest.mark.timeout(300)

FOLDER = """
    import os

    import eagleray as ray
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.init(runtime_env={{"working_dir": {folder!r}}})

    @ray.remote(num_cpus=0)
    def look():
        import only_here

        return only_here.VALUE, os.getcwd() != {folder!r}

    print("begun", flush=True)
    name = input()
    number = next(n["NodeID"] for n in ray.nodes() if n["NodeName"] == name)
    there = look.options(scheduling_strategy=NodeAffinitySchedulingStrategy(number, soft=False))
    print(ray.get(there.remote(), timeout=60))
"""


def test_folders_outlive_the_leader(tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("VALUE = 3\n")
    with Heads(3) as heads:
        leader = heads.leader()
        mine, other = (n for n in heads.nodes if n != leader)
        program = mine.popen(FOLDER.format(folder=str(tmp_path)))
        assert program.stdout is not None and program.stdout.readline() == "begun\n"
        leader("stop")
        until(lambda: any(h["role"] == "leader" and h["healthy"] for h in heads.list(mine)))
        said, _ = program.communicate(str(heads.nodes.index(other) + 1) + "\n", timeout=LIMIT)
        assert said == "(3, True)\n", said


ASKS = """
    import eagleray as ray
    from eagleray.autoscaler.sdk import request_resources

    ray.init()
    request_resources({arguments})
"""


def test_requests_of_resources_outlive_program_and_leader() -> None:
    with Heads(3) as heads:
        mine = heads.nodes[0]
        assert "request_resources" not in mine("status")
        mine.python(ASKS.format(arguments="num_cpus=100"))
        labels = 'bundles=[{"CPU": 2, "GPU": 0.5}] * 3, bundle_label_selectors=[{"zone": "in(a,b)"}] * 3'
        mine.python(ASKS.format(arguments=labels))  # replaces the first one
        heads.kill(heads.leader())
        until(heads.healthy)
        for node in heads.nodes:
            said = node("status")
            shown = said.partition("Demands from request_resources()\n")[2]
            assert shown == '  3 \u00d7 {"CPU": 2, "GPU": 0.5} on nodes with zone=in(a,b)\n', said
        mine.python(ASKS.format(arguments=""))
        assert "request_resources" not in mine("status")


def addresses(heads: Heads, node: Node) -> list[str]:
    """Where the heads are, as a node's programs see it, without where they have been."""
    return sorted(h["addresses"][0] for h in heads.list(node))


class Service:
    """An address that stays, as that of a service of Kubernetes: what is behind it may change."""

    def __init__(self, to: str) -> None:
        self.to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            host, _, port = self.to.rpartition(":")
            try:
                far = socket.create_connection((host, int(port)), timeout=5)
            except OSError:
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    @staticmethod
    def _copy(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_heads_move_and_nodes_and_programs_follow(tmp_path: Path) -> None:
    with Heads(1, f"--state-dir={tmp_path / '0'}") as heads:
        for i in (1, 2):
            heads.nodes.append(Node(heads.mark))
            heads.flags = (f"--state-dir={tmp_path / str(i)}",)
            heads.join(heads.nodes[i])
        until(lambda: "3 of 3 voters are healthy" in heads.nodes[0]("heads", "list"))
        service = Service(heads.address)
        last = Node(heads.mark)
        heads.nodes.append(last)
        last.start(f"--address={service.address}", f"--token-file={heads.token}", "--num-cpus=2", "--node-name=last")
        program = last.popen(CALLS)
        assert program.stdin is not None and program.stdout is not None and program.stdout.readline() == "1\n"

        def goes_on(n: int) -> None:
            assert program.stdin is not None and program.stdout is not None
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == f"[{n}, 1]\n"

        def start(i: int, port: int, *flags: str) -> subprocess.Popen[str]:
            words = ("--head", f"--port={port}", "--num-cpus=1", "--node-ip-address=127.0.0.1", *flags)
            words += (f"--state-dir={tmp_path / str(i)}", f"--token-file={heads.token}", f"--node-name={i + 1}")
            return subprocess.Popen(
                [BINARY, "start", "--object-store-memory=100000000", *words], env=heads.nodes[i].env, text=True
            )

        ports = free_ports(6)
        for i, port in enumerate(ports[:3]):  # one after the other
            heads.nodes[i]("stop")
            assert start(i, port).wait(LIMIT) == 0
            until(lambda: "3 of 3 voters are healthy" in last("heads", "list"))
            goes_on(i + 2)
        moved = sorted(f"127.0.0.1:{port}" for port in ports[:3])
        until(lambda: addresses(heads, last) == moved)
        for address in moved:  # each names this node's cluster to programs
            source = f"import eagleray as ray\nray.init({address!r})\nprint(len(ray.nodes()) > 0)"
            until(lambda s=source: last.python(s) == "True\n")

        for node in heads.nodes[:3]:
            node("stop")
        listed = ",".join(f"127.0.0.1:{port}" for port in ports[3:])
        service.to = f"127.0.0.1:{ports[4]}"
        for one in [start(i, port, f"--address={listed}") for i, port in enumerate(ports[3:])]:  # all at once
            assert one.wait(LIMIT) == 0
        until(lambda: "3 of 3 voters are healthy" in last("heads", "list"))
        goes_on(5)
        assert addresses(heads, last) == sorted(listed.split(","))
        program.communicate(timeout=LIMIT)
        service.close()
