"""What a request to submit a job may say."""

from __future__ import annotations

import dataclasses
import re
import secrets
import string
from typing import Any

_MOST_COMMAND = 100_000
_ID = re.compile(r"[^/\0\s]{1,200}")
_MOST_ID_BYTES = 200  # it is part of the name of a file
_MOST_AMOUNT = 1 << 60
_LETTERS = "".join(sorted(set(string.ascii_letters + string.digits) - set("IOl0o1")))


@dataclasses.dataclass
class Submission:
    """A job to run."""

    entrypoint: str
    submission_id: str | None = None
    job_id: str | None = None
    runtime_env: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    entrypoint_memory: int | None = None
    entrypoint_resources: dict[str, float] | None = None
    entrypoint_label_selector: dict[str, str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.entrypoint, str) or not self.entrypoint.strip():
            raise ValueError("entrypoint must be a shell command")
        if len(self.entrypoint.encode()) > _MOST_COMMAND or "\0" in self.entrypoint:
            raise ValueError(f"entrypoint has more than {_MOST_COMMAND} bytes, or a null character")
        for name in ("submission_id", "job_id"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} must be a string, got {type(value).__name__}")
        given = self.submission_id or self.job_id
        self.submission_id = given or "raysubmit_" + "".join(secrets.choice(_LETTERS) for _ in range(16))
        if not _is_id(self.submission_id):
            raise ValueError(
                f"submission_id {self.submission_id[:200]!r} must have 1 to 200 characters, at most {_MOST_ID_BYTES} "
                "bytes as UTF-8, without '/', white space and control characters"
            )
        if self.runtime_env is not None and not isinstance(self.runtime_env, dict):
            raise TypeError(f"runtime_env must be a dictionary, got {type(self.runtime_env).__name__}")
        _check_texts("metadata", self.metadata)
        _check_texts("entrypoint_label_selector", self.entrypoint_label_selector)
        for name in ("entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_memory"):
            _check_amount(name, getattr(self, name))
        if self.entrypoint_memory is not None and self.entrypoint_memory != int(self.entrypoint_memory):
            raise TypeError("entrypoint_memory must be a whole number of bytes")
        if self.entrypoint_resources is not None:
            if not isinstance(self.entrypoint_resources, dict):
                raise TypeError("entrypoint_resources must be a dictionary of names and amounts")
            for key, amount in self.entrypoint_resources.items():
                _check_amount(f"entrypoint_resources[{key!r}]", amount)

    @property
    def id(self) -> str:
        """The id under which the job runs."""
        assert self.submission_id is not None
        return self.submission_id

    def needs(self) -> bool:
        """Reports whether the entrypoint asks for resources or labels."""
        amounts = (self.entrypoint_num_cpus, self.entrypoint_num_gpus, self.entrypoint_memory)
        return any(amounts) or bool(self.entrypoint_resources) or bool(self.entrypoint_label_selector)


def read(fields: Any) -> Submission:
    """Reads the body of a request.

    Raises:
        ValueError, TypeError: it is wrong.
    """
    if not isinstance(fields, dict):
        raise TypeError("the body must be a JSON object")
    names = {field.name for field in dataclasses.fields(Submission)}
    unknown = sorted(set(fields) - names)
    if unknown:
        raise ValueError(f"unknown: {', '.join(map(repr, unknown))}; known are {', '.join(sorted(names))}")
    if "entrypoint" not in fields:
        raise ValueError("entrypoint is missing")
    return Submission(**fields)


def _is_id(text: str) -> bool:
    # What is not printable is a control character, or no character at all.
    printable = bool(_ID.fullmatch(text)) and text.isprintable()
    return printable and text not in (".", "..") and len(text.encode()) <= _MOST_ID_BYTES


def _check_texts(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise TypeError(f"{name} must map strings to strings, got {value!r:.200}")


def _check_amount(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST_AMOUNT:
        raise TypeError(f"{name} must be a number of at least 0 and at most {_MOST_AMOUNT}, got {value!r:.100}")
