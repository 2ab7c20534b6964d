"""Installs Ray's libraries: gets the wheel, checks it, unpacks its Python files and templates, compiles them."""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import importlib.util
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator

from eagleray._private.libraries import cache, releases

COMMAND = "eagleray ray-libs install"
#: What is unpacked: sources, and data that they read.
_ENDINGS = (".py", ".j2", ".tmpl", ".json", ".yaml", ".html")
#: Folders of which nothing is unpacked: packages with compiled code, the pages of the dashboard, C++.
_WITHOUT = (
    "ray/_private/runtime_env/agent/thirdparty_files/",
    "ray/thirdparty_files/",
    "ray/dashboard/client/",
    "ray/core/src/",
)
_MOST_BYTES_OF_WHEEL = 256 << 20
_MOST_ENTRIES = 20_000
_MOST_BYTES = 128 << 20
_MOST_BYTES_OF_FILE = 8 << 20
_PIECE = 1 << 20
_DIGEST = "sha256="


class InstallError(Exception):
    """The libraries cannot be installed; the text says why, and what to do."""


def install(version: str, file: str | None = None, say: Callable[[str], None] = lambda text: None) -> str:
    """Installs a version's libraries into the cache, if they are not there yet.

    Args:
        version: The version of Ray, one of ``releases.WHEELS``.
        file: Ray's wheel; None: pip downloads it.
        say: Is told what is done.

    Returns:
        The folder of the cache that has them.

    Raises:
        InstallError: the wheel is not there, is not Ray's, or there is no room for its files.
    """
    if version not in releases.WHEELS:
        raise InstallError(f"Ray {version} is not supported; supported are {', '.join(releases.WHEELS)}")
    root = cache.place(version)
    try:
        with cache.locked(lambda: say("another process is changing the cache; waiting for it")):
            if cache.is_whole(root):
                say(f"Ray {version} is installed already in {root}")
                return root
            if file is not None:
                _unpack(file, version, root, say)
                return root
            with tempfile.TemporaryDirectory(prefix=cache.PARTIAL, dir=cache.folder()) as folder:
                _unpack(_download(version, folder, say), version, root, say)
        return root
    except OSError as problem:
        reason = "the disk is full" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else str(problem)
        raise InstallError(
            f"Ray {version} cannot be installed in {cache.folder()}: {reason}. {cache.VARIABLE} names another folder"
        ) from None


def _download(version: str, folder: str, say: Callable[[str], None]) -> str:
    """Has pip download the wheel into a folder; returns its path."""
    if importlib.util.find_spec("pip") is None:
        raise InstallError(
            f"pip is not installed for {sys.executable}, and it is what downloads Ray's wheel: run `{sys.executable} "
            f"-m ensurepip`, or download the wheel of ray=={version} elsewhere and give it with --from"
        )
    wheels = releases.WHEELS[version]
    own = f"{sys.version_info[0]}{sys.version_info[1]}"
    tag = own if own in wheels else max(wheels)
    say(f"downloading the wheel of ray=={version} with pip (80 MB)")
    asked = os.path.join(folder, "wanted.txt")
    with open(asked, "w", encoding="utf-8") as text:
        text.write(f"ray=={version} --hash=sha256:{wheels[tag]}\n")
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--require-hashes", "--only-binary", ":all:", "--implementation", "cp", "--abi", f"cp{tag}"),
        *("--python-version", f"{tag[0]}.{tag[1:]}", "--platform", releases.PLATFORM),
        *("--dest", folder, "--requirement", asked),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    found = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if done.returncode or len(found) != 1:
        raise InstallError(
            f"pip cannot download ray=={version} (status {done.returncode}): {done.stdout.strip()[-1500:]}\n"
            "Without network, download the wheel elsewhere and give it with --from"
        )
    return os.path.join(folder, found[0])


def _unpack(path: str, version: str, root: str, say: Callable[[str], None]) -> None:
    """Checks a wheel and makes its folder in the cache. The cache is locked."""
    try:
        with open(path, "rb") as wheel:
            _check_wheel(wheel, path, version)
            _make(wheel, path, version, root, say)
    except OSError as problem:
        if problem.filename != path:
            raise
        raise InstallError(f"the wheel {path} cannot be read: {problem.strerror}") from None


