"""Sessions for the tests: one that many share, and what those need that start their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import eagleray
import pytest
from declared import SHARED


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A session for the tests of a module that only run tasks and actors in it."""
    with eagleray.init(address="local", **SHARED) as context:
        yield context


@pytest.fixture
def ray(session: Any) -> Any:
    """The module under the name that its users give it, with the shared session running."""
    assert eagleray.is_initialized()
    return eagleray


@pytest.fixture
def fresh() -> Iterator[Any]:
    """The module without a session; one that the test leaves is ended."""
    assert not eagleray.is_initialized(), "another fixture's session is running"
    yield eagleray
    eagleray.shutdown()


@pytest.fixture
def script(tmp_path: Any, monkeypatch: Any) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of its own and returns what it wrote."""
    # An unbuffered program writes each line in two pieces, and what workers wrote may come between them.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)

    def run(
        source: str, *, check: bool = True, timeout: float = 60, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(source))
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=timeout, **options)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run
