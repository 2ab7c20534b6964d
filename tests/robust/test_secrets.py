"""The token and the authority's key of a cluster are in no file, command line, log or environment of a worker."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import attacks
from eagleray._private.cli import BINARY
from ports import free_port
from processes import marked

pytestmark = pytest.mark.timeout(300)

#: Each process that has secrets in its memory, and how many there are.
HOLDERS = {"head": 1, "daemon": 2}

#: A program that leaves a detached actor behind, so that its environment is in the state of the head.
DETACHED = """
    import os
    import eagleray as ray
    ray.init(log_to_driver=False)
    if {variable}:
        assert os.environ["RAY_AUTH_TOKEN"], "the program has the token, as its cluster has"

    @ray.remote(num_cpus=0, resources={{"b": 0.1}})
    class Stays:
        def environment(self):
            return "\\n".join(f"{{name}}={{text}}" for name, text in os.environ.items())

    stays = Stays.options(name="stays", namespace="secrets", lifetime="detached").remote()
    assert "PATH=" in ray.get(stays.environment.remote())
"""


@pytest.fixture(scope="module", params=["file", "variable"])
def cluster(request: pytest.FixtureRequest) -> Iterator[attacks.Cluster]:
    """A cluster of two nodes, which works. Its token is in a file or in a variable."""
    with attacks.Cluster(variable=request.param == "variable") as made:
        made.python("one", DETACHED.format(variable=made.variable))
        yield made


@pytest.fixture(scope="module")
def secrets(cluster: attacks.Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What must be nowhere, in the forms in which it could be."""
    program = attacks.build(tmp_path_factory.mktemp("attack"))
    words = [str(program), "-attack=seeds", f"-token-file={cluster.token}", f"-state={cluster.state()}"]
    words += [f"-port=head=127.0.0.1:{cluster.ports['head']}"]
    seed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    found = {}
    for name, text in (("token", cluster.token.read_text().strip()), ("authority", seed)):
        raw = bytes.fromhex(text)
        assert len(raw) == 32
        found[f"{name} as text"] = text.encode()
        found[f"{name} as bytes"] = raw
        found[f"{name} in base64"] = base64.b64encode(raw).rstrip(b"=")
        found[f"{name} in base64 for addresses"] = base64.urlsafe_b64encode(raw).rstrip(b"=")
        found[f"{name} as Python or Go shows bytes"] = " ".join(str(one) for one in raw).encode()
    return found


def revealed(secrets: dict[str, bytes], data: bytes) -> list[str]:
    """The names of the secrets that some data has."""
    return [name for name, secret in secrets.items() if secret in data or secret.upper() in data]


def test_no_file_of_a_cluster_has_secrets(cluster: attacks.Cluster, secrets: dict[str, bytes]) -> None:
    cluster.command("two", "status")
    cluster.command("one", "token", "status", f"--token-file={cluster.token}")
    wrong = cluster.command("two", "token", "status", f"--token-file={make_token(cluster)}", status=1)
    assert "does not know the token" in wrong and not revealed(secrets, wrong.encode())
    read, bad = 0, []
    for path in cluster.place.rglob("*"):
        if path.is_file() and path != cluster.token:
            data = path.read_bytes()
            read += len(data) > 0
            bad += [f"{path}: {name}" for name in revealed(secrets, data)]
            bad += [f"{path}: a private key"] * (b"PRIVATE KEY" in data)
    assert not bad
    assert read > 10
    logs = [path for path in cluster.place.rglob("*.log") if path.stat().st_size]
    assert {"head.log", "daemon.log"} <= {path.name for path in logs}


def make_token(cluster: attacks.Cluster) -> Path:
    """Another token, in a file."""
    path = cluster.place / "another"
    path.write_text("ab" * 32)
    path.chmod(0o600)
    return path


