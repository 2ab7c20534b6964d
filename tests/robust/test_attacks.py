"""The short form of the attacks on every port; ``make robust`` has the long one."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import attacks

pytestmark = pytest.mark.timeout(300)

#: The machine may do other things meanwhile. The long form asks for 0.8.
LEAST_SPEED = 0.5
SECONDS = 1.0
FLAGS = {"slowloris": ["-lines=100"], "member": ["-frames=10000"], "strange": ["-frames=300"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[attacks.Cluster]:
    """A cluster of two nodes, which works."""
    with attacks.Cluster() as made:
        yield made


@pytest.fixture(scope="module")
def attacker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that attacks."""
    return attacks.build(tmp_path_factory.mktemp("attack"))


def test_attacks_on_every_port(cluster: attacks.Cluster, attacker: Path) -> None:
    speeds = attacks.run(cluster, attacker, SECONDS, flags=FLAGS)
    assert speeds.share() > LEAST_SPEED


def test_every_port_of_the_cluster_is_found(cluster: attacks.Cluster) -> None:
    found = {target.rpartition(":")[2] for target in cluster.targets()}
    assert found >= {str(port) for port in cluster.ports.values()}


def test_an_attack_with_success_fails(attacker: Path) -> None:
    """A port that says much to everybody is a breach, and the program says so."""
    with socket.socket() as open_port:
        open_port.bind(("127.0.0.1", 0))
        open_port.listen()
        number = open_port.getsockname()[1]
        ends = threading.Event()

        def answer() -> None:
            """Answers everybody with much."""
            while not ends.is_set():
                line, _ = open_port.accept()
                with line:
                    line.sendall(b"x" * 10000)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        words = [str(attacker), "-attack=garbage", "-seconds=0", f"-port=node=127.0.0.1:{number}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        ends.set()
        with socket.create_connection(("127.0.0.1", number)):
            thread.join()
    assert done.returncode == 1
    assert "answers with more than" in done.stdout
