"""``LoggingConfig``: how the loggers of a job's driver and workers write, and what their lines say of their writer."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

from eagleray._private.context import here
from eagleray._private.state import WORKER, process

_ENCODINGS = ("TEXT", "JSON")
#: Attributes that every record has.
_STANDARD = frozenset(
    {
        *(
            "args",
            "asctime",
            "created",
            "exc_info",
            "exc_text",
            "filename",
            "funcName",
            "levelname",
            "levelno",
            "lineno",
        ),
        *("message", "module", "msecs", "msg", "name", "pathname", "process", "processName", "relativeCreated"),
        *("stack_info", "thread", "threadName", "taskName"),
    }
)
_TEXT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
_configured: LoggingConfig | None = None
_handler: logging.Handler | None = None


@dataclasses.dataclass
class LoggingConfig:
    """How the root loggers of a job's driver, tasks and actors write. ``init(logging_config=…)`` takes it.

    Args:
        encoding: "TEXT" for lines, "JSON" for an object on each line.
        log_level: The level of the root logger and of the runtime's own logger.
        additional_log_standard_attrs: Further attributes of ``logging.LogRecord`` to show, as ``name``.

    Raises:
        ValueError: the encoding or an attribute is not known.
    """

    encoding: str = "TEXT"
    log_level: str = "INFO"
    additional_log_standard_attrs: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if self.encoding not in _ENCODINGS:
            raise ValueError(f"Invalid encoding type: {self.encoding}. Valid encoding types are: {list(_ENCODINGS)}")
        for name in self.additional_log_standard_attrs:
            if name not in _STANDARD:
                raise ValueError(
                    f"Unknown python logging standard attribute: {name}. The valid attributes are: {sorted(_STANDARD)}"
                )
        logging.Handler().setLevel(self.log_level)  # raises for a level that does not exist

    def to_dict(self) -> dict[str, object]:
        """Returns the fields as a plain dictionary."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> LoggingConfig:
        """Returns the configuration that a dictionary states; entries that are no fields are left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in d.items() if name in known})


class _Formatter(logging.Formatter):
    def __init__(self, config: LoggingConfig) -> None:
        super().__init__(_TEXT)
        self._config = config

    def format(self, record: logging.LogRecord) -> str:
        if self._config.encoding == "JSON":
            return json.dumps(self._standard(record) | self._more(record), default=str)
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in self._more(record).items())])

    def _standard(self, record: logging.LogRecord) -> dict[str, Any]:
        found = {
            "asctime": self.formatTime(record),
            "levelname": record.levelname,
            "message": record.getMessage(),
            "filename": record.filename,
            "lineno": record.lineno,
            "process": record.process,
        }
        if record.exc_info:
            record.exc_text = record.exc_text or self.formatException(record.exc_info)
            found["exc_text"] = record.exc_text
        return found

    def _more(self, record: logging.LogRecord) -> dict[str, Any]:
        found = {name: getattr(record, name, None) for name in self._config.additional_log_standard_attrs}
        found |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        return found | _writer() | {"timestamp_ns": int(record.created * 1e9)}


def _writer() -> dict[str, str]:
    """Says in which job, process, task and actor this is."""
    session = process.session
    if session is None:
        return {}
    found: dict[str, str | None] = {
        "job_id": session.job_id.hex(),
        "worker_id": session.worker_id.hex(),
        "node_id": session.node_id.hex(),
    }
    if session.role == WORKER:
        actor, task_id = here.actor, here.running.task_id
        if actor is not None:
            found |= {"actor_id": actor.id.hex(), "actor_name": actor.name}
        if task_id is not None:
            name = here.running.name
            found |= {"task_id": task_id.hex(), "task_name": name, "task_func_name": _function_name()}
    return {name: text for name, text in found.items() if text}


def _function_name() -> str | None:
    function = here.running.function
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}" if name else None


class _Handler(logging.Handler):
    """Writes to what is standard error at that moment: a worker changes it after its start."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def apply(config: LoggingConfig) -> None:
    """Makes the root logger of this process, and the runtime's own, write as the configuration says."""
    global _configured, _handler
    root, own = logging.getLogger(), logging.getLogger("eagleray")
    if _handler is not None:
        root.removeHandler(_handler)
    _configured, _handler = config, _Handler()
    _handler.setLevel(config.log_level)
    _handler.setFormatter(_Formatter(config))
    root.setLevel(config.log_level)
    root.addHandler(_handler)
    own.setLevel(config.log_level)
    for handler in own.handlers[:]:
        own.removeHandler(handler)
    own.addHandler(_handler)
    own.propagate = False


def forget() -> None:
    """Notes that the session has ended: workers of the next one do not get its configuration."""
    global _configured
    _configured = None


def to_variable() -> str | None:
    """Returns the configuration as workers get it in a variable; None if this process has none."""
    return json.dumps(_configured.to_dict()) if _configured is not None else None


def apply_variable(text: str) -> None:
    """Configures this process by the text of that variable."""
    apply(LoggingConfig.from_dict(json.loads(text)))
