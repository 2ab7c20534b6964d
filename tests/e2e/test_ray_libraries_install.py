"""``eagleray ray-libs``: the files of Ray's wheel come into the cache whole and checked, or not at all."""

from __future__ import annotations

import base64
import hashlib
import multiprocessing
import os
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from eagleray._private.libraries import cache, finder, install, releases
from eagleray._private.tools import libraries_cli

VERSION = "2.60.0"
FILES = {
    "ray/__init__.py": "raise RuntimeError('Ray itself was imported')\n",
    "ray/data/__init__.py": "NAME = __name__\nfrom ray.data import inner\n",
    "ray/data/inner.py": "from ray.data import NAME\n",
    "ray/data/template.html.j2": "<b>{{ x }}</b>\n",
}
#: What a wheel has beside them, of which nothing is kept.
LEFT_OUT = {
    "ray/_raylet.so": "\x7fELF",
    "ray/jars/ray_dist.jar": "PK",
    "ray/dashboard/client/build/index.html": "<html>",
    "ray/thirdparty_files/psutil/__init__.py": "",
    "other/module.py": "",
}


def digests(files: Mapping[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}


def make_wheel(path: Path, files: Mapping[str, str], record: Mapping[str, str] | None = None) -> Path:
    """Writes a wheel whose RECORD has the digests of ``record``, or those of its files."""
    written = files if record is None else record
    rows = []
    for name, text in written.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(text)}\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"ray-{VERSION}.dist-info/RECORD", "".join(rows))
    return path


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a wheel the one that is known, and the cache an empty folder."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))

    def known(files: Mapping[str, str], record: Mapping[str, str] | None = None) -> Path:
        made = make_wheel(tmp_path / "ray.whl", files, record)
        monkeypatch.setattr(releases, "WHEELS", {VERSION: {"311": hashlib.sha256(made.read_bytes()).hexdigest()}})
        monkeypatch.setattr(releases, "CONTENTS", {VERSION: cache.digest_of(digests(FILES))})
        return made

    return known


def left() -> list[str]:
    """What is in the cache, but for its lock."""
    return sorted(set(os.listdir(cache.folder())) - {".lock"})


def test_only_python_files_and_templates_are_kept_and_they_are_compiled(offer: Callable[..., Path]) -> None:
    wheel = offer({**FILES, **LEFT_OUT})
    said: list[str] = []
    root = install.install(VERSION, str(wheel), said.append)
    assert left() == [os.path.basename(root)] and root == cache.place(VERSION)
    assert cache.listed(root) == digests(FILES) and cache.problems(VERSION) == []
    inner = Path(root, cache.INNER)
    found = {str(path.relative_to(inner)) for path in inner.rglob("*") if path.is_file()}
    compiled = {name for name in found if name.endswith(".pyc")}
    assert found - compiled == {*FILES, cache.LIST}
    assert len(compiled) == 3 and os.stat(cache.folder()).st_mode & 0o777 == 0o700
    assert said[-1] == f"installed {len(FILES)} files of Ray {VERSION} in {root}"
    install.install(VERSION, str(wheel), said.append)
    assert said[-1].startswith(f"Ray {VERSION} is installed already")


@pytest.mark.parametrize(
    "files, record, why",
    [
        ({**FILES, "ray/data/inner.py": "import os\n"}, FILES, "inner.py is not what its RECORD says"),
        ({**FILES, "ray/data/new.py": ""}, FILES, "new.py is not what its RECORD says"),
        ({**FILES, "ray/data/new.py": ""}, None, "has other files than Ray"),
        ({**FILES, "ray/../../evil.py": ""}, None, "'ray/../../evil.py', which is not unpacked"),
        ({**FILES, "ray//evil.py": ""}, None, "'ray//evil.py', which is not unpacked"),
        (
            {**FILES, "ray/large.py": "#" * (9 << 20)},
            None,
            "large.py has 9437184 bytes, which is more than is unpacked",
        ),
    ],
)
def test_a_wheel_with_other_files_is_refused(
    offer: Callable[..., Path], files: dict[str, str], record: dict[str, str] | None, why: str
) -> None:
    with pytest.raises(install.InstallError, match="(?s)" + why.replace(".", r"\.")):
        install.install(VERSION, str(offer(files, record)))
    assert left() == []


