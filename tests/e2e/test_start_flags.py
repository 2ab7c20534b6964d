"""The flags of ``eagleray start``: those that work, those without an effect, and wrong ones."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray._private.cli import BINARY
from eagleray._private.session import spilling
from ports import free_port

ROOT = Path(__file__).parents[2]
LIMIT = 60.0
MARK = "EAGLERAY_TEST_OF_START"
SMALL = ("--num-cpus=1", "--object-store-memory=100000000")


class Command:
    """The command ``eagleray`` with sessions in a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.mark = secrets.token_hex(8)
        self.env = {**os.environ, "EAGLERAY_TMPDIR": folder, "EAGLERAY_PYTHON": sys.executable, MARK: self.mark}
        for name in ("RAY_ADDRESS", "EAGLERAY_ADDRESS", "EAGLERAY_INFEASIBLE", "EAGLERAY_TOKEN_FILE", "RAY_AUTH_TOKEN"):
            self.env.pop(name, None)

    def __call__(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"env": self.env, **options}
        return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=LIMIT, **options)

    def start(self, *flags: str, **options: Any) -> subprocess.CompletedProcess[str]:
        done = self("start", "--head", *SMALL, *flags, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def session(self) -> Path:
        """The folder of the session that is running."""
        return Path((self.folder / f"eagleray-{os.getuid()}" / "current").read_text().strip())

    def processes(self) -> dict[int, str]:
        """The living processes that were started by these commands."""
        wanted = f"{MARK}={self.mark}".encode()
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """The processes, sockets and folders of sessions that are left."""
        sockets = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines()]
        return [
            *self.processes().values(),
            *(path for path in sockets if str(self.folder) in path),
            *map(str, self.folder.glob("*/s-*")),
            *map(str, self.folder.glob("*/current")),
        ]


def commands() -> Iterator[Command]:
    # Sockets' paths are short, so pytest's own folders do not serve.
    folder = tempfile.mkdtemp(prefix="er", dir="/tmp")
    made = Command(folder)
    try:
        yield made
    finally:
        made("stop")
        left = made.processes()
        shutil.rmtree(folder)
    assert not left


@pytest.fixture
def command() -> Iterator[Command]:
    yield from commands()


@pytest.fixture(scope="module")
def full() -> Iterator[Command]:
    """A cluster that was started with every flag that has an effect, --block excepted."""
    for made in commands():
        labels = made.folder / "labels.yaml"
        labels.write_text("# where it stands\nregion: us\nrack: '12'\nteam: file\n")
        (made.folder / "spill").mkdir()
        done = made(
            *("start", "--head", "--num-cpus=3", "--num_gpus", "2", "--gpu-memory=16GiB", "--memory=1000000000"),
            *("--resources", '{"tool": 2}', "--object-store-memory", "100000000", "--labels=team=flag,x/y=z"),
            *("--labels-file", str(labels), "--node-name", "trunk", "--node-ip-address=10.11.12.13"),
            *("--infeasible=wait", "--system-config", '{"max_io_workers": 2}', "--log-style=record", "--verbose"),
            *("--object-spilling-directory", str(made.folder / "spill"), "--temp-dir", str(made.folder)),
        )
        assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
        assert "3 CPUs, 2 GPU" in done.stdout and "100 MB object store" in done.stdout and "2 tool" in done.stdout
        yield made


def test_flags_with_an_effect_are_seen_by_programs(full: Command, script: Any) -> None:
    program = """
    import json
    import eagleray as ray

    ray.init()
    (node,) = ray.nodes()
    never = ray.remote(num_cpus=100)(lambda: 1).remote()
    assert ray.get(ray.remote(lambda: 2).remote()) == 2
    ready, waiting = ray.wait([never], timeout=0.5)
    print(json.dumps([node, ray.cluster_resources(), len(ready), len(waiting)]))
    """
    node, totals, ready, waiting = json.loads(script(program, env=full.env).stdout)
    assert (node["NodeName"], node["NodeManagerAddress"]) == ("trunk", "10.11.12.13")
    labels = {"region": "us", "rack": "12", "team": "flag", "x/y": "z"}
    assert labels.items() <= node["Labels"].items()
    wanted = {
        "CPU": 3.0,
        "GPU": 2.0,
        "tool": 2.0,
        "memory": 1e9,
        "gpu_memory": 2.0 * (16 << 30),
        "node:10.11.12.13": 1.0,
    }
    assert wanted.items() <= totals.items()
    assert 100_000_000 - 4096 < totals["object_store_memory"] <= 100_000_000
    assert (ready, waiting) == (0, 1), "--infeasible=wait"
    assert list((full.folder / "spill").iterdir()), "the daemon prepares its folder for spilled objects"


