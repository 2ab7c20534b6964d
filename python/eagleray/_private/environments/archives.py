"""Archives and downloads for the fields ``working_dir`` and ``py_modules``."""

from __future__ import annotations

import base64
import gzip
import lzma
import os
import re
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import unquote_to_bytes, urlsplit

from eagleray._private.environments.checks import LOCAL, SCHEMES, WHEEL, uri_scheme
from eagleray._private.environments.tools import MakingError, run

#: Caps of what is downloaded, of all that is unpacked, and of the number of files, folders and links.
MOST_DOWNLOADED = 4 << 30
MOST_UNPACKED = 16 << 30
MOST_ENTRIES = 500_000
_BLOCK = 1 << 20
_HTTP_TIMEOUT_S = 60


def make(order: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the folder of an order, and returns the answer for the zygote."""
    what, folder = order["what"], order["folder"]
    uri = what.get("uri", "")
    if uri.startswith(LOCAL):
        there = uri[len(LOCAL) :]
        if not os.path.isdir(there):
            raise MakingError(f"{uri} must lead to a folder that every node has, and on this node there is none")
        return {"folder": there}
    os.makedirs(folder)
    if uri:
        source = os.path.join(folder, os.path.basename(uri.split("?")[0].split("#")[0]))
        try:
            download(uri, source)
        except MakingError:
            raise
        except Exception as problem:  # of the library that knows the scheme
            said = _without(str(problem), uri)
            raise MakingError(f"{_shown(uri)} cannot be downloaded: {type(problem).__name__}: {said}") from None
    else:
        source = order["package"]
    target = os.path.join(folder, "content")
    if source.endswith(WHEEL):
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--target", target, source]
        run(command, folder, f"installing the wheel {os.path.basename(source)}")
    else:
        try:
            unpack(source, target)
        except (
            zipfile.BadZipFile,
            gzip.BadGzipFile,
            tarfile.TarError,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            ValueError,
            NotImplementedError,
            RuntimeError,
        ) as problem:
            raise MakingError(f"{_shown(uri) or source} cannot be unpacked: {problem}") from None
    if uri:
        os.remove(source)
        if not source.endswith(WHEEL):
            target = _without_top(target)
    return {"folder": target}


def _shown(uri: str) -> str:
    """Returns a URI without what may be secret in it: a name and password, and the query."""
    scheme, found, rest = uri.partition("://")
    host, slash, path = rest.partition("#")[0].partition("?")[0].partition("/")
    return f"{scheme}{found}{host.rpartition('@')[2]}{slash}{path}"


def _without(text: str, uri: str) -> str:
    """Returns a text without what may be secret in a URI that it is about."""
    authority = re.split("[/?#]", uri.partition("://")[2], maxsplit=1)[0]
    credentials = authority.rpartition("@")[0]
    for secret in (credentials, credentials.partition(":")[2], uri.partition("?")[2]):
        if secret:
            text = text.replace(secret, "***")
    return text


def _without_top(folder: str) -> str:
    """Returns the only folder in an archive that was downloaded, if all is in that one; else the folder itself."""
    inside = [name for name in os.listdir(folder) if name != "__MACOSX"]
    top = os.path.join(folder, inside[0]) if len(inside) == 1 else ""
    return top if top and os.path.isdir(top) and not os.path.islink(top) else folder


def download(uri: str, target: str) -> None:
    """Brings a file here.

    Raises:
        MakingError: a package is missing for it, or it is too large.
    """
    scheme = uri_scheme(uri)
    for package in SCHEMES[scheme]:
        try:
            __import__(package)
        except ImportError as problem:
            needed = " and ".join(SCHEMES[scheme])
            raise MakingError(
                f"{_shown(uri)} cannot be downloaded: {scheme} needs the Python packages {needed} "
                f"in the node's interpreter {sys.executable} ({problem})"
            ) from None
    with _open(scheme, uri) as source, open(target, "wb") as made:
        size = copy(source, made, MOST_DOWNLOADED, f"{_shown(uri)} has")
        left = getattr(source, "length", None) if scheme in ("http", "https") else None
        if left:  # reading in blocks does not raise for it
            raise MakingError(f"{_shown(uri)} cannot be downloaded: the connection ended {left} bytes early, at {size}")


def _open(scheme: str, uri: str) -> Any:
    if scheme == "file":
        from urllib.request import url2pathname

        return open(url2pathname(uri[len("file://") :]), "rb")
    if scheme in ("http", "https"):
        from urllib.request import Request, urlopen

        parts = urlsplit(uri)
        credentials, _, host = parts.netloc.rpartition("@")
        request = Request(parts._replace(netloc=host).geturl(), headers={"Accept": "*/*"})
        request.add_header("User-Agent", os.environ.get("RAY_RUNTIME_ENV_HTTP_USER_AGENT", "eagleray"))
        token = os.environ.get("RAY_RUNTIME_ENV_BEARER_TOKEN")
        # Where the server leads on to another one, that one gets neither.
        if credentials:
            known = base64.b64encode(unquote_to_bytes(credentials)).decode()
            request.add_unredirected_header("Authorization", f"Basic {known}")
        elif token:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        return urlopen(request, timeout=_HTTP_TIMEOUT_S)
    import smart_open  # type: ignore[import-not-found,unused-ignore]

    return smart_open.open(uri, "rb")


def copy(source: IO[bytes], target: IO[bytes], limit: int, what: str) -> int:
    """Copies a file, and returns its size.

    Raises:
        MakingError: it has more than ``limit`` bytes.
    """
    size = 0
    while block := source.read(_BLOCK):
        size += len(block)
        if size > limit:
            raise MakingError(f"{what} more than {limit} bytes, which is the limit")
        target.write(block)
    return size


def unpack(source: str, target: str) -> None:
    """Unpacks an archive into a new folder. Entries that would lie outside of it are refused."""
    os.makedirs(target)
    if source.endswith(".zip"):
        with zipfile.ZipFile(source) as archive:
            _unzip(archive, target)
    else:
        with tarfile.open(source, tarinfo=Entry) as archive:
            _untar(archive, target)


class Entry(tarfile.TarInfo):
    """An entry of a tar. A damaged one is an error, and not the end of the archive as it is for the library."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Entry:
        """Reads the header of an entry."""
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as problem:
            if any(buf):  # the end is empty, or has zeros only
                raise tarfile.ReadError(f"an entry is damaged: {problem}") from None
            raise


def _place(target: str, name: str) -> str:
    """Returns where an entry goes."""
    parts = name.split("/")
    if os.path.isabs(name) or ".." in parts or "\0" in name or "\\" in name:
        raise MakingError(f"the archive has the entry {name!r:.200}, which would lie outside of its folder")
    return os.path.join(target, *(part for part in parts if part not in ("", ".")))


def _unzip(archive: zipfile.ZipFile, target: str) -> None:
    entries = archive.infolist()
    _count(len(entries))
    left = MOST_UNPACKED
    for entry in entries:
        place = _place(target, entry.filename)
        if entry.is_dir():
            os.makedirs(place, exist_ok=True)
            continue
        mode = entry.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise MakingError(f"the archive has the symbolic link {entry.filename!r:.200}; put the file itself into it")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with archive.open(entry) as inside, open(place, "wb") as made:
            left -= copy(inside, made, left, "unpacked, the archive has")
        if mode & 0o111:
            os.chmod(place, 0o755)


def _untar(archive: tarfile.TarFile, target: str) -> None:
    left, count = MOST_UNPACKED, 0
    for entry in archive:
        count += 1
        _count(count)
        place = _place(target, entry.name)
        if entry.isdir():
            os.makedirs(place, exist_ok=True)
            continue
        inside = archive.extractfile(entry) if entry.isreg() else None
        if inside is None:
            raise MakingError(
                f"the archive has the entry {entry.name!r:.200}, which is neither a file nor a folder (a link or a "
                "device); put files themselves into it"
            )
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with inside, open(place, "wb") as made:
            left -= copy(inside, made, left, "unpacked, the archive has")
        if entry.mode & 0o111:
            os.chmod(place, 0o755)
    read_to_end(archive)


def read_to_end(archive: tarfile.TarFile) -> None:
    """Reads what is behind the entries: the checksum of a compressed archive is looked at only there.

    Raises:
        ValueError: there is too much.
    """
    left = MOST_UNPACKED
    while archive.fileobj is not None and (block := archive.fileobj.read(_BLOCK)):
        left -= len(block)
        if left < 0:
            raise ValueError(f"behind its entries, the archive has more than {MOST_UNPACKED} bytes")


def _count(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise MakingError(f"the archive has more than {MOST_ENTRIES} entries, which is the limit")
