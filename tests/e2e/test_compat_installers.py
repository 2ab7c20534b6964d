"""pip and uv keep eagleray-ray-compat as the distribution ``ray``, or stop before they change anything."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import environments
import pytest
import wheels
from environments import Environment, run

#: Libraries of the test, and what they require.
LIBRARIES = {
    "needs_ray": "ray",
    "needs_default": "ray[default]>=2.6.2",
    "needs_tune": "ray[tune]",
    "needs_data": "ray[data]",
}
ANSWERS = """
import importlib.metadata as metadata
entry = metadata.distribution("ray")
print([entry.version, entry.metadata["Name"], entry.files, entry.requires, entry.read_text("INSTALLER").strip(),
       sorted(metadata.packages_distributions()["ray"])])
import ray
print(ray.__version__)
"""


class Offered(NamedTuple):
    """The folders that installers find wheels in."""

    ours: Path
    index: Path


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Offered:
    ours, index = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("index")
    environments.build_compat(ours)
    for name, wanted in LIBRARIES.items():
        wheels.make(index, name, "1.0", requires=(wanted,))
    wheels.make(index, "needs_old", "1.0", requires=("ray<2.50",))
    for version in ("2.49.0", "2.59.0", "2.61.0"):
        environments.like_ray(index, version)
    return Offered(ours, index)


@pytest.fixture
def made(offered: Offered, tmp_path: Path) -> Environment:
    """An environment with eagleray-ray-compat and without a distribution eagleray, as in a clone of the project."""
    made = Environment(tmp_path / "venv")
    made.uv("install", "--no-deps", "--no-index", *offered.ours.glob("eagleray_ray_compat-*.whl"))
    return made


def listing(made: Environment) -> list[str]:
    names = [path.name for path in made.site.glob("*")]
    return sorted(name for name in names if name.lower().startswith(("ray", "eagleray")))


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_what_requires_ray_finds_ours(tool: str, offered: Offered, made: Environment) -> None:
    before = listing(made)
    words = ("--no-index", "--find-links", offered.index, *(name.replace("_", "-") for name in LIBRARIES))
    said = made.pip("install", *words) if tool == "pip" else made.uv("install", *words)
    assert "does not" not in said, said  # neither warns of an extra that is not there
    assert listing(made) == before
    assert {f"{name}-1.0.dist-info" for name in LIBRARIES} <= {path.name for path in made.site.iterdir()}
    answers, version = run(made.python, "-c", ANSWERS).stdout.splitlines()
    entry = ast.literal_eval(answers)
    assert entry[:3] == ["2.60.0", "ray", None] and entry[4] == "eagleray-ray-compat" and "ray" in entry[5]
    assert not any("extra ==" not in one for one in entry[3] or ()), entry[3]
    assert version == "2.60.0"


@pytest.mark.parametrize(
    ("tool", "wanted"), [("pip", ("needs-old",)), ("uv", ("needs-old",)), ("uv", ("--upgrade", "ray"))]
)
def test_another_ray_is_refused_and_nothing_is_changed(
    tool: str, wanted: tuple[str, ...], offered: Offered, made: Environment
) -> None:
    before = listing(made)
    words = ("--no-index", "--find-links", offered.index, *wanted)
    if tool == "pip":
        said = made.pip("install", *words, status=1)
        assert "Cannot uninstall ray 2.60.0" in said and "eagleray-ray-compat" in said, said
    else:
        said = made.uv("install", *words, status=2)
        assert "Ray-2.60.0.dist-info/RECORD" in said, said
    assert listing(made) == before
    assert run(made.python, "-c", "import ray; print(ray.__version__)").stdout == "2.60.0\n"


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_installer_lists_both_and_finds_nothing_broken(tool: str, offered: Offered, tmp_path: Path) -> None:
    made = Environment(tmp_path / "venv", with_eagleray=False)
    wheels.make(tmp_path / "own", "eagleray", "0.1.0")
    words = ("--no-index", "--find-links", offered.ours, "--find-links", tmp_path / "own", "eagleray-ray-compat")
    say = getattr(made, tool)
    say("install", *words)
    lines = [line.split() for line in say("list").splitlines()]
    assert ["ray", "2.60.0"] in lines and ["eagleray-ray-compat", "0.1.0"] in lines, lines
    say("check")
    if tool == "uv":
        assert "RECORD" in say("uninstall", "ray", status=2)
    assert (made.site / "ray" / "__init__.py").exists()
    answer = ("-y",) if tool == "pip" else ()
    say("uninstall", *answer, "eagleray")
    assert "install eagleray, or run" in run(made.python, "-c", "import ray", status=1).stderr
    assert "eagleray" in say("check", status=1)
    say("uninstall", *answer, "eagleray-ray-compat")
    assert listing(made) == []


def test_without_the_second_distribution_eagleray_stays(offered: Offered, made: Environment) -> None:
    made.uv("uninstall", "eagleray-ray-compat")
    assert listing(made) == []
    assert "No module named 'ray'" in run(made.python, "-c", "import eagleray, ray", status=1).stderr
