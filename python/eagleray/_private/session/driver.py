"""``init``, ``shutdown`` and the session of a driver between them."""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eagleray._private import auto_init_hook, driver_log, suggestions
from eagleray._private.calls import environments
from eagleray._private.calls.core import load, refuse_in_fork
from eagleray._private.calls.labels import check_node
from eagleray._private.calls.resources import check_name_length
from eagleray._private.hot_error import HotError, explain
from eagleray._private.messages import pack, unpack
from eagleray._private.session import dashboard, heads, job_config, spilling, unused, variables
from eagleray._private.sizes import MOST_BYTES, parse_bytes
from eagleray._private.state import DRIVER, EnvBase, Session, process
from eagleray._version import API_VERSION
from eagleray.exceptions import RaySystemError

if TYPE_CHECKING:
    from eagleray._private.session.job_settings import Settings

_DRAIN_MS = 2_000
MIN_STORE_BYTES = 78_643_200

#: What libraries have ``init`` call when it has started or joined a session.
post_init_hooks: list[Callable[[], None]] = []

_lock = threading.RLock()
_daemon: Any = None
_registered = False
_told = False


class RayContext(Mapping[str, Any]):
    """The result of ``init``: facts about the session as a mapping. Leaving its ``with`` block ends the session."""

    def __init__(self, session: Session) -> None:
        own = os.environ.get("RAY_OVERRIDE_DASHBOARD_URL", "")
        self.dashboard_url = own.partition("://")[2] or own or dashboard.url(session.session_dir)
        self.python_version: str = ".".join(map(str, sys.version_info[:3]))
        self.ray_version = API_VERSION
        self.ray_commit = ""
        self.address_info: dict[str, Any] = {
            "node_ip_address": session.node_addr,
            "redis_address": None,
            "object_store_address": session.session_dir + "/d.sock",
            "raylet_socket_name": session.session_dir + "/d.sock",
            "webui_url": self.dashboard_url,
            "session_dir": session.session_dir,
            "metrics_export_port": session.metrics_port,
            "gcs_address": next(iter(heads.heads_of(session.session_dir)), session.session_dir),
            "address": session.session_dir,
            "dashboard_agent_listen_port": None,
            "node_id": session.node_id.hex(),
        }

    def __getitem__(self, key: str) -> Any:
        return self.address_info[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.address_info)

    def __len__(self) -> int:
        return len(self.address_info)

    def __enter__(self) -> RayContext:
        return self

    def __exit__(self, *exc: object) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        """Ends the session."""
        shutdown()

    def __repr__(self) -> str:
        names = ("dashboard_url", "python_version", "ray_version", "ray_commit")
        return f"RayContext({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def init(
    address: str | Sequence[str] | None = None,
    *,
    num_cpus: int | None = None,
    num_gpus: int | None = None,
    gpu_memory: str | int | list[str | int] | None = None,
    resources: dict[str, float] | None = None,
    labels: dict[str, str] | None = None,
    object_store_memory: float | None = None,
    local_mode: bool = False,
    ignore_reinit_error: bool = False,
    include_dashboard: bool | None = None,
    dashboard_host: str = "127.0.0.1",
    dashboard_port: int | None = None,
    job_config: Any = None,
    configure_logging: bool = True,
    logging_level: int | str = "info",
    logging_format: str | None = None,
    logging_config: Any = None,
    log_to_driver: bool | None = None,
    namespace: str | None = None,
    runtime_env: dict[str, Any] | None = None,
    infeasible: str | None = None,
    object_spilling_directory: str | None = None,
    **kwargs: Any,
) -> RayContext:
    """Starts a session.

    Without an address ``init`` joins the session that RAY_ADDRESS names, else the local cluster that ``eagleray start``
    left running. If there is neither, it starts a daemon of its own, which ends with this process.

    Args:
        address: "local" starts a daemon of this program's own, "auto" joins the running cluster, a path joins the
            session in that folder, and HOST:PORT of a head joins this machine's node of the cluster with that head.
            Several heads are a list, or a text with commas between them.
        num_cpus: Number of CPUs to declare; detected when None.
        num_gpus: Number of GPUs to declare, also on a machine without GPUs; detected when None.
        gpu_memory: Memory of every GPU, ``"16GiB"`` or bytes, or a list with one size for each; detected when None.
        resources: Further resources by name, in whole numbers.
        labels: Labels of the node.
        object_store_memory: Bytes for objects.
        local_mode: Not supported.
        ignore_reinit_error: Return the running session instead of raising.
        include_dashboard: True: a session of the program's own takes submitted jobs over HTTP. So does one whose
            dashboard_port is given. There are no pages.
        dashboard_host: Where it listens for that.
        dashboard_port: The port; 8265, or one above, when None.
        job_config: A ``JobConfig`` with namespace, runtime environment and logging; what is given to ``init`` itself
            counts before it.
        configure_logging: Whether ``init`` sets the level of the logger ``eagleray``.
        logging_level: The level of the logger ``eagleray``.
        logging_format: Format of the runtime's own messages.
        logging_config: A ``LoggingConfig``, or a dictionary of its fields: how the root loggers of driver and workers
            write.
        log_to_driver: Whether workers' output is shown here; yes when None.
        namespace: The namespace for names of actors; a new one when None.
        runtime_env: The environment of all tasks, as docs/runtime-env.md describes it: env_vars, working_dir,
            py_modules, pip, uv and others.
        infeasible: With "raise" (default) a task or actor that can never run fails; with "wait" it waits, as in Ray.
        object_spilling_directory: The folder for objects that the store has no room for; the session's when None.
        **kwargs: ``_memory`` (bytes); ``_node_name``, which ``nodes()`` shows; ``_metrics_export_port``, the port at
            127.0.0.1 where Prometheus reads metrics; ``_skip_env_hook``: True leaves out the function that the variable
            RAY_RUNTIME_ENV_HOOK names; ``_temp_dir``, the folder below which a session of the program's own lies, and
            which is made if it is missing; ``_system_config``, of which the settings of spilling are used. Ray's other
            private keywords have no effect, and a warning says so.

    Raises:
        RuntimeError: a session is running, or a keyword is unknown.
        ConnectionError: nothing runs at the address.
        ValueError, TypeError: an argument is wrong.
    """
    refuse_in_fork()
    if isinstance(address, (list, tuple)) and not address:
        raise ValueError("address is an empty list: name HOST:PORT of a head, or leave the address out")
    if isinstance(address, (list, tuple)) and all(isinstance(one, str) for one in address):
        address = ",".join(address)
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address must be a string, a list of them or None, got {address!r}")
    if runtime_env is not None and not isinstance(runtime_env, dict):
        raise TypeError(f"runtime_env must be a dictionary, got {runtime_env!r}")
    given = locals()
    unknown = [name for name in kwargs if name not in unused.MORE]
    if unknown:
        known = [name for name in (*given, *unused.MORE) if name not in ("kwargs", "local_mode")]
        raise RuntimeError(f"Unknown keyword argument(s): {suggestions.with_suggestions(unknown, known)}")
    if local_mode:
        raise ValueError(
            "local_mode is not supported: tasks always run in workers; print and logging reach the driver from there"
        )
    if namespace is not None and not isinstance(namespace, str):
        raise TypeError(f"namespace must be None or a string, got {type(namespace).__name__}")
    if namespace == "":
        raise ValueError('"" is not a valid namespace. Pass None to not specify a namespace.')
    settings = None
    if logging_config is None and "RAY_LOGGING_CONFIG_ENCODING" in os.environ:
        logging_config = {"encoding": os.environ["RAY_LOGGING_CONFIG_ENCODING"]}
    if job_config is not None or logging_config is not None:
        from eagleray._private.session import job_settings

        settings = job_settings.merged(job_config, namespace, runtime_env, logging_config)
        namespace, runtime_env = settings.namespace, settings.runtime_env
    config = _daemon_config(
        num_cpus, num_gpus, gpu_memory, resources, labels, object_store_memory, kwargs.get("_memory"), infeasible
    )
    config |= _node_name(kwargs.get("_node_name"))
    config |= _metrics_port(kwargs.get("_metrics_export_port"))
    served = dashboard.config(include_dashboard, dashboard_host, dashboard_port)
    directory = object_spilling_directory or kwargs.get("_object_spilling_directory")
    config |= spilling.config(directory, kwargs.get("_system_config"))
    with _lock:
        if process.session is not None:
            if ignore_reinit_error:
                return RayContext(process.session)
            raise RuntimeError(
                "Maybe you called init twice by accident? This error can be suppressed by passing in "
                "'ignore_reinit_error=True' or by calling 'shutdown()' prior to 'init()'."
            )
        show, skip_hook = log_to_driver is not False, bool(kwargs.get("_skip_env_hook"))
        root = _temp_dir(kwargs.get("_temp_dir"))
        session = _open(address, config, namespace, show, runtime_env, settings, served, skip_hook, root)
        if configure_logging and (settings is None or settings.logging is None):
            driver_log.configure(logging_level, logging_format)
        unused.warn({**given, **kwargs})
        _tell_of_variables()
        reports = sys.modules.get("eagleray._private.session.metric_reports")
        if reports is not None:  # the program has counted something before
            reports.reports.wake()
    for hook in list(post_init_hooks):
        hook()
    return RayContext(session)