def test_the_name_of_the_node_is_in_status_lists_and_log(full: Command) -> None:
    assert re.search(r"alive head  [0-9a-f]{8}  trunk  10\.11\.12\.13 \(", full("status").stdout)
    source = "from eagleray._private.cli import main; main()"
    listed = [sys.executable, "-c", source, "list", "nodes", "--format=json"]
    done = subprocess.run(listed, env=full.env, capture_output=True, text=True, timeout=LIMIT)
    assert [row["node_name"] for row in json.loads(done.stdout)] == ["trunk"], done.stderr
    assert " name=trunk " in (full.session() / "logs" / "daemon.log").read_text()


def test_a_running_cluster_is_not_renamed(full: Command, script: Any) -> None:
    done = script("import eagleray as ray\nray.init(_node_name='x')", env=full.env, check=False)
    assert "ValueError" in done.stderr and "node_name must not be provided" in done.stderr


def test_a_second_start_fails_and_the_first_goes_on(full: Command) -> None:
    before = full.processes()
    done = full("start", "--head", "--no-monitor")
    assert done.returncode == 1 and "a cluster is running on this machine already" in done.stderr
    assert "--no-monitor" not in done.stderr, "flags without an effect are told of when a cluster has started"
    assert before.keys() <= full.processes().keys() and full("status").returncode == 0


