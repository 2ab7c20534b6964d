"""``init(include_dashboard=True)``: a session of the program's own takes jobs over HTTP."""

from __future__ import annotations

import http.client
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from eagleray.job_submission import JobStatus, JobSubmissionClient
from job_cluster import ended, gone, wait
from ports import free_port

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def alone(fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, in a folder for sessions of its own."""
    short = Path("/tmp") / f"er{os.getpid()}d"
    short.mkdir(mode=0o700)
    for name in ("RAY_ADDRESS", "EAGLERAY_ADDRESS", "EAGLERAY_TOKEN_FILE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(short))
    yield fresh
    fresh.shutdown()
    import shutil

    shutil.rmtree(short)


def test_a_job_runs_in_the_session_of_a_program(alone: Any) -> None:
    context = alone.init(address="local", num_cpus=2, include_dashboard=True, dashboard_port=free_port())
    assert context.dashboard_url == context["webui_url"] and context.dashboard_url.startswith("127.0.0.1:")
    client = JobSubmissionClient(f"http://{context.dashboard_url}")
    program = "import eagleray as r; r.init(); print(r.get(r.remote(lambda: 7).remote()), len(r.nodes()))"
    name = client.submit_job(entrypoint=f'python -c "{program}"')
    assert ended(client, name).status is JobStatus.SUCCEEDED and client.get_job_logs(name) == "7 1\n"
    name = client.submit_job(entrypoint="echo $$; exec sleep 600")
    wait(lambda: client.get_job_logs(name) != "", "the job")
    pid = int(client.get_job_logs(name))
    token = Path(os.environ["EAGLERAY_TMPDIR"]) / f"eagleray-{os.getuid()}" / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    line = http.client.HTTPConnection(context.dashboard_url, timeout=60)
    line.request("GET", "/api/jobs/")
    assert line.getresponse().status == 401
    line.close()
    alone.shutdown()
    wait(lambda: gone(pid), "the end of the job with its session")
    with pytest.raises(ConnectionError):
        client.list_jobs()


def test_nothing_is_served_unless_it_is_asked_for(alone: Any, caplog: pytest.LogCaptureFixture) -> None:
    for words in ({}, {"include_dashboard": False}, {"include_dashboard": False, "dashboard_port": 8265}):
        with caplog.at_level(logging.WARNING, "eagleray"), alone.init(address="local", num_cpus=1, **words) as context:
            assert context.dashboard_url == ""
    assert "no effect" not in caplog.text


def test_what_is_wrong_is_said(alone: Any) -> None:
    import socket

    for words, error, said in (
        ({"include_dashboard": "yes"}, TypeError, "include_dashboard"),
        ({"dashboard_host": 1}, TypeError, "dashboard_host"),
        ({"dashboard_port": "8265"}, TypeError, "dashboard_port"),
        ({"dashboard_port": 70_000}, ValueError, "dashboard_port"),
    ):
        with pytest.raises(error, match=said):
            alone.init(address="local", **words)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(ValueError, match=r"dashboard_port.*is taken|is taken.*dashboard_port"):
            alone.init(address="local", num_cpus=1, dashboard_port=held.getsockname()[1])
    assert not alone.is_initialized()
