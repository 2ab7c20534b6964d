"""Archives and URIs of a runtime environment."""

from __future__ import annotations

import glob
import http.server
import io
import os
import signal
import stat
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wheels
from pace import until
from wheels import makers, session_dir, version

pytestmark = pytest.mark.timeout(120)

FILES = {"data.txt": "text", "inside.py": "VALUE = 4\n", "deep/more.txt": "more"}


def zipped(path: Path, files: dict[str, str], top: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(top + name, text)
    return path


def tarred(path: Path, files: dict[str, str], top: str = "") -> Path:
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz" if path.suffix != ".tar" else "w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(top + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def look() -> Any:
    import inside  # type: ignore[import-not-found]

    with open("data.txt") as file:
        return file.read(), inside.VALUE, os.path.exists("deep/more.txt"), sys.path[0] == os.getcwd()


GOOD = ("text", 4, True, True)


class Server:
    """A web server of files. It can be told to wait before it answers."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.open = threading.Event()
        self.open.set()
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: Any) -> None:
                super().__init__(*args, directory=str(folder))

            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers["Authorization"], self.headers["User-Agent"]))
                server.open.wait()
                super().do_GET()

            def log_message(self, *args: Any) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["code.zip", "code.tar.gz", "code.tgz", "code.tar.xz", "code.tar"])
def test_archives_of_this_machine(ray: Any, tmp_path: Path, name: str) -> None:
    path = (zipped if name.endswith(".zip") else tarred)(tmp_path / name, FILES)
    assert ray.get(ray.remote(look).options(runtime_env={"working_dir": str(path)}).remote()) == GOOD
    path = (zipped if name.endswith(".zip") else tarred)(tmp_path / ("top" + name), FILES, "top/")
    env = {"working_dir": f"file://{path}"}  # what is downloaded loses the one folder in which all is
    assert ray.get(ray.remote(look).options(runtime_env=env).remote()) == GOOD


def test_downloads(ray: Any, tmp_path: Path, server: Server) -> None:
    zipped(tmp_path / "code.zip", FILES, "top/")
    uri = f"{server.address}/code.zip?name=value"
    more = {"RAY_RUNTIME_ENV_BEARER_TOKEN": "word", "RAY_RUNTIME_ENV_HTTP_USER_AGENT": "tests"}
    env = {"working_dir": uri, "env_vars": more}
    refs = [ray.remote(look).options(runtime_env=env, num_cpus=0.01).remote() for _ in range(20)]
    assert ray.get(refs) == [GOOD] * 20
    assert server.asked == [("/code.zip?name=value", "Bearer word", "tests")], "it is downloaded once"
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError) as caught:
        nothing = {"working_dir": server.address.replace("//", "//user:secret@") + "/nothing.zip?key=secret"}
        ray.get(ray.remote(look).options(runtime_env=nothing).remote())
    assert "nothing.zip cannot be downloaded" in str(caught.value) and "secret" not in str(caught.value)


def test_modules(ray: Any, tmp_path: Path, server: Server) -> None:
    wheels.make(tmp_path, "tiny_thing", "3.0")
    wheel = glob.glob(f"{tmp_path}/*.whl")[0]
    task = ray.remote(version)
    assert ray.get(task.options(runtime_env={"py_modules": [wheel]}).remote()) == "3.0"
    uri = f"{server.address}/{os.path.basename(wheel)}"
    assert ray.get(task.options(runtime_env={"py_modules": [uri]}).remote()) == "3.0"
    modules = zipped(tmp_path / "modules.zip", {"tiny_thing/__init__.py": "VERSION = 'zip'\n"})
    assert ray.get(task.options(runtime_env={"py_modules": [str(modules)]}).remote()) == "zip"


def test_a_folder_that_every_node_has(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("text")
    (tmp_path / "inside.py").write_text("VALUE = 4\n")
    env = {"working_dir": f"local://{tmp_path}"}
    assert ray.get(ray.remote(look).options(runtime_env=env).remote())[:2] == ("text", 4)
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="on this node there is none"):
        ray.get(ray.remote(look).options(runtime_env={"working_dir": "local:///no/such/folder"}).remote())


def symlink(archive: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(entry, "/etc/passwd")


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "above.zip": (lambda archive: archive.writestr("../above.txt", "x"), "outside of its folder"),
    "root.zip": (lambda archive: archive.writestr("/tmp/above.txt", "x"), "outside of its folder"),
    "link.zip": (symlink, "symbolic link"),
}


@pytest.mark.parametrize("name", BAD)
def test_archives_that_reach_out_of_their_folder(ray: Any, tmp_path: Path, name: str) -> None:
    fill, text = BAD[name]
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        fill(archive)
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match=text):
        ray.get(ray.remote(look).options(runtime_env={"working_dir": str(tmp_path / name)}).remote())


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_tar_archives_with_other_things_than_files(ray: Any, tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / f"odd{kind.decode()}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("odd")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match=r"neither a file nor a folder|linkname"):
        ray.get(ray.remote(look).options(runtime_env={"working_dir": str(path)}).remote())


def test_an_archive_that_is_none(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 and nothing more")
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="cannot be unpacked"):
        ray.get(ray.remote(look).options(runtime_env={"working_dir": str(tmp_path / "broken.zip")}).remote())


def test_schemes_whose_packages_are_missing(ray: Any) -> None:
    for scheme, package in (("s3", "smart_open and boto3"), ("gs", "smart_open and google.cloud.storage")):
        env = {"working_dir": f"{scheme}://bucket/code.zip"}
        with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match=f"{scheme} needs the Python packages {package}"):
            ray.get(ray.remote(look).options(runtime_env=env).remote())


def test_the_program_that_makes_it_is_killed(ray: Any, tmp_path: Path, server: Server) -> None:
    zipped(tmp_path / "code.zip", FILES)
    server.open.clear()
    task = ray.remote(look).options(runtime_env={"working_dir": f"{server.address}/code.zip"})
    ref = task.remote()
    until(lambda: server.asked, "the download has begun")
    for pid in makers(session_dir()):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="ended without an answer"):
        ray.get(ref, timeout=60)
    server.open.set()
    until(lambda: _comes(ray, task), "the environment is made anew")


def _comes(ray: Any, task: Any) -> bool:
    try:
        return bool(ray.get(task.remote(), timeout=60) == GOOD)
    except ray.exceptions.RuntimeEnvSetupError:
        return False


def test_a_limit_for_the_making(ray: Any, tmp_path: Path, server: Server) -> None:
    zipped(tmp_path / "code.zip", FILES)
    server.open.clear()
    env = {"working_dir": f"{server.address}/code.zip", "config": {"setup_timeout_seconds": 1}}
    with pytest.raises(ray.exceptions.RuntimeEnvSetupError, match="not ready after 1 s, which is its setup_timeout"):
        ray.get(ray.remote(look).options(runtime_env=env).remote(), timeout=60)
    until(lambda: not makers(session_dir()), "the program has ended")
