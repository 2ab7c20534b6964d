"""Where sessions put their files: folders that cannot be written, are too long, or are somebody else's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)
LOCAL: dict[str, Any] = {"address": "local", "num_cpus": 1, "log_to_driver": False}


def refused(ray: Any) -> str:
    """What ``init`` says when it does not start; a later one must start all the same."""
    with pytest.raises((OSError, ValueError, RuntimeError)) as caught:
        ray.init(**LOCAL)
    assert not ray.is_initialized()
    return f"{type(caught.value).__name__}: {caught.value}"


def starts(ray: Any) -> str:
    """Runs a session and returns its folder."""
    with ray.init(**LOCAL) as context:
        assert ray.get(ray.remote(lambda: 5).remote(), timeout=30) == 5
        return str(context["session_dir"])


@pytest.mark.parametrize("length", [60, 61, 80, 107, 108, 200, 3000])
def test_a_long_path(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """Sockets have at most 107 characters: what fits works, what does not is told before anything starts."""
    folder = place / "d"
    while len(str(folder)) < length:
        folder = folder / ("x" * min(100, max(1, length - len(str(folder)) - 1)))
    folder = Path(str(folder)[:length].rstrip("/"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(folder))
    longest = len(str(folder)) + len(f"/eagleray-{os.getuid()}/s-0123456789/p/0123456789abcdef01234567.sock")
    if longest <= 107:
        assert starts(fresh).startswith(str(folder))
    else:
        said = refused(fresh)
        assert "EAGLERAY_TMPDIR" in said and "characters" in said
        monkeypatch.setenv("EAGLERAY_TMPDIR", str(place))
        starts(fresh)


def test_a_file_instead_of_a_folder(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "file").write_text("")
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(place / "file"))
    assert str(place / "file") in refused(fresh)
    (place / "taken").mkdir()
    (place / "taken" / f"eagleray-{os.getuid()}").write_text("")
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(place / "taken"))
    assert f"eagleray-{os.getuid()}" in refused(fresh)


def test_a_link_to_somewhere_else(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may have put it there, in /tmp."""
    (place / "linked").mkdir()
    (place / "elsewhere").mkdir(mode=0o777)
    (place / "linked" / f"eagleray-{os.getuid()}").symlink_to(place / "elsewhere")
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(place / "linked"))
    assert "EAGLERAY_TMPDIR" in refused(fresh)
    assert not os.listdir(place / "elsewhere")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = place / "given" / f"eagleray-{os.getuid()}"
    base.mkdir(parents=True)
    os.chown(base, 12345, 12345)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(base.parent))
    said = refused(fresh)
    assert "12345" in said and "EAGLERAY_TMPDIR" in said


def test_a_folder_that_others_can_enter_is_closed(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = place / "open" / f"eagleray-{os.getuid()}"
    base.mkdir(parents=True)
    os.chmod(base, 0o755)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(base.parent))
    starts(fresh)
    assert base.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_into_which_others_can_write_is_not_believed(
    fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    base = place / f"open-{mode:o}" / f"eagleray-{os.getuid()}"
    base.mkdir(parents=True)
    os.chmod(base, mode)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(base.parent))
    assert f"other users may write into {base}" in refused(fresh)


def test_a_folder_that_cannot_be_written(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc stands for it: there, root cannot write either."""
    monkeypatch.setenv("EAGLERAY_TMPDIR", "/proc/1")
    said = refused(fresh)
    assert "/proc/1" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("full", ["before", "after"])
def test_a_disk_that_is_full(program: Callable[..., Any], full: str) -> None:
    """Before the start it is told; later, nothing can be logged, and work goes on."""
    driver = program(
        """
        libc = ctypes.CDLL(None, use_errno=True)
        folder = os.environ["EAGLERAY_TMPDIR"] + "/full"
        os.mkdir(folder)
        private, bind = 1 << 18, 16384
        if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, bind | private, None):
            say("cannot mount")
            sys.exit()
        if libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=1m"):
            say("cannot mount")
            sys.exit()
        os.environ["EAGLERAY_TMPDIR"] = folder

        def fill():
            filler = os.open(folder + "/filler", os.O_WRONLY | os.O_CREAT)
            try:
                while os.write(filler, bytes(512)):
                    pass
            except OSError:
                pass
        """,
        "fill()" if full == "before" else "",
        """
        try:
            ray.init(address="local", num_cpus=2, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            say("refused", error)
            sys.exit()

        fill()

        @ray.remote
        def prints():
            for i in range(200):
                print("x" * 1000)
            return 7

        @ray.remote
        class Actor:
            def add(self, x):
                print("y" * 1000)
                return x + 1

        assert ray.get([prints.remote() for _ in range(5)], timeout=30) == [7] * 5
        assert ray.get(Actor.remote().add.remote(1), timeout=30) == 2
        assert len(ray.get(ray.put(bytes(3_000_000)))) == 3_000_000
        say("works")
        """,
    )
    said = driver.line(60)
    if said == "cannot mount":
        pytest.skip("mounting is not allowed here")
    if full == "before":
        assert said.startswith("refused") and "o space left on device" in said and "/full" in said, said
    else:
        assert said == "works"
    assert driver.rest() == []


def test_the_folder_is_removed_while_the_session_runs(fresh: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a cleaner of /tmp: what is connected goes on, and the session can be ended and begun anew."""
    import shutil

    (place / "cleaned").mkdir()
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(place / "cleaned"))
    ray = fresh
    ray.init(**LOCAL)

    @ray.remote
    class Actor:
        def add(self, x: int) -> int:
            return x + 1

    actor = Actor.remote()
    assert ray.get(actor.add.remote(1), timeout=30) == 2
    shutil.rmtree(place / "cleaned")
    assert ray.get(actor.add.remote(2), timeout=30) == 3
    with pytest.raises(ray.exceptions.RayError):  # a new worker cannot be reached any more: told, not waited for
        ray.get(Actor.options(num_cpus=0).remote().add.remote(1), timeout=50)
    ray.shutdown()
    (place / "cleaned").mkdir()
    starts(ray)
