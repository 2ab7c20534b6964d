"""Keywords that ``init`` accepts for programs written for Ray, without an effect. A warning says so, once for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray._private import driver_log, suggestions
from eagleray._private.session import spilling

_DASHBOARD = "HTTP is served by the session itself"
_CGROUPS = "workers are not put into cgroups of their own"
_PORTS = "processes of a session talk through Unix sockets, not through ports"

#: Keyword → the value without a request, and why any other value has no effect.
_UNUSED: dict[str, tuple[Any, str]] = {
    "enable_resource_isolation": (False, _CGROUPS),
    "cgroup_path": (None, _CGROUPS),
    "system_reserved_cpu": (None, _CGROUPS),
    "system_reserved_memory": (None, _CGROUPS),
    "proxy_server_url": (None, _DASHBOARD),
    "_driver_object_store_memory": (None, "object_store_memory= is for all processes together"),
    "_enable_object_reconstruction": (None, "lost objects are computed again unless RAY_lineage_pinning_enabled is 0"),
    "_node_ip_address": (None, "a session has one machine, whose address is found out"),
    "_plasma_directory": (None, "objects lie in anonymous shared memory"),
    "_redis_password": (None, _PORTS),
    "_redis_username": (None, _PORTS),
    "_tracing_startup_hook": (None, "set EAGLERAY_TRACE and use `eagleray trace-report`"),
}
#: Private keywords that have an effect.
USED = (
    "_memory",
    "_metrics_export_port",
    "_node_name",
    "_object_spilling_directory",
    "_skip_env_hook",
    "_system_config",
    "_temp_dir",
)
#: Keywords that are not among the parameters of ``init``.
MORE = frozenset({*(name for name in _UNUSED if name.startswith("_")), *USED}) | {
    "enable_resource_isolation",
    "cgroup_path",
    "system_reserved_cpu",
    "system_reserved_memory",
    "proxy_server_url",
}
_said: set[str] = set()


def warn(given: Mapping[str, Any]) -> None:
    """Warns of arguments that ask for something that ``init`` does not do."""
    for name, (nothing, why) in _UNUSED.items():
        value = given.get(name)
        if value is not None and value != nothing and name not in _said:
            _said.add(name)
            driver_log.warning(f"init({name}=…) has no effect: {why}.")
    system = given.get("_system_config")
    for name in system if isinstance(system, dict) else ():
        if name not in spilling.SETTINGS and name not in _said:
            _said.add(name)
            near = suggestions.suggestion(str(name), spilling.SETTINGS)
            driver_log.warning(
                f"init(_system_config={{{name!r}: …}}) has no effect{near}: the settings that do something are "
                f"{', '.join(spilling.SETTINGS)}."
            )
