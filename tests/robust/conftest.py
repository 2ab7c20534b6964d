"""Sessions that the tests here may break, and a watch over what they leave."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from processes import MARK, remains
from program import Program

#: How long a session may take to be gone. It takes a fraction of a second; a slow machine is no failure.
GONE_S = 60.0
#: What the shared session declares.
SHARED: dict[str, Any] = {"num_cpus": 2, "resources": {"slot": 2}, "log_to_driver": False}


@pytest.fixture(scope="module", autouse=True)
def place() -> Iterator[Path]:
    """A folder for the sessions of a module. At its end no process, file or shared memory of theirs may be left."""
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    mark = secrets.token_hex(8)
    shared = set(os.listdir("/dev/shm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, mark)
        patch.setenv("EAGLERAY_TMPDIR", str(folder))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder
        left = remains(mark, folder, GONE_S)
    left += [f"/dev/shm/{name}" for name in set(os.listdir("/dev/shm")) - shared if "eagleray" in name]
    shutil.rmtree(folder, ignore_errors=True)
    assert not left


@pytest.fixture(scope="module")
def session(place: Path) -> Iterator[Any]:
    """A session for the tests of a module that leave it as it was."""
    with eagleray.init(address="local", **SHARED) as context:
        yield context


@pytest.fixture
def ray(session: Any) -> Any:
    """The module under the name that its users give it, with the shared session running."""
    assert eagleray.is_initialized()
    return eagleray


@pytest.fixture
def fresh(place: Path) -> Iterator[Any]:
    """The module without a session; one that the test leaves is ended."""
    assert not eagleray.is_initialized(), "another fixture's session is running"
    yield eagleray
    eagleray.shutdown()


@pytest.fixture
def program(place: Path) -> Iterator[Callable[..., Program]]:
    """Starts programs, and ends them with the test."""
    started: list[Program] = []

    def start(*parts: str, **environ: str) -> Program:
        started.append(Program(place, *parts, **environ))
        return started[-1]

    yield start
    for one in started:
        one.close()