def test_a_wheel_without_a_record_is_refused(offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = offer(FILES)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ray/__init__.py", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setattr(releases, "WHEELS", {VERSION: {"311": digest}})
    with pytest.raises(install.InstallError, match=f"the wheel has no ray-{VERSION}.dist-info/RECORD"):
        install.install(VERSION, str(wheel))
    assert left() == []


def test_a_file_that_is_not_rays_wheel_is_refused_before_it_is_read(offer: Callable[..., Path], tmp_path: Path) -> None:
    offer(FILES)
    other = make_wheel(tmp_path / "other.whl", {**FILES, "ray/more.py": ""})
    with pytest.raises(
        install.InstallError, match=r"is none of the wheels of ray==2\.60\.0 .* its SHA-256 is [0-9a-f]{64}"
    ):
        install.install(VERSION, str(other))
    with pytest.raises(install.InstallError, match=r"none\.whl cannot be read: No such file"):
        install.install(VERSION, str(tmp_path / "none.whl"))
    with pytest.raises(install.InstallError, match=r"2\.10\.0 is not supported; supported are 2\.60\.0"):
        install.install("2.10.0", str(other))
    assert left() == []


def test_verify_finds_files_that_were_changed_removed_or_added(
    offer: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    root = Path(install.install(VERSION, str(offer(FILES))), cache.INNER)
    assert libraries_cli.main(["verify"]) == 0
    (root / "ray/data/inner.py").write_text("import os\n")
    (root / "ray/data/template.html.j2").unlink()
    (root / "ray/data/added.py").write_text("")
    assert libraries_cli.main(["verify"]) == 1
    told = capfd.readouterr().err
    for part in ("inner.py was changed", "template.html.j2: No such file", "added.py does not belong to Ray 2.60.0"):
        assert part in told
    (root / cache.LIST).write_text("[" * 100_000)
    assert libraries_cli.main(["verify"]) == 1
    assert "cannot be read" in capfd.readouterr().err
    assert libraries_cli.main(["remove"]) == 0 and left() == []
    assert libraries_cli.main(["verify"]) == 1 and "is not installed" in capfd.readouterr().err


def test_list_and_remove_say_what_there_is(offer: Callable[..., Path], capfd: pytest.CaptureFixture[str]) -> None:
    wheel = offer(FILES)
    assert libraries_cli.main(["list"]) == 0 and "nothing is installed in" in capfd.readouterr().out
    assert libraries_cli.main(["install", "--from", str(wheel)]) == 0
    capfd.readouterr()
    assert libraries_cli.main(["list"]) == 0
    assert capfd.readouterr().out == f"{VERSION}  {cache.place(VERSION)}\n"
    assert libraries_cli.main(["remove"]) == 0 and libraries_cli.main(["remove"]) == 0
    assert "is not installed" in capfd.readouterr().out


def _install_in(wheel: str, results: multiprocessing.SimpleQueue[str]) -> None:
    said: list[str] = []
    install.install(VERSION, wheel, said.append)
    results.put(said[-1].partition(" ")[0])


def test_two_installations_at_once_leave_one_that_is_whole(offer: Callable[..., Path]) -> None:
    wheel = str(offer(FILES))
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    both = [fork.Process(target=_install_in, args=(wheel, results)) for _ in range(2)]
    for one in both:
        one.start()
    assert sorted(results.get() for _ in both) == ["Ray", "installed"]  # the second one finds it there
    for one in both:
        one.join(60)
    assert cache.problems(VERSION) == [] and left() == [os.path.basename(cache.place(VERSION))]


def _hang(wheel: str) -> None:
    def stay(folder: str, later: str) -> None:
        Path(cache.folder(), "here").write_text("")
        time.sleep(600)

    install._compile = stay
    install.install(VERSION, wheel)


def test_an_installation_that_is_killed_leaves_nothing_that_the_next_does_not_remove(
    offer: Callable[..., Path],
) -> None:
    wheel = str(offer(FILES))
    child = multiprocessing.get_context("fork").Process(target=_hang, args=(wheel,))
    child.start()
    deadline = time.monotonic() + 60
    while not Path(cache.folder(), "here").exists():
        assert time.monotonic() < deadline and child.is_alive()
        time.sleep(0.01)
    child.kill()
    child.join(60)
    Path(cache.folder(), "here").unlink()
    assert [name.startswith(cache.PARTIAL) for name in left()] == [True]
    assert cache.installed() == [] and finder.root() is None
    install.install(VERSION, wheel)
    assert left() == [os.path.basename(cache.place(VERSION))]


def _install_without_room(wheel: str, results: multiprocessing.SimpleQueue[str]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        install.install(VERSION, wheel)
    except install.InstallError as problem:
        results.put(str(problem))


def test_an_installation_without_room_leaves_nothing_and_says_so(offer: Callable[..., Path]) -> None:
    wheel = str(offer(FILES))
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    child = fork.Process(target=_install_without_room, args=(wheel, results))
    child.start()
    told = results.get()
    child.join(60)
    assert told.startswith(f"Ray {VERSION} cannot be installed in {cache.folder()}: ") and "File too large" in told
    assert left() == []


def test_without_pip_the_message_says_what_to_do(offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    offer(FILES)
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(install.InstallError, match=r"pip is not installed .* -m ensurepip`, or .* with --from"):
        install.install(VERSION)
    assert left() == []


def test_a_download_that_fails_says_what_pip_said(offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    offer(FILES)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(install.InstallError, match=r"(?s)pip cannot download ray==2\.60\.0 .*No matching distribution"):
        install.install(VERSION)
    assert left() == []


def test_pip_downloads_a_wheel_whose_digest_it_knows(
    offer: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: ray\nVersion: {VERSION}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux2014_x86_64\n",
    }
    wheel = offer({**FILES, **{f"ray-{VERSION}.dist-info/{name}": text for name, text in about.items()}})
    links = tmp_path / "links"
    links.mkdir()
    wheel.rename(links / f"ray-{VERSION}-cp311-cp311-{releases.PLATFORM}.whl")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    install.install(VERSION)
    assert cache.problems(VERSION) == [] and left() == [os.path.basename(cache.place(VERSION))]


def test_the_cache_is_where_the_user_keeps_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given, folder in (("", tmp_path / ".cache"), ("relative", tmp_path / ".cache"), ("/caches", Path("/caches"))):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert cache.folder() == str(folder / "eagleray" / "ray-libs")


@pytest.mark.parametrize(
    "imported", ["from eagleray import tune", "import eagleray.data.context", "from eagleray.train import X"]
)
def test_without_the_files_an_import_names_the_command(imported: str) -> None:
    done = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "run `eagleray ray-libs install` once" in done.stderr
    assert "EAGLERAY_RAY_LIBS_AUTO=1" in done.stderr and "ModuleNotFoundError" in done.stderr


def test_a_program_may_have_them_installed_by_its_import(
    offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, asked = offer(FILES), []
    real = install.install

    def from_file(version: str, file: str | None = None, say: Callable[[str], None] = print) -> str:
        asked.append(version)
        return real(version, str(wheel), say)

    monkeypatch.setattr(install, "install", from_file)
    monkeypatch.setattr(finder, "_root", None)
    assert finder.find("ray.data", False) is None and not finder.can_find("ray.data") and asked == []
    monkeypatch.setenv(finder.AUTO_VARIABLE, "1")
    assert finder.can_find("ray.data") and not finder.can_find("ray.nothing") and asked == []
    finder._install()
    assert asked == [VERSION] and finder.root() == cache.place(VERSION)
    found = finder.find("ray.data", False)
    assert found is not None and found.origin == os.path.join(cache.place(VERSION), cache.INNER, "ray/data/__init__.py")
    monkeypatch.setattr(install, "install", real)
    monkeypatch.setattr(finder, "_root", None)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    cache.remove(VERSION)
    with pytest.raises(
        ImportError, match=r"(?s)EAGLERAY_RAY_LIBS_AUTO=1, and .* cannot be installed: pip cannot download"
    ):
        finder.find("ray.data", True)


def test_a_cache_of_another_user_is_not_used(offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    install.install(VERSION, str(offer(FILES)))
    monkeypatch.setattr(finder, "_root", None)
    if os.geteuid() == 0:
        os.chown(cache.place(VERSION), 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ImportError, match="belongs to another user"):
        finder.root()


def test_packages_that_are_missing_are_named_together(
    offer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install(VERSION, str(offer(FILES)))
    monkeypatch.setattr(finder, "_root", None)
    monkeypatch.setattr(finder, "_is_there", lambda module: module not in ("psutil", "google.protobuf"))
    with pytest.raises(
        ModuleNotFoundError, match=r"ray\.data needs packages .*: protobuf, psutil\. Run `pip install 'eagle"
    ):
        finder.find("ray.data", True)
    assert finder.number_found() == 0