def test_no_command_line_and_no_worker_has_secrets(cluster: attacks.Cluster, secrets: dict[str, bytes]) -> None:
    seen = {"command lines": 0, "workers": 0}
    for pid, line in marked(cluster.mark).items():
        seen["command lines"] += 1
        assert not revealed(secrets, Path(f"/proc/{pid}/cmdline").read_bytes()), line
        environ = Path(f"/proc/{pid}/environ").read_bytes()
        ours = any(f" {name} " in line for name in ("head", "daemon", "warden"))
        if cluster.variable and (ours or pid == cluster.program()):
            assert revealed(secrets, environ), f"{line}: it has the token there"
            continue
        seen["workers"] += not ours
        assert not revealed(secrets, environ), line
    assert seen["command lines"] >= 8 and seen["workers"] >= 4, seen


def test_a_task_sees_no_secrets_in_its_environment(cluster: attacks.Cluster, secrets: dict[str, bytes]) -> None:
    source = """
        import os, sys
        import eagleray as ray
        ray.init(log_to_driver=False)

        @ray.remote(num_cpus=0)
        def environment():
            return "\\n".join(f"{name}={text}" for name, text in os.environ.items())

        @ray.remote(num_cpus=0, resources={"b": 0.1})
        def far():
            return "\\n".join(f"{name}={text}" for name, text in os.environ.items())

        @ray.remote(num_cpus=0)
        def nested():
            return ray.get(far.remote())

        print(ray.get(environment.remote()), ray.get(far.remote()), ray.get(nested.remote()))
        print(ray.get(ray.get_actor("stays", "secrets").environment.remote()))
    """
    out = cluster.python("one", source)
    assert out.count("\nPATH=") + out.startswith("PATH=") + out.count(" PATH=") >= 4
    assert not revealed(secrets, out.encode())


def test_the_program_of_symmetric_run_and_its_tasks_have_no_token() -> None:
    token, folder, port = "ab" * 32, tempfile.mkdtemp(prefix="er", dir="/tmp"), free_port()
    source = """
        import os
        import eagleray as ray
        ray.init(log_to_driver=False)

        @ray.remote(num_cpus=0)
        def environment():
            return dict(os.environ)

        for each in (dict(os.environ), ray.get(environment.remote())):
            print("RAY_ADDRESS" in each, [name for name, text in each.items() if "ab" * 32 in text])
    """
    words = [BINARY, "symmetric-run", f"--address=127.0.0.1:{port}", f"--temp-dir={folder}", "--num-cpus=1"]
    words += ["--object-store-memory=100000000", "--", sys.executable, "-c", textwrap.dedent(source)]
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("RAY_", "EAGLERAY_"))}
    environ = {**kept, "EAGLERAY_PYTHON": sys.executable, "RAY_AUTH_TOKEN": token}
    try:
        done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("True []") == 2, done.stdout
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_no_core_file_is_written_of_processes_with_secrets(cluster: attacks.Cluster) -> None:
    found = {"head": 0, "daemon": 0, "other": 0}
    own = re.search(r"Max core file size\s+(\S+)\s+(\S+)", Path("/proc/self/limits").read_text())
    assert own
    for pid, line in marked(cluster.mark).items():
        limit = re.search(r"Max core file size\s+(\S+)", Path(f"/proc/{pid}/limits").read_text())
        assert limit, line
        kind = next((name for name in HOLDERS if f" {name} " in line), "other")
        found[kind] += 1
        if kind == "other":
            assert limit[1] == own[1], line
        else:
            # Where no limit but 0 is allowed, core_test.go of core/internal/workers shows what is done instead.
            assert limit[1] == ("0" if own[2] == "0" else "1"), line
    assert {name: found[name] for name in HOLDERS} == HOLDERS and found["other"] > 0


def test_what_is_looked_for_would_be_found(secrets: dict[str, bytes]) -> None:
    for name, secret in secrets.items():
        assert name in revealed(secrets, b"before " + secret + b" behind")
    assert not revealed(secrets, os.urandom(1 << 16))
