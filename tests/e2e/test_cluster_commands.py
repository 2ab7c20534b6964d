"""The commands that look into a cluster from outside: logs, stack, kill-actor, timeline, completion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from two_nodes import LIMIT, TwoNodes

pytestmark = pytest.mark.timeout(300)

PROGRAM = """
import sys
import eagleray as ray
ray.init(namespace="space")

@ray.remote
class Named:
    def say(self, text):
        print(text, flush=True)

    def wait_in_here(self):
        import time
        while True:
            time.sleep(0.01)

one = Named.options(name="one", num_cpus=0).remote()
two = Named.options(name="two", num_cpus=0, resources={"b": 0.1}, max_restarts=1).remote()
ray.get([one.say.remote("said on the first node"), two.say.remote("said on the second node")])
sys.stdout.write(f"{one._actor_id.hex()} {two._actor_id.hex()}\\n")  # one write: no line of a worker comes between
stuck = one.wait_in_here.remote()
print("up", flush=True)
input()
"""


class Running:
    """A cluster of two nodes on which a program runs."""

    def __init__(self, both: TwoNodes, traces: Path) -> None:
        self.both = both
        self.traces = traces
        self.env = {**both.first.env, "PYTHONWARNINGS": "error", "RAY_record_ref_creation_sites": "1"}
        self.program = subprocess.Popen(
            [sys.executable, "-u", "-c", PROGRAM],
            env={**both.first.env, "EAGLERAY_TRACE": str(traces)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.program.stdout is not None
        said = []
        while not said or said[-1] != "up":
            line = self.program.stdout.readline()
            assert line, said
            said.append(line.strip())
        ids = next(line for line in said if len(line.split()) == 2 and all(map(_is_hex, line.split())))
        self.one, self.two = ids.split()

    def __call__(self, *words: str, status: int = 0, **more: str) -> str:
        command = [sys.executable, "-c", "from eagleray._private.cli import main; main()", *words]
        done = subprocess.run(command, env={**self.env, **more}, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr


def _is_hex(word: str) -> bool:
    return len(word) > 20 and set(word) <= set("0123456789abcdef")


@pytest.fixture(scope="module")
def eagleray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with TwoNodes() as both:
        running = Running(both, tmp_path_factory.mktemp("traces"))
        try:
            yield running
        finally:
            running.program.communicate("\n", timeout=LIMIT)


def _nodes(run: Callable[..., str]) -> dict[str, dict[str, str]]:
    return {row["node_name"]: row for row in json.loads(run("list", "nodes", "--format=json"))}


def test_logs_of_this_node_and_of_another(eagleray: Running) -> None:
    listed = eagleray("logs")
    assert "daemon.log" in listed and "head.log" in listed
    nodes = _nodes(eagleray)
    rows = json.loads(eagleray("logs", "--json", "--node-id", nodes["two"]["node_id"]))
    names = {row["name"] for row in rows}
    assert "daemon.log" in names and "head.log" not in names
    assert all(row["node_id"] == nodes["two"]["node_id"] and row["size"] >= 0 for row in rows)
    assert "serving" in eagleray("logs", "cluster", "head.log")
    assert eagleray("logs", "actor", "--id", eagleray.one).endswith("said on the first node\n")
    assert eagleray("logs", "actor", "--id", eagleray.two).endswith("said on the second node\n")
    pid = next(row["pid"] for row in json.loads(eagleray("list", "actors", "--format=json")) if row["name"] == "two")
    assert "said on the second node" in eagleray("logs", "worker", "--pid", str(pid))
    assert eagleray("logs", "worker", "--pid", str(pid), "--tail", "0") == ""


def test_a_log_is_followed(eagleray: Running) -> None:
    command = [sys.executable, "-u", "-c", "from eagleray._private.cli import main; main()"]
    path = eagleray.both.first.folder / f"eagleray-{os.getuid()}"
    path = Path((path / "current").read_text().strip()) / "logs" / "followed.log"
    path.write_text("before\n" * 3)
    child = subprocess.Popen(
        [*command, "logs", "followed.log", "--follow", "--tail=1", "--interval=0.05"],
        env=eagleray.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == "before\n"
        with path.open("a") as file:
            file.write("after\n")
        assert child.stdout.readline() == "after\n"
    finally:
        child.kill()
        child.communicate()
        path.unlink()


def test_stacks_show_what_workers_do(eagleray: Running) -> None:
    end = time.monotonic() + LIMIT
    while True:
        rows = json.loads(eagleray("stack", "--json"))
        found = [row for row in rows if "wait_in_here" in row["stack"]]
        if found or time.monotonic() > end:
            break
    assert len(found) == 1 and "most recent call first" in found[0]["stack"]
    assert f"Process {found[0]['pid']}: ray::Named" in eagleray("stack", "--pid", str(found[0]["pid"]))
    assert "no worker of this machine's node" in eagleray("stack", "--pid", str(os.getpid()), status=1)
    again = json.loads(eagleray("stack", "--json"))  # the workers live
    assert {row["pid"] for row in rows} <= {row["pid"] for row in again}


def test_a_timeline_is_written_for_the_viewers(eagleray: Running, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    assert "Trace file written" in eagleray("timeline", "--trace", str(eagleray.traces), "--output", str(path))
    events = json.loads(path.read_text())
    assert any(event["name"].endswith("say") for event in events)
    assert all(event["ph"] == "X" and event["ts"] > 0 and event["dur"] >= 0 for event in events)
    assert "Trace file written" in eagleray("timeline", "--output", str(path))
    assert any(event["name"].endswith("say") for event in json.loads(path.read_text()))


def test_what_is_not_there_is_said(eagleray: Running, tmp_path: Path) -> None:
    for words, wanted, status in (
        (("logs", "no-such-*"), "no log file is called 'no-such-*'", 1),
        (("logs", "../../x"), "no log file is called", 1),
        (("logs", "--follow"), "--follow shows one file", 2),
        (("logs", "--tail=-2"), "--tail: -2", 2),
        (("logs", "--node-ip=10.1.2.3"), "--node-ip 10.1.2.3: no node", 1),
        (("logs", "actor", "--id=abc"), "there is no such actor", 1),
        (("logs", "task", "--id=abc"), "there is no such task", 1),
        (("logs", "worker", "--pid=1"), "--pid 1: 0 workers", 1),
        (("logs", "job", "--id=abc"), "no node that lives has the log", 1),
        (("logs", "--encoding=latin9999"), "unknown encoding", 2),
        (("logs", "--addres=x"), "did you mean '--address'?", 2),
        (("kill-actor",), "name one actor", 2),
        (("kill-actor", "one"), "there is one in the namespace space", 1),
        (("kill-actor", "one", "--no-restart"), "--no-restart needs --force", 2),
        (("timeline", "--trace", "/no/folder"), "is no folder", 2),
        (("timeline", "--trace", str(tmp_path)), "holds no *.trace files", 2),
        (("completion", "tcsh"), "name a shell", 2),
        (("stac",), "did you mean stack?", 2),
    ):
        assert wanted in eagleray(*words, status=status), words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(eagleray: Running, shell: str) -> None:
    script = eagleray("completion", shell)
    for word in ("kill-actor", "submit", "entrypoint-num-cpus", "node-ip", "dashboard-port", "placement-groups"):
        assert word in script, word
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=LIMIT)
    if shell != "bash":
        return
    for line, wanted, other in (
        ("eagleray job su", "submit", "stop"),
        ("eagleray st", "stack", "job"),
        ("eagleray job submit --entrypoint-num-c", "--entrypoint-num-cpus", "--no-wait"),
        ("eagleray list nod", "nodes", "actors"),
        ("eagleray start --dashboard-h", "--dashboard-host", "--head"),
    ):
        words = line.split()
        ask = f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _eagleray; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            ["bash", "-c", script + "\n" + ask], capture_output=True, text=True, check=True, timeout=LIMIT
        )
        assert wanted in done.stdout.split() and other not in done.stdout.split(), (line, done.stdout)


def test_a_named_actor_is_ended(eagleray: Running) -> None:
    """Last: it ends the actors of the others."""
    said = eagleray("kill-actor", "--name=two", "--namespace=space", "--force", "--no-restart")
    assert "Actor killed (force): two" in said
    assert "graceful" not in said
    end = time.monotonic() + LIMIT
    while True:
        states = {row["name"]: row["state"] for row in json.loads(eagleray("list", "actors", "--format=json"))}
        if states["two"] == "DEAD" or time.monotonic() > end:
            break
    assert states["two"] == "DEAD" and states["one"] == "ALIVE"