def _tell_of_variables() -> None:
    """Warns once in a process of environment variables that were mistyped."""
    global _told
    if not _told and any(name.startswith(("EAGLERAY_", "RAY_")) for name in os.environ):
        _told = True
        for text in variables.unknown():
            driver_log.warning(text)


def _daemon_config(
    num_cpus: Any,
    num_gpus: Any,
    gpu_memory: Any,
    resources: Any,
    labels: Any,
    store: Any,
    memory: Any,
    infeasible: str | None,
) -> dict[str, Any]:
    """Returns the configuration of the session's own daemon. The daemon finds out values that are None."""
    for name, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus)):
        if value is not None and not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, got {type(value).__name__}: {value!r}")
    if resources is not None and not isinstance(resources, dict):
        raise TypeError(f"resources must be a dictionary of names and amounts, got {type(resources).__name__}")
    if "CPU" in (resources or {}) or "GPU" in (resources or {}):
        raise AssertionError("'CPU' and 'GPU' cannot be in resources: use num_cpus and num_gpus.")
    for name, value in {"num_cpus": num_cpus, "num_gpus": num_gpus, **(resources or {})}.items():
        if name in ("memory", "object_store_memory", "gpu_memory"):
            keyword = {"memory": "_memory"}.get(name, name)
            raise ValueError(f"{name!r} cannot be in resources: use the keyword {keyword!r}")
        if not isinstance(name, str) or not name:
            raise TypeError(f"the names in resources must be non-empty strings, got {name!r}")
        check_name_length("the name of a resource", name)
        if value is None:
            continue
        if not isinstance(value, (int, float)):
            raise TypeError(f"the amount of resource {name!r} must be a number, got {value!r}")
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"Resource quantities must be finite numbers. {name} is {value}.")
        if value < 0:
            raise ValueError(f"Resource quantities must be nonnegative. {name} is {value}.")
        if value != int(value):
            raise ValueError(f"Resource quantities must all be whole numbers. {name} is {value}.")
    _check_labels(labels)
    store = _bytes_of("object_store_memory", store)
    memory = _bytes_of("_memory", memory)
    if store is not None and store < MIN_STORE_BYTES:
        raise ValueError(f"object_store_memory must be at least {MIN_STORE_BYTES} bytes, got {store!r}")
    if infeasible not in (None, "raise", "wait"):
        raise ValueError(f"infeasible takes 'raise' or 'wait', got {infeasible!r}")
    found = {
        "num_cpus": num_cpus,
        "num_gpus": num_gpus,
        "gpu_memory": _sizes(gpu_memory),
        "resources": resources,
        "labels": labels,
        "object_store_memory": store,
        "memory": memory,
        "infeasible": infeasible or os.environ.get("EAGLERAY_INFEASIBLE") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _node_name(name: Any) -> dict[str, str]:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"_node_name must be a string, got {type(name).__name__}: {name!r}")
    return {"node_name": name} if name else {}


