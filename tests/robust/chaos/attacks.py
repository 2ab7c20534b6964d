"""Attacks on every port of a cluster of two nodes while it works: nothing comes of them, and the work goes on.

The ports are those that the processes of the cluster listen at, as the kernel lists them, so that a new one is not
forgotten. What attacks them is the program ``core/internal/attack``. It shares the machine with the cluster, so it has
the lowest priority.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType

from eagleray._private.cli import BINARY
from ports import free_ports
from processes import MARK, marked, until

ROOT = Path(__file__).parents[3]
LIMIT = 60.0
MIB = 1 << 20
MOST_GROWTH = 32 * MIB
MOST_LOGGED = MIB
LEAST_SPEED = 0.8
LISTENS = "0A"  # the state in /proc/net/tcp
#: All attacks; see ``main.go``. The first line knows nothing, the second one the token or more.
ATTACKS = (
    *("garbage", "oversized", "downgrade", "slowloris", "strange", "proofs", "http"),
    *("replay", "certificates", "roles", "bombs", "member"),
)

WORK = """
    import mmap, struct, sys, time
    import eagleray as ray

    ray.init(log_to_driver=False)

    @ray.remote(num_cpus=1)
    def here(x):
        return x + 1

    @ray.remote(num_cpus=1, resources={"b": 0.1})
    def there(x):
        return x + 1

    @ray.remote(num_cpus=0)
    class Actor:
        def add(self, x):
            return x + 1

    near = Actor.remote()
    far = Actor.options(resources={"b": 0.1}).remote()
    with open(sys.argv[1], "r+b") as file:
        page = mmap.mmap(file.fileno(), 8)
    done = 0
    print("works", flush=True)
    while True:
        calls = [here.remote(1), there.remote(1)]
        calls += [actor.add.remote(1) for _ in range(4) for actor in (near, far)]
        assert ray.get(calls) == [2] * len(calls)
        done += len(calls)
        page[:] = struct.pack("<q", done)
"""


def listening() -> dict[int, int]:
    """The ports that somebody listens at, by the number of the socket."""
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == LISTENS:
                found[int(parts[9])] = int(parts[1].rpartition(":")[2], 16)
    return found


def ports_of(pid: int, listens: dict[int, int]) -> set[int]:
    """The ports that a process listens at."""
    found = set()
    for path in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            number = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(path))
        except OSError:
            continue
        if number and int(number[1]) in listens:
            found.add(listens[int(number[1])])
    return found


def speaks_http(port: int) -> bool:
    """Whether a port answers in HTTP."""
    with socket.create_connection(("127.0.0.1", port), LIMIT) as line:
        line.settimeout(LIMIT)
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        try:
            return line.recv(5) == b"HTTP/"
        except ConnectionResetError:
            return False


def memory(pid: int) -> int:
    """The private memory of a process, in bytes."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


