"""The paths of jobs, as any client sees them."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from job_cluster import LIMIT, JobCluster, ended

pytestmark = pytest.mark.timeout(300)
PATHS = (
    ("GET", "/api/version"),
    ("GET", "/api/jobs/"),
    ("POST", "/api/jobs/"),
    ("GET", "/api/jobs/x"),
    ("DELETE", "/api/jobs/x"),
    ("POST", "/api/jobs/x/stop"),
    ("GET", "/api/jobs/x/logs"),
    ("GET", "/api/jobs/x/logs/tail"),
    ("GET", "/api/packages/gcs/x.zip"),
    ("PUT", "/api/packages/gcs/x.zip"),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[JobCluster]:
    with JobCluster() as made:
        yield made


def ask(cluster: JobCluster, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=LIMIT)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        line.request(method, path, body=body, headers=given)
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


def test_all_paths_of_jobs_need_the_token(cluster: JobCluster) -> None:
    right = f"Bearer {cluster.secret}"
    for method, path in PATHS:
        assert ask(cluster, method, path)[0] == 401
        assert ask(cluster, method, path, Authorization="Bearer " + "0" * 64)[0] == 401
        assert ask(cluster, method, path, Cookie=f"ray-authentication-token={cluster.secret}")[0] == 401
        assert ask(cluster, method, path, Authorization=right, Origin="http://evil.example")[0] == 403
        assert ask(cluster, method, path, Authorization=right, Host="evil.example")[0] == 421
    assert not any((cluster.session() / "logs").glob("jobs.log")), "a stranger has started the server of jobs"
    status, text = ask(cluster, "GET", "/api/version", Authorization=right)
    assert status == 200 and json.loads(text)["ray_version"] == "2.60.0"
    assert ask(cluster, "GET", "/api/version", X_Ray_Authorization=right)[0] == 200
    assert cluster.secret not in (cluster.session() / "logs" / "jobs.log").read_text()


def test_what_makes_no_sense_is_answered_with_a_sentence(cluster: JobCluster) -> None:
    right = {"Authorization": f"Bearer {cluster.secret}"}
    for method, path, body, status, said in (
        ("POST", "/api/jobs/", b"", 400, "must be a JSON object"),
        ("POST", "/api/jobs/", b"{", 400, "is not JSON"),
        ("POST", "/api/jobs/", b"[" * 100_000, 400, "is not JSON"),
        ("POST", "/api/jobs/", b"{}", 400, "entrypoint is missing"),
        ("POST", "/api/jobs/", b'{"entrypoint": "true", "entrypont_num_cpus": 1}', 400, "'entrypont_num_cpus'"),
        ("POST", "/api/jobs/", b'{"entrypoint": "true", "entrypoint_num_cpus": 1e999}', 400, "entrypoint_num_cpus"),
        ("POST", "/api/jobs/", b" " * ((1 << 20) + 1), 413, "more than 1048576 bytes"),
        ("POST", "/api/jobs/none/stop", b"", 404, "Job none does not exist"),
        ("GET", "/api/jobs/none/logs/tail", b"", 404, "Job none does not exist"),
        ("GET", "/api/jobs/..%2F..%2Fetc", b"", 404, "does not exist"),
        ("PATCH", "/api/jobs/none", b"", 501, "PATCH"),
        ("GET", "/api/jobs/a/b/c", b"", 404, "nothing is at GET /api/jobs/a/b/c"),
        ("GET", "/api/packages/gcs/none.zip", b"", 404, "does not exist"),
        ("GET", "/api/packages/http/x.zip", b"", 400, "gcs://NAME"),
        ("PUT", "/api/packages/gcs/..%2Fx.zip", b"", 400, "is no name of a package"),
        ("PUT", "/api/packages/gcs/x.exe", b"", 400, "is no name of a package"),
        ("PUT", "/api/packages/gcs/x.zip", b"not a zip", 400, "cannot be unpacked"),
    ):
        got, text = ask(cluster, method, path, body, **right)
        assert (got, said in text) == (status, True), (method, path, body[:40], got, text[:300])
    assert ask(cluster, "GET", "/api/jobs/", **right) == (200, "[]")


def test_a_log_is_followed_through_a_websocket(cluster: JobCluster) -> None:
    """With a client of its own, so that what travels is what the standard says."""
    client = cluster.client()
    name = client.submit_job(entrypoint="echo first; echo secönd")
    ended(client, name)
    key = base64.b64encode(os.urandom(16)).decode()
    with socket.create_connection(("127.0.0.1", cluster.port), timeout=LIMIT) as line:
        line.sendall(
            f"GET /api/jobs/{name}/logs/tail HTTP/1.1\r\nHost: 127.0.0.1:{cluster.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {cluster.secret}\r\n\r\n".encode()
        )
        stream = line.makefile("rb")
        assert b" 101 " in stream.readline()
        while stream.readline() != b"\r\n":
            pass
        text = b""
        while True:
            first, length = stream.read(2)
            if length == 126:
                (length,) = struct.unpack("!H", stream.read(2))
            body = stream.read(length)
            if first & 0xF == 8:
                assert struct.unpack("!H", body[:2]) == (1000,)
                break
            assert first == 0x81
            text += body
        assert text.decode() == "first\nsecönd\n"


def test_a_package_is_uploaded_once(cluster: JobCluster, tmp_path: Any) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr("folder/words.txt", "words")
    right = {"Authorization": f"Bearer {cluster.secret}"}
    path = "/api/packages/gcs/_ray_pkg_0123.zip"
    assert ask(cluster, "GET", path, **right)[0] == 404
    assert ask(cluster, "PUT", path, (tmp_path / "x.zip").read_bytes(), **right) == (200, "")
    assert ask(cluster, "GET", path, **right) == (200, "")
    client = cluster.client()
    name = client.submit_job(entrypoint="cat folder/words.txt", runtime_env={"working_dir": "gcs://_ray_pkg_0123.zip"})
    assert str(ended(client, name).status) == "SUCCEEDED" and client.get_job_logs(name) == "words"


def test_with_include_dashboard_false_no_jobs_are_taken() -> None:
    with JobCluster("--include-dashboard=false") as cluster:
        assert ask(cluster, "GET", "/api/version", Authorization=f"Bearer {cluster.secret}")[0] == 404
        assert ask(cluster, "GET", "/api/gcs_healthz") == (200, "success")
