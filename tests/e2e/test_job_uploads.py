"""Uploaded packages: what is unpacked, what is refused, what is kept."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from eagleray._private.jobs import folders, uploads


def keep(made: uploads.Uploads, name: str, body: bytes) -> None:
    made.keep("gcs", name, io.BytesIO(body), len(body))


def zipped(files: dict[str, str], mode: int = 0o100755) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, text)
    return out.getvalue()


def tarred(*entries: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for entry in entries:
            archive.addfile(entry)
    return out.getvalue()


def link(name: str, to: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, to
    return entry


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    keep(made, "a.zip", zipped({"../../outside": "x", "/absolute": "x", "inside": "x"}))
    assert sorted(os.listdir(tmp_path)) == ["kept"]
    assert sorted(os.listdir(tmp_path / "kept" / "a.zip")) == ["absolute", "inside", "outside"]
    for entry in (tarfile.TarInfo("../outside"), link("out", "/etc"), link("out", "../../x")):
        with pytest.raises(ValueError, match="cannot be unpacked"):
            keep(made, "b.tar.gz", tarred(entry))
    pipe = tarfile.TarInfo("pipe")
    pipe.type = tarfile.FIFOTYPE
    with pytest.raises(ValueError, match="cannot be unpacked"):
        keep(made, "c.tar.gz", tarred(pipe))
    assert sorted(os.listdir(tmp_path / "kept")) == ["a.zip"]


def test_modes_and_links_inside_are_kept(tmp_path: Path) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    keep(made, "a.zip", zipped({"run": "x"}))
    assert os.access(tmp_path / "kept" / "a.zip" / "run", os.X_OK)
    keep(made, "b.zip", zipped({"setuid": "x"}, 0o104777))
    assert (tmp_path / "kept" / "b.zip" / "setuid").stat().st_mode & 0o7777 == 0o755
    keep(made, "c.tar.gz", tarred(tarfile.TarInfo("file"), link("link", "file")))
    assert os.readlink(tmp_path / "kept" / "c.tar.gz" / "link") == "file"


def test_what_is_too_large_or_cut_or_of_another_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    monkeypatch.setattr(uploads, "_MOST_FILES", 2)
    monkeypatch.setattr(uploads, "_MOST_BYTES", 100)
    for body in (zipped({"a": "", "b": "", "c": ""}), zipped({"a": "x" * 101})):
        with pytest.raises(ValueError, match="holds more than"):
            keep(made, "a.zip", body)
    body = zipped({"a": "x"})
    with pytest.raises(ValueError, match="7 bytes early"):
        made.keep("gcs", "a.zip", io.BytesIO(body), len(body) + 7)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        keep(made, "a.zip", body[:-10])
    for name in ("../a.zip", "a/b.zip", ".a.zip", "a.txt", "", "x" * 250 + ".zip", "a\0.zip"):
        with pytest.raises(ValueError, match="no name of a package"):
            keep(made, name, body)
    assert os.listdir(tmp_path / "kept") == []


def test_old_packages_that_no_job_uses_are_removed(tmp_path: Path) -> None:
    used = {"gcs://used.zip"}
    made = uploads.Uploads(str(tmp_path / "kept"), lambda: used)
    body = zipped({"a": "x"})
    for name in ("used.zip", "old.zip", "new.zip"):
        keep(made, name, body)
    for name in ("used.zip", "old.zip"):
        os.utime(tmp_path / "kept" / name, (0, 0))
    keep(made, "next.zip", body)
    assert sorted(os.listdir(tmp_path / "kept")) == ["new.zip", "next.zip", "used.zip"]


def test_folders_become_packages_and_packages_folders(tmp_path: Path) -> None:
    project, module = tmp_path / "project", tmp_path / "module"
    for folder in (project, module, project / ".git"):
        folder.mkdir()
    (project / "a.py").write_text("A = 1")
    (project / "left_out.txt").write_text("x")
    (project / ".gitignore").write_text("left_out.txt")
    (module / "__init__.py").write_text("")
    kept = uploads.Uploads(str(tmp_path / "kept"), set)
    sent = []

    def send(name: str, file: object, length: int) -> None:
        sent.append(name)
        if not kept.has("gcs", name):
            kept.keep("gcs", name, file, length)  # type: ignore[arg-type]

    asked = {"working_dir": str(project), "py_modules": [str(module)], "env_vars": {"A": "1"}}
    first = folders.upload(asked, send)
    assert folders.upload(asked, send) == first and len(set(sent)) == 2
    assert asked["working_dir"] == str(project) and uploads.uris(first) == {f"gcs://{name}" for name in sent}
    made = kept.resolve(first)
    assert sorted(os.listdir(made["working_dir"])) == [".gitignore", "a.py"]
    assert [os.path.basename(path) for path in made["py_modules"]] == ["module"]
    (project / "a.py").write_text("A = 2")
    assert folders.upload(asked, send)["working_dir"] != first["working_dir"]
    with pytest.raises(ValueError, match="neither a folder nor one of"):
        folders.upload({"working_dir": str(project / "a.py")}, send)
    with pytest.raises(ValueError, match="upload it first"):
        kept.resolve({"working_dir": "gcs://none.zip"})


def test_a_package_stays_for_its_job_however_old_its_files_are(tmp_path: Path) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    top = tarfile.TarInfo(".")  # as `tar -c .` writes it
    top.type, top.mode, top.mtime = tarfile.DIRTYPE, 0o755, 1
    keep(made, "a.tar.gz", tarred(top, tarfile.TarInfo("./file")))
    keep(made, "b.zip", zipped({"a": "x"}))
    assert made.has("gcs", "a.tar.gz")
    os.utime(tmp_path / "kept" / "a.tar.gz", (0, 0))
    assert made.has("gcs", "a.tar.gz")  # the client relies on that, and does not upload it again
    keep(made, "c.zip", zipped({"a": "x"}))
    assert made.has("gcs", "a.tar.gz")


def test_two_packages_come_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    keep(made, "a.zip", zipped({"a": "x"}))
    listed = os.listdir

    def with_one_that_has_just_come(path: str) -> list[str]:
        return [".b.zip.00000000", *listed(path)]

    monkeypatch.setattr(os, "listdir", with_one_that_has_just_come)
    keep(made, "c.zip", zipped({"a": "x"}))
    assert made.has("gcs", "c.zip")


def test_a_wheel_that_was_built_anew_is_uploaded_anew(tmp_path: Path) -> None:
    kept = uploads.Uploads(str(tmp_path / "kept"), set)

    def send(name: str, file: object, length: int) -> None:
        if not kept.has("gcs", name):
            kept.keep("gcs", name, file, length)  # type: ignore[arg-type]

    wheel = tmp_path / "package-1.0-py3-none-any.whl"
    for text in ("old", "new"):
        wheel.write_bytes(zipped({"package/__init__.py": text, "package-1.0.dist-info/METADATA": ""}))
        made = kept.resolve(folders.upload({"py_modules": [str(wheel)]}, send))
        (module,) = made["py_modules"]
        assert (Path(module) / "__init__.py").read_text() == text


def entry(name: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, to, 0o755
    return made


def deceiving() -> list[tarfile.TarInfo]:
    """Links in links, so many that the path of the last one is longer than the system resolves."""
    long, path, made = "d" * 247, "", []
    for letter in "abcdefghijklmnop":
        made += [entry(os.path.join(path, long), tarfile.DIRTYPE), link(os.path.join(path, letter), long)]
        path = os.path.join(path, long)
    last = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/" + "l" * 254
    return [*made, link(last, "../" * 16), link("escape", last + "/../../.."), entry("escape/outside")]


@pytest.mark.parametrize(
    "entries",
    [
        deceiving(),
        [entry("folder", tarfile.DIRTYPE), link("in", "folder"), entry("in/file")],
        [link("in", "folder"), entry("in", tarfile.DIRTYPE)],
        [link("in", "file"), entry("./in")],
        [entry("file"), link("in", "file"), entry("hard", tarfile.LNKTYPE, "in")],
        [entry("folder", tarfile.DIRTYPE), entry("folder/../file")],
    ],
)
def test_nothing_is_written_through_links(entries: list[tarfile.TarInfo], tmp_path: Path) -> None:
    kept = tmp_path / "a" / "b" / "kept"
    made = uploads.Uploads(str(kept), set)
    with pytest.raises(ValueError, match="cannot be unpacked: the entry"):
        keep(made, "a.tar.gz", tarred(*entries))
    assert (
        os.listdir(kept) == [] and os.listdir(tmp_path / "a") == ["b"] and os.listdir(tmp_path / "a" / "b") == ["kept"]
    )


def test_a_package_that_is_damaged_inside(tmp_path: Path) -> None:
    made = uploads.Uploads(str(tmp_path / "kept"), set)
    whole = tarred(*(entry(f"file{number * 7919}") for number in range(100)))
    middle = len(whole) // 2
    for damaged in (whole[:middle] + b"\xff" * 100 + whole[middle + 100 :], whole[:-8] + b"\0" * 8):
        with pytest.raises(ValueError, match=r"a\.tar\.gz cannot be unpacked"):
            keep(made, "a.tar.gz", damaged)