@dataclass
class Watch:
    """The largest memory of some processes, and whether they live."""

    pids: list[int]
    before: dict[int, int] = field(default_factory=dict)
    most: dict[int, int] = field(default_factory=dict)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Looks twenty times a second."""
        self.before = {pid: memory(pid) for pid in self.pids}
        self.most = dict(self.before)
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(0.05):
                for pid in self.pids:
                    self.most[pid] = max(self.most[pid], memory(pid))

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def growth(self) -> dict[int, int]:
        """By how much each process grew at most."""
        return {pid: self.most[pid] - self.before[pid] for pid in self.pids}


class Cluster:
    """A head with its node, a second node, and a program that works on both.

    Args:
        flags: More flags of the head.
        variable: Whether the nodes and the programs have the token in a variable, and not in a file.
    """

    def __init__(self, *flags: str, variable: bool = False) -> None:
        self.variable = variable
        self.mark = secrets.token_hex(8)
        self.flags = flags
        self.place = Path(tempfile.mkdtemp(prefix="er", dir="/tmp"))
        self.canary = self.place / "canary"
        self.token = self.place / "token"
        names = ("head", "one", "two", "web", "well one", "well two")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.release = subprocess.run([BINARY, "version"], capture_output=True, text=True, check=True).stdout.strip()
        self._page: mmap.mmap
        self._work: subprocess.Popen[str]

    def environ(self, node: str) -> dict[str, str]:
        """What the processes of a node have in their environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "EAGLERAY_"))}
        return {**kept, "EAGLERAY_TMPDIR": str(self.place / node), "EAGLERAY_PYTHON": sys.executable, MARK: self.mark}

    def of_program(self, node: str) -> dict[str, str]:
        """What a program on a node has in its environment."""
        return {**self.environ(node), **({"RAY_AUTH_TOKEN": self.token.read_text()} if self.variable else {})}

    def command(self, node: str, *words: str, status: int = 0, **more: str) -> str:
        """Runs the command ``eagleray`` of a node."""
        environ = {**self.environ(node), **more}
        done = subprocess.run([BINARY, *words], env=environ, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def python(self, node: str, source: str) -> str:
        """Runs a Python program on a node and returns what it printed."""
        words = [sys.executable, "-u", "-c", textwrap.dedent(source)]
        done = subprocess.run(
            words, env=self.of_program(node), capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def __enter__(self) -> Cluster:
        for node in ("one", "two"):
            (self.place / node).mkdir()
        self.token.write_text(secrets.token_hex(32))
        self.token.chmod(0o600)
        both, more = ["--object-store-memory=100000000"], {}
        if self.variable:
            more["RAY_AUTH_TOKEN"] = self.token.read_text()
        else:
            both.append(f"--token-file={self.token}")
        address = f"127.0.0.1:{self.ports['head']}"
        try:
            self.command(
                "one",
                *("start", "--head", f"--port={self.ports['head']}", f"--node-manager-port={self.ports['one']}"),
                *(f"--dashboard-port={self.ports['web']}", f"--dashboard-agent-listen-port={self.ports['well one']}"),
                *("--num-cpus=2", "--node-ip-address=127.0.0.1", *both, *self.flags),
                **more,
            )
            self.command(
                "two",
                *("start", f"--address={address}", f"--node-manager-port={self.ports['two']}"),
                f"--dashboard-agent-listen-port={self.ports['well two']}",
                *("--num-cpus=2", '--resources={"b": 1}', *both),
                **more,
            )
            self._begin_work()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _begin_work(self) -> None:
        done = self.place / "done"
        done.write_bytes(bytes(8))
        with done.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8)
        words = [sys.executable, "-u", "-c", textwrap.dedent(WORK), str(done)]
        self._work = subprocess.Popen(words, env=self.of_program("one"), stdout=subprocess.PIPE, text=True)
        assert self._work.stdout
        assert self._work.stdout.readline() == "works\n"
        until(lambda: self.done() > 200, LIMIT, "the first calls")

    def done(self) -> int:
        """How many calls of the program have been answered."""
        return int(struct.unpack("<q", self._page[:])[0])

    def program(self) -> int:
        """The process of the program that works."""
        return self._work.pid

    def pids(self) -> dict[int, str]:
        """The heads and the daemons."""
        return {
            pid: kind
            for pid, line in marked(self.mark).items()
            for kind in ("head", "daemon")
            if line.startswith(f"{BINARY} {kind} ")
        }

    def targets(self) -> list[str]:
        """All ports that processes of the cluster listen at, as the attacks name them.

        Raises:
            AssertionError: a port is of no kind that is attacked.
        """
        listens, found = listening(), []
        known = {self.ports["head"]: "head", self.ports["one"]: "node", self.ports["two"]: "node"}
        for pid in marked(self.mark):
            for port in sorted(ports_of(pid, listens)):
                kind = known.get(port) or ("http" if speaks_http(port) else "")
                assert kind, f"process {pid} listens at {port}, and no attack knows what that port is"
                found.append(f"{kind}=127.0.0.1:{port}")
        assert len(found) >= len(self.ports), found
        return found

    def state(self) -> Path:
        """A copy of the head's state."""
        (session,) = Path(self.place / "one").glob("eagleray-*/s-*/state")
        copy = self.place / secrets.token_hex(4)
        # What says how far the log must be comes first, because the head goes on meanwhile.
        for path in sorted(session.rglob("*"), key=lambda one: one.name != "acknowledged"):
            to = copy / path.relative_to(session)
            if path.is_file() and path.name != "lock" and "packages" not in path.parts:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, to)
        return copy

    def logged(self) -> int:
        """How many bytes the logs of the heads and nodes have. Strangers must not fill the disk."""
        return sum(path.stat().st_size for path in self.place.glob("*/eagleray-*/s-*/logs/*.log"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if hasattr(self, "_work"):
            self._work.kill()
            self._work.communicate()
        for node in ("two", "one"):
            self.command(node, "stop", "--grace-period=20")
        left = marked(self.mark)
        shutil.rmtree(self.place, ignore_errors=True)
        assert kind is not None or not left, left


@dataclass
class Speeds:
    """Calls in a second, with and without an attack."""

    calls: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    seconds: dict[bool, float] = field(default_factory=lambda: {False: 0.0, True: 0.0})

    def add(self, attacked: bool, calls: int, seconds: float) -> None:
        """Adds what was done in a time."""
        self.calls[attacked] += calls
        self.seconds[attacked] += seconds

    def share(self) -> float:
        """The speed under attacks, as a share of the other one."""
        return (self.calls[True] / self.seconds[True]) / (self.calls[False] / self.seconds[False])


def build(folder: Path) -> Path:
    """Builds the program that attacks."""
    program = folder / "attack"
    words = ["go", "build", "-o", str(program), "./core/internal/attack"]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}, check=True)
    return program


