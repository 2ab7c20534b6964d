"""A cluster with several heads on this machine, each with a folder for sessions of its own."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
from types import TracebackType
from typing import Any

from pace import until
from two_nodes import Node, processes


class Heads:
    """Heads that have a vote each, with a node of one CPU beside each of them.

    Args:
        count: How many heads there are. The test itself starts them if it is 0.
        flags: More flags of each head.
    """

    def __init__(self, count: int, *flags: str) -> None:
        self.mark = secrets.token_hex(8)
        self.nodes = [Node(self.mark) for _ in range(count)]
        self.flags = flags
        self.address = self.token = ""

    def __enter__(self) -> Heads:
        if not self.nodes:
            return self
        try:
            self.begin(self.nodes[0])
            for node in self.nodes[1:]:
                self.join(node)
            votes = len(self.nodes) - (len(self.nodes) + 1) % 2
            until(lambda: len([h for h in self.list() if h["role"] != "standby"]) == votes)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def begin(self, node: Node) -> str:
        """Begins the cluster."""
        said = node.start("--head", *self._words(node))
        found = re.search(r"--address='(\S+)' --token-file=(\S+)", said)
        assert found, said
        self.address, self.token = found[1], found[2]
        return said

    def join(self, node: Node, *flags: str) -> str:
        """Starts a further head."""
        words = ("--head", f"--address={self.address}", f"--token-file={self.token}", *self._words(node), *flags)
        return node.start(*words)

    def _words(self, node: Node) -> tuple[str, ...]:
        name = str(self.nodes.index(node) + 1) if node in self.nodes else "more"
        return ("--port=0", "--num-cpus=1", "--node-ip-address=127.0.0.1", f"--node-name={name}", *self.flags)

    def list(self, node: Node | None = None) -> list[dict[str, Any]]:
        """What ``eagleray heads list`` shows, asked on one of the nodes."""
        rows: list[dict[str, Any]] = json.loads((node or self.nodes[0])("heads", "list", "--json"))
        return rows

    def place(self, number: int) -> Node:
        """The node beside a head."""
        return next(n for n in self.nodes if self.number(n) == number)

    @staticmethod
    def number(node: Node) -> int:
        """The number of the head beside a node."""
        base = node.folder / f"eagleray-{os.getuid()}"
        session = (base / "current").read_text().strip()
        known = json.loads(next(base.glob(f"{os.path.basename(session)}/state/head.json")).read_text())
        return int(known["identity"].rpartition("/")[2])

    def leader(self, node: Node | None = None) -> Node:
        """The node beside the head that leads."""
        return self.place(next(h["number"] for h in self.list(node) if h["role"] == "leader"))

    def kill(self, node: Node) -> None:
        """Kills the process of the head beside a node. Its warden starts it again."""
        os.kill(node.pid("head.pid"), signal.SIGKILL)

    def healthy(self) -> bool:
        """Whether all heads are healthy."""
        return all(h["healthy"] for h in self.list())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in reversed(self.nodes):
            node("stop", "--grace-period=20")
        left = processes(self.mark)
        for node in self.nodes:
            node.clear()
        assert kind is not None or not left, left
