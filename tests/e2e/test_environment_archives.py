"""Downloads and archives of runtime environments that are damaged, and errors that keep secrets."""

from __future__ import annotations

import base64
import http.server
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray._private.environments import archives
from eagleray._private.environments.tools import MakingError


def tarred(kind: str = "", content: bytes = b"#" * 512) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]
        for name in ("module/a.py", "module/b.py"):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Serves one archive, and ends the connection after some bytes of it."""

    body = b""
    sent: int | None = None
    seen: str | None = None


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.seen = self.headers["Authorization"]
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body[: self.server.sent])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def made_of(uri: str, folder: Path) -> str:
    return str(archives.make({"what": {"uri": uri}, "folder": str(folder)})["folder"])


def test_a_download_that_ends_early_is_no_archive(server: Server, tmp_path: Path) -> None:
    server.body, server.sent = tarred(), 1024  # the first file, to its end
    with pytest.raises(MakingError, match=r"the connection ended \d+ bytes early, at 1024"):
        made_of(f"http://127.0.0.1:{server.server_port}/a.tar", tmp_path / "made")
    server.sent = None
    folder = made_of(f"http://127.0.0.1:{server.server_port}/a.tar", tmp_path / "again")
    assert sorted(os.listdir(folder)) == ["a.py", "b.py"]


def test_a_name_and_a_password_are_sent_to_the_server(server: Server, tmp_path: Path) -> None:
    server.body = tarred()
    made_of(f"http://name:p%40ss@127.0.0.1:{server.server_port}/a.tar", tmp_path / "made")
    assert server.seen == "Basic " + base64.b64encode(b"name:p@ss").decode()


@pytest.mark.parametrize(
    "uri",
    [
        "https://name:SECRET@127.0.0.1/a.zip",
        "http://name:SECRET@[127.0.0.1/a.zip",
        "http://name:SECRET@127.0.0.1:port/a.zip",
        "http://127.0.0.1:1?token=SECRET/a.zip",
        "http://127.0.0.1:1/a.zip?token=SECRET with spaces",
        "http://127.0.0.1:1/a.zip#SECRET",
    ],
)
def test_errors_keep_secrets(uri: str, tmp_path: Path) -> None:
    with pytest.raises(MakingError, match="cannot be downloaded") as error:
        made_of(uri, tmp_path / "made")
    assert "SECRET" not in str(error.value) and "127.0.0.1" in str(error.value)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar.xz"])
def test_an_archive_that_is_damaged_inside(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    content = b"".join(b"%d\n" % number for number in range(100_000))
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.py", content)
    else:
        path.write_bytes(tarred(name.rpartition(".")[2], content))
    damaged = bytearray(path.read_bytes())
    middle = len(damaged) // 3
    damaged[middle : middle + 1000] = b"\xff" * 1000
    path.write_bytes(damaged)
    with pytest.raises(MakingError, match=f"{name} cannot be unpacked"):
        archives.make({"what": {}, "package": str(path), "folder": str(tmp_path / "made")})


def test_a_tar_whose_second_entry_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    for damaged in (tarred()[:1100], tarred()[:1024] + b"#" * 512 + tarred()[1536:]):
        path.write_bytes(damaged)
        with pytest.raises(MakingError, match="an entry is damaged"):
            archives.make({"what": {}, "package": str(path), "folder": str(tmp_path / str(len(damaged)))})


def test_a_checksum_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    damaged = bytearray(tarred("gz"))
    damaged[-6] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(MakingError, match=r"cannot be unpacked: CRC"):
        archives.make({"what": {}, "package": str(path), "folder": str(tmp_path / "made")})
