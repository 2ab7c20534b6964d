"""Parts of Ray that Eagle Ray does not have: the error at their import names the part and says what to do instead."""

from __future__ import annotations

import sys

from eagleray._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

#: The libraries of Ray's that run here once their files are installed → what they are.
LIBRARIES = {"air": "Ray AIR", "data": "Ray Data", "train": "Ray Train", "tune": "Ray Tune"}
_INSTALL = "its files are not installed here: run `eagleray ray-libs install` once, or set EAGLERAY_RAY_LIBS_AUTO=1"
#: Part of Ray, as its name below ``ray`` → what it is, and what to do without it.
_PARTS = {
    "ClientBuilder": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "Language": ("calls to Java and C++", "use ray.cross_language.go_function instead, or Ray itself"),
    "client": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "client_builder.ClientBuilder": (
        "Ray Client",
        "connect with ray.init(address=…) from a program on the same machine",
    ),
    "util.tpu": ("helpers for slices of TPUs", "ask for resources={'TPU': n} instead, or use Ray itself"),
    "util.pdb": ("the debugger", "run the function in the driver to debug it"),
    "util.ray_debugpy": ("the debugger", "run the function in the driver to debug it"),
    "cpp_function": ("calls to C++", "use ray.cross_language.go_function instead, or Ray itself"),
    "cross_language.cpp_actor_class": ("calls to C++", "write the actor in Go and use go_actor_class instead"),
    "cross_language.cpp_function": ("calls to C++", "write the function in Go and use go_function instead"),
    "cross_language.java_actor_class": ("calls to Java", "write the actor in Go and use go_actor_class instead"),
    "cross_language.java_function": ("calls to Java", "write the function in Go and use go_function instead"),
    "dag": ("compiled graphs", "pass references from task to task instead, or use Ray itself"),
    "dashboard": ("the dashboard", "use `eagleray status` and `eagleray list` instead"),
    "java_actor_class": ("calls to Java", "use ray.cross_language.go_actor_class instead, or Ray itself"),
    "java_function": ("calls to Java", "use ray.cross_language.go_function instead, or Ray itself"),
    "llm": ("Ray LLM", "run the engine in an actor, or use Ray itself"),
    "rllib": ("RLlib", "use Ray itself"),
    "serve": ("Ray Serve", "call a named actor behind a web server of your own, or use Ray itself"),
    "util.client.ray": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "util.client_connect": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "util.connect": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "util.disconnect": ("Ray Client", "connect with ray.init(address=…) from a program on the same machine"),
    "util.accelerators.tpu": ("helpers for slices of TPUs", "ask for resources={'TPU': n} instead, or use Ray itself"),
    "util.debugpy": ("the debugger", "run the function in the driver to debug it"),
    "util.horovod": ("Horovod on Ray", "run the workers as actors, or use Ray itself"),
    "util.lightgbm": ("LightGBM on Ray", "train in an actor, or use Ray itself"),
    "util.check_open_ports": ("a check of ports from outside", "ask your network's own tools which ports are open"),
    "util.rpdb": ("the debugger", "run the function in the driver to debug it"),
    "util.spark": ("Ray on Spark", "use Ray itself"),
    "util.tracing": ("tracing with OpenTelemetry", "set EAGLERAY_TRACE and use `eagleray trace-report` instead"),
    "util.xgboost": ("XGBoost on Ray", "train in an actor, or use Ray itself"),
    "widgets": ("widgets for notebooks", "print what is needed instead"),
    "workflow": ("workflows", "chain tasks by their references instead"),
}
_PARTS |= {name: (what, _INSTALL) for name, what in LIBRARIES.items()}
_PARTS |= {
    f"experimental.{name}": ("ray.experimental", "use the stable API instead, or use Ray itself")
    for name in (
        *("CommunicatorMetadata", "RDTManager", "TensorTransportManager", "TensorTransportMetadata"),
        *("deregister_nixl_memory", "register_nixl_memory_pool", "register_tensor_transport", "set_nixl_cuda_stream"),
        *("set_resource", "set_target_device_for_ref", "wait_tensor_freed", "rdt", "sandbox"),
        *("array", "channel", "collective", "dynamic_resources", "get_local_object_locations"),
        *("packaging", "shuffle"),
    )
}
_PARTS |= {
    f"autoscaler.{name}": ("the autoscaler", "add machines with `eagleray start --address` instead")
    for name in (
        *("batching_node_provider", "command_runner", "node_provider", "tags", "v2"),
        *("sdk.bootstrap_config", "sdk.configure_logging", "sdk.create_or_update_cluster", "sdk.fillout_defaults"),
        *("sdk.get_docker_host_mount_location", "sdk.get_head_node_ip", "sdk.get_worker_node_ips"),
        *("sdk.register_callback_handler", "sdk.rsync", "sdk.run_on_cluster", "sdk.teardown_cluster"),
    )
}


def is_library(name: str) -> bool:
    """Whether a name, as ``ray.data.dataset``, is one of a library of Ray's that can be installed."""
    return name.split(".")[1:2] in ([part] for part in LIBRARIES)


def error(name: str) -> ModuleNotFoundError | None:
    """The error for a name below ``eagleray`` or ``ray``, as ``ray.data.dataset``; None for what Ray does not have."""
    text = _sentence(name)
    return None if text is None else ModuleNotFoundError(text, name=name)


def attribute(module: str, name: str, frame: FrameType) -> Exception:
    """The error for an attribute that a module does not have.

    ``hasattr`` and ``getattr`` with a default take an attribute for absent only when the error is an AttributeError.
    A statement ``from module import name`` would drop the text of an AttributeError, so it gets a ModuleNotFoundError.

    Args:
        module: The module's name, as ``eagleray.util``.
        name: The attribute's name.
        frame: The frame that asked for the attribute.
    """
    if module.startswith("eagleray") and _uses_ray(frame):
        module = "ray" + module.removeprefix("eagleray")
    full = f"{module}.{name}"
    text = _sentence(full)
    if text is None:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return ModuleNotFoundError(text, name=full) if _imports(frame) else AttributeError(text)


def _sentence(name: str) -> str | None:
    top, _, part = name.partition(".")
    found = _PARTS.get(part)
    while found is None and part:
        part = part.rpartition(".")[0]
        found = _PARTS.get(part)
    if found is None:
        return None
    what, instead = found
    return f"Eagle Ray {__version__} has no {top}.{part} ({what}): {instead}."


def _imports(frame: FrameType) -> bool:
    """Whether the frame is at the second half of a statement ``from module import name``."""
    from opcode import EXTENDED_ARG, opmap

    code, at = frame.f_code.co_code, frame.f_lasti
    while 0 <= at < len(code) and code[at] == EXTENDED_ARG:  # up to Python 3.10 the frame is at the first of these
        at += 2
    return 0 <= at < len(code) and code[at] == opmap["IMPORT_FROM"]


def _uses_ray(frame: FrameType) -> bool:
    """Whether the frame's program says ``ray``: it is loaded, and the code does not say ``eagleray``."""
    alias, real = sys.modules.get("ray"), sys.modules["eagleray"]
    if alias is None or alias is real:
        return False
    if any(word.split(".")[0] == "eagleray" for word in frame.f_code.co_names):
        return False
    return not any(frame.f_globals.get(word) is real for word in ("ray", "eagleray"))