def _metrics_port(port: Any) -> dict[str, int]:
    if port is None:
        return {}
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"_metrics_export_port must be a number, got {type(port).__name__}: {port!r}")
    if not 0 < port < 65536:
        raise ValueError(f"_metrics_export_port must be from 1 to 65535, got {port}")
    return {"metrics_port": port}


def _check_labels(labels: Any) -> None:
    if labels is not None and not isinstance(labels, Mapping):
        raise TypeError(f"labels must be a dictionary of names and texts, got {type(labels).__name__}")
    for name, value in (labels or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"labels must map strings to strings, got {name!r}: {value!r}")
        check_name_length("a label of the node", f"{name}={value}")
    check_node(labels or {})


def _bytes_of(name: str, value: Any) -> int | None:
    """Returns the bytes that a keyword of ``init`` states. Floats like 2e9 are allowed, as under Ray."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{name} must be a number of bytes, got {value!r}")
    if not 0 <= value <= MOST_BYTES:
        raise ValueError(f"{name} must be from 0 to {MOST_BYTES} bytes (100 TB), got {value!r}")
    return int(value)


def _sizes(gpu_memory: Any) -> list[int] | None:
    if gpu_memory is None:
        return None
    if not isinstance(gpu_memory, (list, tuple)):
        return [parse_bytes("gpu_memory", gpu_memory)]
    if not gpu_memory:
        raise ValueError("gpu_memory is an empty list: give one size for all GPUs, or one for each")
    return [parse_bytes(f"gpu_memory[{index}]", value) for index, value in enumerate(gpu_memory)]


def _temp_dir(given: Any) -> str | None:
    if given is not None and not isinstance(given, str):
        raise TypeError(f"_temp_dir must be the path of a folder, got {given!r}")
    return given or None


def _open(
    address: str | None,
    config: dict[str, Any],
    namespace: str | None,
    show_output: bool,
    runtime_env: Mapping[str, Any] | None,
    settings: Settings | None = None,
    served: Mapping[str, Any] | None = None,
    skip_hook: bool = False,
    root: str | None = None,
) -> Session:
    global _daemon, _registered
    from eagleray._private.session import node

    folder = node.resolve(address)
    if folder is None:
        config = {**config, **(served or {})}
    if folder is not None and config:
        given = ", ".join(name for name in config)
        raise ValueError(
            f"When connecting to a running cluster, {given} must not be provided: they were set when it was started. "
            "(Pass address='local' to start a session of one's own.)"
        )
    if os.environ.get("RAY_RUNTIME_ENV_HOOK") and not skip_hook:
        from eagleray._private.environments import program_hook

        runtime_env = program_hook.applied(runtime_env)
    environments.check_runtime_env(runtime_env)
    environments.check_inherited(os.environ)
    before = None
    if folder is not None and job_config.VARIABLE in os.environ:
        before = job_config.inherited()
        if before is not None:
            job_config.join(before, runtime_env or {})
    started = node.Daemon.start(config, root) if folder is None else None
    if started is None and root is not None:
        driver_log.warning(f"init(_temp_dir={root!r}) has no effect: this session was started before, in {folder}.")
    hot = None
    try:
        # These run while the daemon starts.
        if settings is not None:
            settings.begin()
        env = environments.driver_base(runtime_env, before)
        hot = load()
        if started is not None:
            started.await_ready()
            folder = started.folder
        answer = _connect(hot, os.path.join(folder or "", "d.sock"), env, namespace, show_output)
        session = Session(DRIVER, hot, answer, env)
        session.metrics_port = config.get("metrics_port")
        _daemon = started
        process.enter(session)
    except BaseException:  # a Ctrl-C may come at any point
        _daemon = None
        process.leave()
        if hot is not None and hot.connected():
            hot.disconnect(0)
        if started is not None:
            started.stop()
        if settings is not None:
            settings.end()
        raise
    if not _registered:
        _registered = True
        atexit.register(_at_exit, os.getpid())
    from eagleray._private.session import printing

    bare = settings is not None and settings.logging is not None
    session.on_close.append(printing.start(hot, bare))
    if settings is not None:
        session.on_close.append(settings.end)
    if before is not None:
        job_config.note_driver(session, before)
    return session


def _connect(hot: Any, sock: str, env: EnvBase, namespace: str | None, show_output: bool) -> dict[str, Any]:
    hello = {
        "sock": sock,
        "role": DRIVER,
        "token": "",
        "vars": environments.settings(),
        "job": {
            "namespace": namespace or os.environ.get("RAY_NAMESPACE") or "",
            "entrypoint": " ".join(sys.argv),
            "log_to_driver": show_output,
        },
        "env": {**env.spec, "key": env.key},
    }
    try:
        answer: dict[str, Any] = unpack(hot.connect(pack(hello)))
        return answer
    except HotError as error:
        raise explain(error) from None


def auto_init() -> Session:
    """Starts the default session for a program that uses the API without ``init``.

    Raises:
        RaySystemError: the program has forbidden that, see ``auto_init_hook``.
    """
    if not auto_init_hook.enable_auto_connect:
        raise RaySystemError(
            "Ray has not been started yet, and RAY_ENABLE_AUTO_CONNECT=0 or auto_init_hook.enable_auto_connect keep "
            "calls from starting it: call init() first"
        )
    with _lock:
        if process.session is None:
            init()
        assert process.session is not None
        return process.session


def shutdown(*, wait_for_processes: bool = False, _exiting_interpreter: bool = False) -> None:
    """Ends the session: tasks and actors of this program end, and a daemon of its own. Does nothing without one."""
    global _daemon
    with _lock:
        session = process.session
        if session is None:
            return
        if session.role != DRIVER:
            raise RuntimeError("shutdown() cannot be called inside a task or actor: the session is the driver's")
        reports = sys.modules.get("eagleray._private.session.metric_reports")
        if reports is not None:
            reports.reports.flush()
        process.leave()
        session.pinned.clear()
        started, _daemon = _daemon, None
        try:
            session.hot.disconnect(_DRAIN_MS)
        except HotError:
            pass  # the daemon has gone already
        finally:
            for close in session.on_close:
                close()
            if started is not None:
                started.stop(exiting=_exiting_interpreter)


def is_initialized() -> bool:
    """Reports whether a session is running."""
    return process.session is not None


def _at_exit(pid: int) -> None:
    if os.getpid() == pid and process.session is not None and process.session.role == DRIVER:
        shutdown(_exiting_interpreter=True)
