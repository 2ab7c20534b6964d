"""Ray's own client of jobs against the server here, and many jobs at once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from job_cluster import JobCluster, ended

ROOT = Path(__file__).parents[2]
RAY = ROOT / "build" / "venv-ray" / "bin" / "python"
PROGRAM = """
    import asyncio, sys, time
    from ray.job_submission import JobStatus, JobSubmissionClient

    client = JobSubmissionClient(sys.argv[1])
    name = client.submit_job(
        entrypoint="python main.py 'a b'",
        runtime_env={"working_dir": sys.argv[2] + "/project", "py_modules": [sys.argv[2] + "/module"],
                     "env_vars": {"KEY": "text"}},
        metadata={"a": "b"},
        entrypoint_resources={"b": 0.1},
    )

    async def tail():
        return [piece async for piece in client.tail_job_logs(name)]

    pieces = asyncio.run(tail())
    assert "".join(pieces).splitlines()[-1] == "done ['a b'] text 7", pieces
    info = client.get_job_info(name)
    assert info.status == JobStatus.SUCCEEDED and info.metadata == {"a": "b"} and info.driver_exit_code == 0
    assert info.driver_info is not None and info.type == "SUBMISSION" and client.get_job_logs(name) == "".join(pieces)
    try:
        client.submit_job(entrypoint="true", submission_id=name)
    except RuntimeError as problem:
        assert "Please use a different submission_id" in str(problem)
    else:
        raise AssertionError("a name was used twice")
    second = client.submit_job(entrypoint="sleep 600")
    while client.get_job_status(second) == JobStatus.PENDING:
        time.sleep(0.05)
    assert client.stop_job(second) is True
    while not client.get_job_status(second).is_terminal():
        time.sleep(0.05)
    assert client.get_job_status(second) == JobStatus.STOPPED and client.stop_job(second) is False
    assert {job.submission_id for job in client.list_jobs()} == {name, second}
    assert client.delete_job(second) is True
    try:
        client.get_job_info(second)
    except RuntimeError as problem:
        assert "404" in str(problem)
    else:
        raise AssertionError("it is still there")
    print("fine")
"""


def _has_client() -> bool:
    if not RAY.exists():
        return False
    return subprocess.run([RAY, "-c", "import ray, aiohttp, requests"], capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not _has_client(), reason="build/venv-ray has no client of jobs: make build/venv-ray/.ready")
def test_rays_client_does_all_that_it_can(tmp_path: Path) -> None:
    for name in ("project", "module"):
        (tmp_path / name).mkdir()
    (tmp_path / "module" / "__init__.py").write_text("VALUE = 7\n")
    (tmp_path / "project" / "main.py").write_text(
        "import os, sys, module, eagleray\neagleray.init()\n"
        "value = eagleray.get(eagleray.remote(lambda: __import__('module').VALUE).remote())\n"
        "print('done', sys.argv[1:], os.environ['KEY'], value)\n"
    )
    with JobCluster() as cluster:
        env = {name: text for name, text in os.environ.items() if not name.startswith(("RAY_", "EAGLERAY_"))}
        env |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": cluster.token}
        done = subprocess.run(
            [RAY, "-c", textwrap.dedent(PROGRAM), cluster.url, str(tmp_path)],
            env=env,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0 and done.stdout.endswith("fine\n"), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_jobs_at_once() -> None:
    with JobCluster() as cluster:
        client = cluster.client()
        names = [client.submit_job(entrypoint=f"sleep 1; echo {number}; exit {number % 3}") for number in range(100)]
        for number, name in enumerate(names):
            job = ended(client, name)
            assert job.driver_exit_code == number % 3, job
            assert client.get_job_logs(name) == f"{number}\n"
        assert len(client.list_jobs()) == 100
