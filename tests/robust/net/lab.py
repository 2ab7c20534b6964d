"""The network: machines in network namespaces, joined by a router whose ways can be cut, slowed and delayed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from net.machine import Machine

ROBUST = Path(__file__).parents[1]
_COMMAND_S = 30.0
#: The table of routes by which delayed packets come to the process that holds them back.
_DELAYED = "100"


def unavailable() -> str:
    """Why no lab can be made on this machine; "" if one can."""
    words = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc"]
    shape = "tc qdisc add dev er0 root tbf rate 1gbit burst 128kb latency 50ms"
    script = f"ip link add name er0 type veth peer name er1 && {shape}"
    try:
        done = subprocess.run([*words, "sh", "-c", script], capture_output=True, text=True, timeout=_COMMAND_S)
    except OSError as error:
        why = str(error)
    else:
        if done.returncode == 0:
            return ""
        why = done.stderr.strip()
    return (
        "needs user and network namespaces that this user may make, `unshare` of util-linux, `ip` and `tc` of "
        f"iproute2, and the kernel's veth and tbf ({why})"
    )


class Lab:
    """Some machines, a to z, and a router between them.

    Machine number i has the address 10.77.i.2, and the router 10.77.i.1. A cut drops packets without a word, as a
    broken cable or a wrong rule of a firewall does; the sender does not hear of it.

    Attributes:
        machines: The machines by their letters.
    """

    def __init__(self, count: int) -> None:
        assert 1 <= count <= 26
        self.machines: dict[str, Machine] = {}
        self._stack = ExitStack()
        self._delays: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._begin()
            for number in range(1, count + 1):
                self._add(number)
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        words = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        words += [sys.executable, str(ROBUST / "net" / "init.py")]
        unshare = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._stack.callback(_end, unshare)
        assert unshare.stdout
        if unshare.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the lab has not begun: {unavailable()}")
        (self._init,) = _children(unshare.pid)
        self.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        self.run("ip", "link", "set", "lo", "up")

    def _add(self, number: int) -> None:
        name, router, address = chr(ord("a") + number - 1), f"10.77.{number}.1", f"10.77.{number}.2"
        # The number of the process in the lab's namespace, which the commands below need, is what the shell sees.
        holder = self.run("sh", "-c", "unshare --net sleep infinity >/dev/null 2>&1 </dev/null & echo $!").strip()
        self.machines[name] = machine = Machine(self, name, address, holder)
        self._stack.callback(machine.close)
        inner = machine.inside
        self.run(
            "sh",
            "-c",
            f"until test $(readlink /proc/{holder}/ns/net) != $(readlink /proc/self/ns/net); do sleep 0.01; done",
        )
        self.run("ip", "link", "add", "name", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", holder)
        self.run("ip", "address", "add", f"{router}/30", "dev", f"to-{name}")
        self.run("ip", "link", "set", f"to-{name}", "up")
        for words in (
            ("ip", "link", "set", "lo", "up"),
            ("ip", "address", "add", f"{address}/30", "dev", "eth0"),
            ("ip", "link", "set", "eth0", "up"),
            ("ip", "route", "add", "default", "via", router),
        ):
            self.run(*inner, *words)

    def enter(self) -> list[str]:
        """The words that run a command in the lab's namespaces, as their root and at the router."""
        entered = ["--user", "--preserve-credentials", "--mount", "--pid", "--net"]
        return ["nsenter", "--target", str(self._init), *entered, "--"]

    def run(self, *words: str) -> str:
        """Runs a command at the router and returns what it wrote."""
        done = subprocess.run(
            [*self.enter(), *words], capture_output=True, text=True, timeout=_COMMAND_S, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def host_pid(self, inner: int) -> int:
        """The number by which this program knows a process of the lab.

        Raises:
            ProcessLookupError: There is no such process.
        """
        namespace = os.readlink(f"/proc/{self._init}/ns/pid")
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "ns" / "pid") != namespace:
                    continue
                numbers = next(line for line in (path / "status").read_text().splitlines() if line.startswith("NSpid:"))
            except OSError:
                continue
            if numbers.split()[-1] == str(inner):
                return int(path.name)
        raise ProcessLookupError(f"the lab has no process {inner}")

    def processes(self) -> dict[int, str]:
        """All that runs in the lab: process id here, and command line."""
        namespace, found = os.readlink(f"/proc/{self._init}/ns/pid"), {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "ns" / "pid") == namespace:
                    found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ").strip()
            except OSError:
                continue
        return found

    def cut(self, one: str, other: str, both: bool = True) -> None:
        """Drops what goes from one machine to another, and what comes back if both is set."""
        self._ways("add", one, other, both)

    def heal(self, one: str, other: str, both: bool = True) -> None:
        """Ends a cut."""
        self._ways("del", one, other, both)

    def _ways(self, verb: str, one: str, other: str, both: bool) -> None:
        for a, b in [(one, other), (other, one)][: 1 + both]:
            self.run("ip", "rule", verb, *self._between(a, b), "priority", "10", "blackhole")

    def _between(self, one: str, other: str) -> list[str]:
        return ["from", self.machines[one].address, "to", self.machines[other].address]

    def isolate(self, name: str) -> None:
        """Cuts a machine off from all others."""
        for other in self.machines.keys() - {name}:
            self.cut(name, other)

    def rejoin(self, name: str) -> None:
        """Ends what isolate() began."""
        for other in self.machines.keys() - {name}:
            self.heal(name, other)

    def shape(self, name: str, megabits: int) -> None:
        """Bounds how many bits a second a machine sends, and how many it gets."""
        shape = ["root", "tbf", "rate", f"{megabits}mbit", "burst", "256kb", "latency", "50ms"]
        self.run("tc", "qdisc", "replace", "dev", f"to-{name}", *shape)
        self.run(*self.machines[name].inside, "tc", "qdisc", "replace", "dev", "eth0", *shape)

    def delay(self, one: str, other: str, milliseconds: float) -> None:
        """Holds back each packet between two machines, in both directions, for the rest of the lab's life."""
        if not self._delays:
            words = [*self.enter(), sys.executable, str(ROBUST / "net" / "delay.py")]
            holds = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._delays["er-delay"] = holds
            self._stack.callback(_end, holds)
            assert holds.stdout
            if holds.stdout.readline() != b"ready\n":
                raise RuntimeError("the process that delays packets has not begun")
            self.run("ip", "link", "set", "er-delay", "up")
            self.run("ip", "route", "add", "default", "dev", "er-delay", "table", _DELAYED)
        holds = self._delays["er-delay"]
        assert holds.stdin and holds.stdout
        for a, b in [(one, other), (other, one)]:
            way = ["to", self.machines[b].address]
            holds.stdin.write(f"{self.machines[a].address} {way[1]} {milliseconds}\n".encode())
            holds.stdin.flush()
            assert holds.stdout.readline() == b"known\n"
            # What the process has sent on comes in from its device, and goes the usual way.
            self.run("ip", "rule", "add", "iif", f"to-{a}", *way, "priority", "20", "lookup", _DELAYED)

    def close(self) -> None:
        """Ends all processes of the lab, and with them the network."""
        self._stack.close()

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends one that ends when its input closes."""
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    try:
        process.wait(timeout=_COMMAND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