def test_a_head_under_kuberay_starts_and_says_in_one_line_what_has_no_effect(command: Command) -> None:
    # What the operator passes to a head, and what manifests add.
    flags = (
        "--head --block --dashboard-agent-listen-port=0 --dashboard-host=0.0.0.0 --memory=1000000000"
        " --metrics-export-port=0 --num-cpus=1 --no-monitor --object-store-memory=100000000"
        " --include-dashboard=true --log-color=false --disable-usage-stats"
    )
    child = subprocess.Popen(
        [BINARY, "start", *flags.split()], env=command.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None and child.stderr is not None
        said = child.stderr.readline()
        printed = "".join(iter(child.stdout.readline, "\n"))  # the first part ends with an empty line
        while "--block:" not in printed:
            printed += child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        rest = child.communicate(timeout=LIMIT)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0 and rest[1] == ""
    assert said == (
        "eagleray: start: flags that have no effect here: "
        "--no-monitor (there is no autoscaler); --disable-usage-stats (usage statistics are never collected)\n"
    )
    assert "Eagle Ray runs on this machine" in printed and "--no-monitor" not in printed + rest[0]
    assert not command.processes()


def test_a_node_outlives_a_blocking_start_that_is_killed_and_stop_ends_it(command: Command) -> None:
    child = subprocess.Popen(
        [BINARY, "start", "--head", "--block", *SMALL], env=command.env, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        while "--block:" not in (line := child.stdout.readline()):
            assert line, "the command has ended"
    finally:
        child.kill()
        child.communicate(timeout=LIMIT)
    assert command("status").returncode == 0
    assert command("stop").returncode == 0
    assert not command.processes()


def test_the_head_listens_at_its_port_and_unused_ports_are_told_of(command: Command) -> None:
    port = free_port()
    done = command.start(f"--port={port}", "--object-manager-port=0", "--include-dashboard=false")
    (line,) = done.stderr.splitlines()
    assert "--object-manager-port (the head has one port" in line and "dashboard" not in line
    assert f":{port}' --token-file=" in done.stdout
    with socket.socket() as probe:
        probe.connect(("127.0.0.1", port))


def test_a_port_that_is_taken_is_an_error_and_the_usual_one_is_not(command: Command) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        done = command("start", "--head", *SMALL, "--node-ip-address=127.0.0.1", f"--port={port}")
        assert done.returncode == 2 and command.left() == []
        assert f"port {port} is taken by pid {os.getpid()} (" in done.stderr and "--port" in done.stderr, done.stderr
    with socket.socket() as held:
        with contextlib.suppress(OSError):  # or somebody else has it
            held.bind(("127.0.0.1", 6379))
            held.listen()
        done = command.start("--node-ip-address=127.0.0.1")
        assert "Port 6379 is taken" in done.stdout and done.stderr == ""


def test_settings_without_an_effect_are_told_of(command: Command) -> None:
    done = command.start("--system-config", '{"health_check_period_ms": 1, "max_io_worker": 1, "max_io_workers": 1}')
    (line,) = done.stderr.splitlines()
    assert '"health_check_period_ms" (' in line and '"max_io_worker" (' in line and "mean max_io_workers?" in line
    assert '"max_io_workers"' not in line


def test_init_and_start_know_the_same_settings() -> None:
    text = (ROOT / "core" / "internal" / "nodeprocess" / "spill.go").read_text()
    found = re.search(r"var SpillSettings = \[\]string\{(.*?)\}", text, re.S)
    assert found and tuple(re.findall(r'"(\w+)"', found[1])) == spilling.SETTINGS


def test_infeasible_comes_from_the_environment_too(command: Command, script: Any) -> None:
    command.env["EAGLERAY_INFEASIBLE"] = "wait"
    assert command.start().stderr == ""
    source = """
    import eagleray as ray
    ray.init()
    never = ray.remote(num_cpus=100)(lambda: 1).remote()
    assert ray.wait([never], timeout=0.5) == ([], [never])
    """
    env = {name: text for name, text in command.env.items() if name != "EAGLERAY_INFEASIBLE"}
    script(source, env=env)


def test_the_flag_counts_more_than_the_environment(command: Command, script: Any) -> None:
    command.env["EAGLERAY_INFEASIBLE"] = "wait"
    command.start("--infeasible", "raise")
    source = """
    import eagleray as ray
    ray.init()
    try:
        ray.get(ray.remote(num_cpus=100)(lambda: 1).remote(), timeout=30)
    except ray.exceptions.GetTimeoutError:
        raise
    except Exception as error:
        print(type(error).__name__)
    """
    env = {name: text for name, text in command.env.items() if name != "EAGLERAY_INFEASIBLE"}
    assert script(source, env=env).stdout.strip()


def test_a_relative_folder_is_below_the_working_directory(command: Command) -> None:
    (command.folder / "sub").mkdir()
    place = ("--temp-dir", "sub")
    done = command.start(*place, cwd=command.folder)
    try:
        assert f"EAGLERAY_TMPDIR={command.folder}/sub eagleray status" in done.stdout
        assert list((command.folder / "sub").glob("*/s-*/d.sock"))
        assert command("status", *place, cwd=command.folder).returncode == 0
    finally:
        stopped = command("stop", *place, cwd=command.folder)
    assert "Stopped" in stopped.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("start", "give --head to begin a cluster on this machine, or --address=HOST:PORT to join one"),
        ("start --head --num-cpus", "--num-cpus needs a value (N)"),
        ("start --head --num-cpus two", '--num-cpus: "two" is not a number'),
        ("start --num-cpus --head", "--num-cpus needs a value (N), and --head follows it"),
        ("start --head --num-cpu=2", "unknown flag --num-cpu (did you mean --num-cpus?)"),
        ("start --head --dashbord-host=x", "unknown flag --dashbord-host (did you mean --dashboard-host?)"),
        ("start head", 'unexpected argument "head"'),
        ("start --head --port 65536", '--port: "65536" is not a port, which is a whole number from 0 to 65535'),
        ("start --head --port -5", '--port: "-5" is not a port'),
        ("start --head --dashboard-port http", '--dashboard-port: "http" is not a port'),
        ("start --head --worker-port-list 1,70000", '--worker-port-list: "70000" is not a port'),
        ("start --head --min-worker-port 5 --max-worker-port 4", "--max-worker-port: 4 is less than --min-worker-port"),
        ("start --head --include-dashboard sometimes", '"sometimes" is neither true nor false'),
        ("start --head --resources {tool:1}", '--resources: "{tool:1}" is not a JSON object'),
        ("start --head --resources [1]", '--resources: "[1]" is not a JSON object'),
        ('start --head --resources {"tool":"1"}', '--resources: tool is "1", must be a number'),
        ('start --head --resources {"GPU":1}', "--resources: GPU is given with --num-gpus"),
        ("start --head --system-config 7", '--system-config: "7" is not a JSON object'),
        ("start --head --labels a", '--labels: "a" is not key=value'),
        ("start --head --labels a=b=c", '--labels: the value "b=c" of the label "a"'),
        ("start --head --labels-file /nowhere/labels.yaml", "--labels-file: open /nowhere/labels.yaml: no such file"),
        ("start --head --labels-file /etc/passwd", "--labels-file: /etc/passwd: "),
        ("start --head --infeasible hope", "must be raise or wait"),
        ("start --head --node-ip-address 10.0.0.1:5", '"10.0.0.1:5" has a port'),
        ("start --head --node-ip-address no.invalid", '--node-ip-address: the name "no.invalid" leads to no address'),
        ("start --head --address 10.0.0.1:6379", "joining a cluster needs its token"),
        ("start --address 10.0.0.1:6379 --port 7", "--port is the port of a head"),
        ("start --address 10.0.0.1", '--address: "10.0.0.1" is not HOST:PORT, such as 10.0.0.1:6379'),
        ("start --address 10.0.0.1:6379", "joining a cluster needs its token"),
        ("start --head --token-file /nowhere/token", "--token-file: token file: open /nowhere/token: no such file"),
        ("start --head --token-file /etc/passwd", "chmod 600 /etc/passwd"),
        ("start --head --state-dir=", '--state-dir: "" names no folder'),
        ("start --address 10.0.0.1:6379 --state-dir /s", "--state-dir is where a head keeps the state of its cluster"),
        # Noticed by the daemon.
        ("start --head --object-store-memory 10", "object_store_memory is 10 bytes, at least 78643200 are needed"),
        ("start --head --num-cpus 1e300", "num_cpus"),
        ('start --head --resources {"a":1e300}', "a"),
        ('start --head --system-config {"max_io_workers":-1}', '_system_config["max_io_workers"] is -1'),
        ("start --head --num-gpus 1 --gpu-memory 1GiB,2GiB", "gpu_memory"),
        ("start --head --object-spilling-directory /proc/1/nowhere", "/proc/1/nowhere"),
        ("start --head --state-dir /proc/1/nowhere", "--state-dir: open state directory /proc/1/nowhere"),
    ],
)
def test_a_wrong_command_line_ends_with_status_2_and_leaves_nothing(
    command: Command, arguments: str, words: str
) -> None:
    done = command(*arguments.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == "" and words in done.stderr
    assert done.stderr.startswith("eagleray: start: ") and done.stderr.count("\n") == 1, done.stderr
    assert command.left() == []


def test_after_a_wrong_start_a_right_one_works(command: Command) -> None:
    assert command("start", "--head", "--object-store-memory=10").returncode == 2
    assert command.start().stderr == ""
    assert command("status").returncode == 0


def test_what_the_folder_denies_fails_with_status_1(command: Command) -> None:
    (command.folder / "file").touch()
    done = command("start", "--head", *SMALL, f"--temp-dir={command.folder}/file")
    assert done.returncode == 1 and f"{command.folder}/file" in done.stderr
    assert command.left() == []


def test_init_takes_a_name_for_its_node() -> None:
    with eagleray.init(address="local", _node_name="seat 7", num_cpus=1, object_store_memory=100_000_000):
        (node,) = eagleray.nodes()
        assert node["NodeName"] == "seat 7" != node["NodeManagerAddress"]


def test_a_node_without_a_name_is_called_by_its_address() -> None:
    with eagleray.init(address="local", num_cpus=1, object_store_memory=100_000_000):
        (node,) = eagleray.nodes()
    assert node["NodeName"] == node["NodeManagerAddress"]


def test_init_refuses_a_wrong_name() -> None:
    with pytest.raises(TypeError, match="_node_name must be a string, got int: 7"):
        eagleray.init(address="local", _node_name=7)
    with pytest.raises(ValueError, match="the name of a node must have printable characters only"):
        eagleray.init(address="local", num_cpus=1, _node_name="a\nb")
    assert not eagleray.is_initialized()