def _check_wheel(wheel: io.BufferedReader, path: str, version: str) -> None:
    """Raises if a file is not one of the wheels of a version."""
    info = os.fstat(wheel.fileno())
    if not stat.S_ISREG(info.st_mode) or info.st_size > _MOST_BYTES_OF_WHEEL:
        raise InstallError(f"{path} is no wheel of Ray: it is no file, or is larger than {_MOST_BYTES_OF_WHEEL} bytes")
    whole = hashlib.sha256()
    while piece := wheel.read(_PIECE):
        whole.update(piece)
    found = releases.version_of(whole.hexdigest())
    if found == version:
        return
    if found is not None:
        raise InstallError(f"{path} is the wheel of Ray {found}, not of {version}: give --version {found}")
    known = ", ".join(f"cp{tag}" for tag in releases.WHEELS[version])
    raise InstallError(
        f"{path} is none of the wheels of ray=={version} for {releases.PLATFORM} ({known}): its SHA-256 is "
        f"{whole.hexdigest()}. Nothing of it was used"
    )


def _make(wheel: io.BufferedReader, path: str, version: str, root: str, say: Callable[[str], None]) -> None:
    part = cache.partial(version)
    inner = os.path.join(part, cache.INNER)
    os.makedirs(inner)
    try:
        say("unpacking its Python files")
        try:
            with zipfile.ZipFile(wheel) as archive:
                files = dict(_extract(archive, version, inner))
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as problem:
            raise InstallError(f"{path} cannot be unpacked: {problem}") from None
        if cache.digest_of(files) != releases.CONTENTS[version]:
            raise InstallError(
                f"{path} has other files than Ray {version} should have ({cache.digest_of(files)}). Nothing of it was "
                "used"
            )
        say("compiling them")
        _compile(inner, os.path.join(root, cache.INNER))
        with open(os.path.join(inner, cache.LIST), "w", encoding="utf-8") as listed:
            json.dump(files, listed, indent=0, sort_keys=True)
        os.sync()  # a machine that loses power now has either all of this folder or none
        if os.path.isdir(root):  # something that is not whole, which no installation leaves
            os.rename(root, cache.partial("broken"))
        os.rename(part, root)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    say(f"installed {len(files)} files of Ray {version} in {root}")


def _extract(archive: zipfile.ZipFile, version: str, to: str) -> Iterator[tuple[str, str]]:
    """Unpacks what is wanted of a wheel, and gives each file's path and SHA-256."""
    entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES:
        raise InstallError(f"the wheel has {len(entries)} files, and at most {_MOST_ENTRIES} are unpacked")
    record = _record(archive, version)
    left = _MOST_BYTES
    for entry in entries:
        name = entry.filename
        if not name.startswith("ray/") or not name.endswith(_ENDINGS) or name.startswith(_WITHOUT):
            continue
        steps = name.split("/")
        if any(step in ("", ".", "..") for step in steps) or "\\" in name or "\0" in name:
            raise InstallError(f"the wheel has a file with the path {name!r}, which is not unpacked")
        if entry.file_size > min(left, _MOST_BYTES_OF_FILE):
            raise InstallError(f"the wheel's file {name} has {entry.file_size} bytes, which is more than is unpacked")
        with archive.open(entry) as source:
            content = source.read(entry.file_size + 1)
        left -= len(content)
        digest = hashlib.sha256(content)
        if record.get(name) != digest.digest() or len(content) != entry.file_size:
            raise InstallError(f"the wheel's file {name} is not what its RECORD says")
        target = os.path.join(to, *steps)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "xb") as file:
            file.write(content)
        yield name, digest.hexdigest()


def _record(archive: zipfile.ZipFile, version: str) -> dict[str, bytes]:
    """Returns the SHA-256 of files as the wheel's RECORD has them."""
    name = f"ray-{version}.dist-info/RECORD"
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise InstallError(f"the wheel has no {name}") from None
    if entry.file_size > _MOST_BYTES_OF_FILE:
        raise InstallError(f"the wheel's {name} has {entry.file_size} bytes, which is more than is read")
    text = archive.read(entry).decode("utf-8", "replace")
    found = {}
    for row in csv.reader(io.StringIO(text)):
        if len(row) == 3 and row[1].startswith(_DIGEST):
            encoded = row[1].removeprefix(_DIGEST)
            found[row[0]] = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    return found


def _compile(folder: str, later: str) -> None:
    """Compiles files for this version of Python, with the names that they have later. What cannot be is left alone."""
    import compileall

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of strings in the sources
        compileall.compile_dir(folder, maxlevels=64, quiet=2, workers=0, stripdir=folder, prependdir=later)
