"""Folders and modules that clients have uploaded for their jobs, on the machine of the head."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import stat
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from eagleray._private.environments.archives import Entry, read_to_end

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")
_FORMATS = (".zip", ".jar", ".whl", ".tar.gz", ".tgz")
_PROTOCOL = "gcs"
_MOST_BYTES = 2 << 30
_MOST_FILES = 200_000
_MOST_PATH = 4096
#: A package that no job uses is kept for so long after it came: its job is submitted soon.
_KEPT_SECONDS = 3600.0


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Returns at most so many bytes, and none at the end."""
        ...


class Uploads:
    """The uploaded packages, each with a folder of what it holds.

    Args:
        folder: Where they are kept; made when the first one comes.
        used: Returns the URIs that jobs use which have not ended.
    """

    def __init__(self, folder: str, used: Callable[[], set[str]]) -> None:
        self._folder = folder
        self._used = used
        self._lock = threading.Lock()

    def has(self, protocol: str, name: str) -> bool:
        """Reports whether a package is here."""
        check(protocol, name)
        try:
            os.utime(self._place(name))  # who asks does not upload it, and submits a job soon
        except FileNotFoundError:
            return False
        return True

    def keep(self, protocol: str, name: str, body: Readable, length: int) -> None:
        """Keeps a package.

        Raises:
            ValueError: it is none, or too large, or its name is wrong.
        """
        check(protocol, name)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._collect()
        coming = os.path.join(self._folder, f".{name}.{os.urandom(4).hex()}")
        try:
            os.mkdir(coming, 0o700)
            archive = os.path.join(coming, "archive")
            with open(archive, "wb") as file:
                left = length
                while left:
                    piece = body.read(min(left, 1 << 20))
                    if not piece:
                        raise ValueError(f"the package {name} has ended {left} bytes early")
                    file.write(piece)
                    left -= len(piece)
            content = os.path.join(coming, "content")
            os.mkdir(content, 0o700)
            unpack(archive, content, name)
            os.remove(archive)
            os.utime(content)  # an archive may give its folder a time long ago, and _collect looks at it
            with self._lock:
                if not os.path.isdir(self._place(name)):  # its name is the hash of what it holds
                    os.rename(content, self._place(name))
        finally:
            shutil.rmtree(coming, ignore_errors=True)

    def resolve(self, runtime_env: dict[str, Any]) -> dict[str, Any]:
        """Returns a runtime environment with folders of this machine in the place of uploaded packages.

        Raises:
            ValueError: a package is not here.
        """
        made = dict(runtime_env)
        if _is_uri(made.get("working_dir")):
            made["working_dir"] = self._folder_of(made["working_dir"])
        if isinstance(made.get("py_modules"), list):
            modules: list[Any] = []
            for item in made["py_modules"]:
                if _is_uri(item):
                    folder = self._folder_of(item)
                    modules += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if _is_module(name)]
                else:
                    modules.append(item)
            made["py_modules"] = modules
        return made

    def _folder_of(self, uri: str) -> str:
        protocol, _, name = uri.partition("://")
        if not self.has(protocol, name):
            raise ValueError(f"the package {uri} is not on the machine of the head: upload it first")
        return self._place(name)

    def _place(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _collect(self) -> None:
        """Removes old packages that no job uses."""
        used = {uri.partition("://")[2] for uri in self._used()}
        with self._lock:
            for name in os.listdir(self._folder):
                path = self._place(name)
                with contextlib.suppress(FileNotFoundError):  # one that was just coming
                    if name not in used and time.time() - os.stat(path).st_mtime > _KEPT_SECONDS:
                        shutil.rmtree(path, ignore_errors=True)


def uris(runtime_env: dict[str, Any] | None) -> set[str]:
    """Returns the uploaded packages that a runtime environment names."""
    named = [(runtime_env or {}).get("working_dir"), *((runtime_env or {}).get("py_modules") or ())]
    return {one for one in named if _is_uri(one)}


def check(protocol: str, name: str) -> None:
    """Checks the name of a package.

    Raises:
        ValueError: it cannot be one.
    """
    if protocol != _PROTOCOL:
        raise ValueError(f"packages are uploaded as {_PROTOCOL}://NAME, not as {protocol:.40}://")
    if not _NAME.fullmatch(name) or not name.endswith(_FORMATS):
        raise ValueError(f"{name[:200]!r} is no name of a package: letters, digits, '_', '.' and one of {_FORMATS}")


def unpack(archive: str, folder: str, name: str) -> None:
    """Unpacks an archive into an empty folder. Nothing is written outside of it.

    Raises:
        ValueError: it is no archive, too large, or leaves the folder.
    """
    try:
        if name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(archive, "r:gz", tarinfo=Entry) as tar:
                _check_size(name, ((one.name, one.size) for one in _not_through_links(tar)))
                read_to_end(tar)
                tar.extractall(folder, filter="data")
            return
        with zipfile.ZipFile(archive) as packed:
            _check_size(name, ((one.filename, one.file_size) for one in packed.infolist()))
            for one in packed.infolist():
                path = packed.extract(one, folder)  # it leaves out what leads outside
                mode = one.external_attr >> 16
                if stat.S_ISREG(mode):
                    os.chmod(path, (stat.S_IMODE(mode) & 0o755) | 0o600)
    except (
        zipfile.BadZipFile,
        gzip.BadGzipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        UnicodeError,
    ) as problem:
        raise ValueError(f"the package {name} cannot be unpacked: {problem}") from None


def _not_through_links(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Returns the entries, of which none is behind a link or replaces one.

    The filter of the library looks where links lead, and in some releases of Python long chains of links deceive it.
    """
    links: set[str] = set()
    for one in tar:
        names = [_joined(path, one) for path in (one.name, *((one.linkname,) if one.islnk() else ()))]
        for name in names if links else ():
            parts = name.split("/")
            if any("/".join(parts[:count]) in links for count in range(1, len(parts) + 1)):
                raise tarfile.ReadError(f"the entry {one.name[:200]!r} is behind a symbolic link, or replaces one")
        if one.issym():
            links.add(names[0])
        yield one


def _joined(path: str, entry: tarfile.TarInfo) -> str:
    """Returns a path of an entry in its shortest form."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if len(path) > _MOST_PATH or ".." in parts:
        raise tarfile.ReadError(f"the entry {entry.name[:200]!r} has a path that is too long, or has '..' in it")
    return "/".join(parts)


def _check_size(name: str, members: Iterator[tuple[str, int]]) -> None:
    total = 0
    for count, (_, size) in enumerate(members):
        total += size
        if total > _MOST_BYTES or count >= _MOST_FILES:
            raise ValueError(
                f"the package {name} holds more than {_MOST_BYTES >> 30} GiB or {_MOST_FILES} files: leave data out "
                "with excludes, or put them where the job reads them"
            )


def _is_uri(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(f"{_PROTOCOL}://")


def _is_module(name: str) -> bool:
    return not name.endswith((".dist-info", ".data"))