def attack(
    cluster: Cluster, program: Path, name: str, seconds: float, *flags: str, flood: bool = False
) -> dict[str, int]:
    """Makes one attack and returns what was done. A flood takes as much of the machine as it gets.

    Raises:
        AssertionError: it had a success.
    """
    words = [str(program), f"-attack={name}", f"-seconds={seconds}", f"-token-file={cluster.token}"]
    words += [f"-canary={cluster.canary}", f"-release={cluster.release}", *flags]
    words += [f"-port={one}" for one in cluster.targets()]
    if name in ("certificates", "roles"):
        words.append(f"-state={cluster.state()}")
    # It is in a session of its own, and the kernel weighs sessions against each other.
    session = ["setsid", "-w"]
    if not flood:
        session += ["sh", "-c", 'echo 19 >/proc/self/autogroup; exec nice -n19 "$@"', "sh"]
    done = subprocess.run([*session, *words], capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return dict(json.loads(done.stdout)["done"])


def run(
    cluster: Cluster,
    program: Path,
    seconds: float,
    names: tuple[str, ...] = ATTACKS,
    flags: Mapping[str, Sequence[str]] = MappingProxyType({}),
    flood: bool = False,
) -> Speeds:
    """Makes attacks one after the other, and checks after each that it has changed nothing.

    Args:
        cluster: What is attacked.
        program: What ``build`` has made.
        seconds: How long each attack and each pause takes.
        names: Which attacks.
        flags: More flags of some attacks.
        flood: Whether the attacks take as much of the machine as they get.
    """
    pids, all_speeds = cluster.pids(), Speeds()
    assert sorted(pids.values()) == ["daemon", "daemon", "head"]
    processes = set(marked(cluster.mark).values())
    pause = threading.Event()
    watch = Watch(list(pids))
    with watch.running():
        for name in names:
            speeds = Speeds()
            begun, before = time.monotonic(), cluster.done()
            pause.wait(seconds)
            middle, between = time.monotonic(), cluster.done()
            done = attack(cluster, program, name, seconds, *flags.get(name, []), flood=flood)
            ended, after = time.monotonic(), cluster.done()
            for one in (speeds, all_speeds):
                one.add(False, between - before, middle - begun)
                one.add(True, after - between, ended - middle)
            grown = [f"{pids[pid]} {growth // MIB}" for pid, growth in watch.growth().items()]
            print(f"{name:13} {speeds.share():5.2f} of the speed, MiB: {', '.join(grown)}; {done}", flush=True)
            assert not cluster.canary.exists(), f"{name}: a bomb went off"
            assert cluster.pids() == pids, f"{name}: another process is there than before"
            new = {line for line in set(marked(cluster.mark).values()) - processes if not line.startswith("ray::")}
            assert not new, f"{name}: new processes {new}"
            assert after > between, f"{name}: nothing was done meanwhile"
    last = cluster.done()
    until(lambda: cluster.done() > last, LIMIT, "work after the attacks")
    print(f"all           {all_speeds.share():5.2f} of the speed", flush=True)
    assert cluster.logged() < MOST_LOGGED, f"the logs have {cluster.logged()} bytes"
    large = {f"{pids[pid]} {pid}": growth for pid, growth in watch.growth().items() if growth > MOST_GROWTH}
    assert not large, f"grown by more than {MOST_GROWTH} bytes: {large}"
    return all_speeds


def main(words: list[str]) -> int:
    """The long form. The speed counts here, too, and then a million frames come as fast as they can."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("only", nargs="*", default=[])
    given = parser.parse_args(words)
    before = given.frames // 100  # each of these costs a handshake
    many = ["-workers=64", "-many"]
    frames = {"strange": [f"-frames={before}"], "member": [f"-frames={given.frames - before}", *many]}
    with tempfile.TemporaryDirectory() as folder, Cluster() as cluster:
        program = build(Path(folder))
        speeds = run(cluster, program, given.seconds, tuple(given.only) or ATTACKS, {"slowloris": ["-lines=400"]})
        print(f"{given.frames} frames:", flush=True)
        run(cluster, program, given.seconds, tuple(frames), frames, flood=True)
    share = speeds.share()
    assert share >= LEAST_SPEED, f"the work went on at {share:.2f} of its speed"
    print(f"{share:.2f} of the speed under attacks, nothing ran, nothing grew")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
