"""The command ``ray``: eagleray's commands in Ray's words, and a reason where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from eagleray._private import cli
from eagleray._private.tools import ray_command, refused

COMPAT = Path(__file__).parents[2] / "python" / "ray_compat"
RAY = [sys.executable, "-c", "import eagleray_ray_command as command; command.main()"]

EAGLERAY = "from eagleray._private import cli; cli.main()"


def ray(*words: str, folder: Path | None = None, status: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": str(COMPAT)}
    env.pop("RAY_ADDRESS", None)
    if folder is not None:
        env["EAGLERAY_TMPDIR"] = str(folder)
    done = subprocess.run([*RAY, *words], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_cluster_in_rays_words() -> None:
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as made:  # sockets' paths are short
        folder = Path(made)
        ray("start", "--head", "--port=0", "--num-cpus=1", "--object-store-memory=100000000", folder=folder)
        try:
            assert "CPU" in ray("status", folder=folder)
            ray("healthcheck", folder=folder)
            assert "node_id" in ray("list", "nodes", folder=folder).lower()
        finally:
            ray("stop", "-f", "-g5", folder=folder)
        ray("health-check", folder=folder, status=1)


@pytest.mark.parametrize("program", ["ray", "eagleray"])
@pytest.mark.parametrize("name", refused.REFUSED)
def test_commands_that_are_not_there(
    name: str, program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [program, name, "cluster.yaml"])
    with pytest.raises(SystemExit) as ended:
        (ray_command if program == "ray" else cli).main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"{program} {name}: Eagle Ray does not have this command, because ")


def test_the_token_that_is_generated_is_the_one_of_the_head() -> None:
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as made:
        folder = Path(made)
        env = {**os.environ, "EAGLERAY_TMPDIR": made, "HOME": made}
        for name in ("EAGLERAY_TOKEN_FILE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            env.pop(name, None)

        def token(*flags: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", EAGLERAY, "get-auth-token", *flags]
            return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)

        none = token()
        assert none.returncode == 1 and "`eagleray start --head` writes one" in none.stderr
        generated = token("--generate").stdout
        assert len(bytes.fromhex(generated)) == 32
        ray("start", "--head", "--port=0", "--num-cpus=1", "--object-store-memory=100000000", folder=folder)
        try:
            assert token().stdout == token("--generate").stdout == generated
            env["RAY_AUTH_TOKEN"] = "a token of sixteen letters and more"
            assert token().stdout == env["RAY_AUTH_TOKEN"]
            env["EAGLERAY_TOKEN_FILE"] = made + "/none"
            wrong = token()
            assert wrong.returncode == 1 and "EAGLERAY_TOKEN_FILE" in wrong.stderr
        finally:
            ray("stop", "-f", "-g5", folder=folder)


def test_words_that_need_no_cluster() -> None:
    assert ray("--version").startswith("ray, version 2.60.0 ")
    assert "nothing to disable" in ray("disable-usage-stats")
    assert "usage: eagleray COMMAND" in ray("--help")
    assert 'unknown command "statsu" (did you mean status?)' in ray("statsu", status=2)


def test_short_flags_become_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(ray_command.cli, "main", lambda: seen.append(sys.argv[1:]))
    for given in (
        ["stop", "-f", "-g", "5"],
        ["stop", "-g5"],
        ["healthcheck", "-f"],
        ["list", "nodes", "-f", "a=b"],
        [],
    ):
        monkeypatch.setattr(sys, "argv", ["ray", *given])
        ray_command.main()
    assert seen == [
        *(["stop", "--force", "--grace-period", "5"], ["stop", "--grace-period=5"], ["health-check", "-f"]),
        *(["list", "nodes", "-f", "a=b"], []),
    ]
