"""What the manager of jobs refuses before it starts anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eagleray._private.jobs import manager, records, requests, uploads


@pytest.mark.parametrize("seconds", ["soon", "nan", "-1", ["1"]])
def test_a_job_that_is_refused_is_not_started(seconds: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Supervisor:
        """Stands for the class of the actor."""

        def __getattr__(self, name: str) -> Any:
            done.append(name)
            return lambda *args, **named: self

    monkeypatch.setattr(records, "add", lambda *args: True)
    monkeypatch.setattr(records, "remove", lambda *args: None)
    made = manager.Manager.__new__(manager.Manager)  # without a session
    made._session = None  # type: ignore[assignment]
    made._actor = Supervisor()
    made.uploads = uploads.Uploads(str(tmp_path), set)
    monkeypatch.setattr(made, "_options", lambda *args: {})
    runtime_env = {"env_vars": {"RAY_JOB_START_TIMEOUT_SECONDS": seconds}}
    with pytest.raises(ValueError, match="RAY_JOB_START_TIMEOUT_SECONDS must be a number of seconds"):
        made.submit(requests.Submission("true", runtime_env=runtime_env))
    assert done == []
