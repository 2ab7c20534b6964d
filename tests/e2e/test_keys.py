"""The token and the authority of a cluster are replaced while programs run on it, and a node is revoked."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from pace import until
from two_nodes import Node, TwoNodes

pytestmark = pytest.mark.timeout(300)
LIMIT = 60.0

WORK = """
    import sys
    import eagleray as ray

    ray.init(log_to_driver=False)

    @ray.remote(num_cpus=0, resources={"b": 0.1})
    class Counter:
        def __init__(self):
            self.n = 0

        def add(self):
            self.n += 1
            return self.n

    @ray.remote(num_cpus=0, resources={"b": 0.1})
    def double(x):
        return 2 * x

    counter = Counter.remote()
    n = 0
    print("works", flush=True)
    import threading
    ends = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ends.set()), daemon=True).start()
    while not ends.is_set() or n < 4:
        n += 1
        assert ray.get([counter.add.remote(), double.remote(n)]) == [n, 2 * n]
    print("all", n, flush=True)
"""


class Work:
    """A program that works on the second node without a pause, and counts."""

    def __init__(self, node: Node) -> None:
        self.process = node.popen(WORK)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line == "works\n", line

    def end(self) -> None:
        """Nothing was lost or done twice. The last call has begun after all that was done to the cluster."""
        out, _ = self.process.communicate("end\n", timeout=LIMIT)
        found = re.fullmatch(r"all (\d+)\n", out)
        assert self.process.returncode == 0 and found and int(found[1]) > 3, out


def test_the_authority_is_replaced_while_a_program_works() -> None:
    with TwoNodes() as both:
        work = Work(both.first)
        before = re.search(r"authority (\w+) signs", both.first("authority", "status"))
        assert before
        assert before[1] in both.first("authority", "rotate")
        until(lambda: "takes the place" not in (s := both.first("authority", "status")) and before[1] not in s)
        assert "authority is being replaced" not in both.first("authority", "status")
        assert both.second("status").count("alive") == 2
        third = Node(both.mark)
        try:
            both.join(third)  # certificates of the new authority
            assert both.first("status").count("alive") == 3
        finally:
            third("stop")
            third.clear()
        work.end()


def test_the_token_is_replaced_while_a_program_works(tmp_path: Path) -> None:
    with TwoNodes() as both:
        own = tmp_path / "token"  # of the second node's machine
        shutil.copy(both.token, own)
        both.second("stop")
        both.token, before = str(own), both.token
        both.join(both.second, "--num-cpus=2", '--resources={"b": 1}')
        both.token = before
        work = Work(both.first)

        said = both.first("token", "rotate")
        new = both.token + ".new"
        assert "both count" in said.lower() and new in said
        assert Path(new).stat().st_mode & 0o777 == 0o600
        assert "is there already" in both.first("token", "rotate", status=1)
        assert "has the old token" in both.first("token", "status")
        assert "with the new token" in both.first("token", "finish", status=1)

        shutil.copy(new, both.token)
        refused = both.first("token", "finish", status=1)
        assert "1 of the nodes do not have the new token yet" in refused and "node 3" in refused
        old = tmp_path / "old"
        shutil.copy(own, old)
        shutil.copy(new, own)
        assert "All machines have the new token" in both.first("token", "status")
        assert "old token has ended" in both.first("token", "finish")

        third = Node(both.mark)
        try:
            address = f"--address={both.address}"
            assert "does not know the token" in third("start", address, f"--token-file={old}", status=2)
            third("start", address, f"--token-file={new}", "--object-store-memory=100000000")
        finally:
            third("stop")
            third.clear()
        killed = both.first.pid("head.pid")
        subprocess.run(["kill", f"-{signal.SIGKILL}", str(killed)], check=True)
        until(lambda: both.first.pid("head.pid") != killed)
        until(lambda: both.first("status").count("alive") >= 2)
        assert both.first("token", "status").count("has the token") == 3  # the head's machine and two nodes
        work.end()


def test_a_revoked_node_ends_and_its_certificate_counts_no_more() -> None:
    with TwoNodes() as both:
        log = both.second.folder
        said = both.first("revoke", "two")
        assert "node 2 (two at 127.0.0.1)" in said.lower() and "token rotate" in said
        until(lambda: "was revoked" in "".join(path.read_text() for path in log.glob("eagleray-*/s-*/logs/*.log")))
        assert "Revoked: 2" in both.first("authority", "status")
        until(
            lambda: both.first("status").count("alive") == 2
        )  # it knows the token, so it comes back with another number
        assert "no node has the name" in both.first("revoke", "nobody", status=1)
        assert "a head is not revoked" in both.first("revoke", "0", status=1)


def test_keys_of_a_cluster_without_tls_are_not_replaced() -> None:
    with TwoNodes("--insecure", second=("--insecure",)) as both:
        assert "goes without TLS" in both.first("authority", "status", "--insecure")
        assert "--insecure" in both.first("token", "rotate", "--insecure", status=1)
        assert not Path(both.token + ".new").exists()
