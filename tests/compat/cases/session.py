"""Starting and ending a session: `init`, `shutdown`, automatic init, the context, and use after the end."""

from __future__ import annotations

import os
from typing import Any

from casebook import accepts, attempt, own_session

QUIET = {"log_to_driver": False}


@own_session
def declared_totals(ray: Any) -> None:
    ray.init(num_cpus=3, num_gpus=2, resources={"disk": 4}, object_store_memory=100 * 2**20, **QUIET)
    totals = ray.cluster_resources()
    for name in ("CPU", "GPU", "disk", "object_store_memory"):
        print(name, totals[name])
    print("memory is declared:", totals["memory"] > 2**20)
    print("a node resource for each address:", [name for name in totals if name == "node:__internal_head__"])
    ray.shutdown()


@own_session
def context_manager(ray: Any) -> None:
    with ray.init(num_cpus=1, **QUIET) as context:
        print("inside:", ray.is_initialized(), type(context).__name__)
        print(ray.get(ray.put("value")))
    print("after:", ray.is_initialized())


@own_session
def context_is_a_mapping(ray: Any) -> None:
    context = ray.init(num_cpus=1, **QUIET)
    nodes = ray.nodes()
    print("node_id:", context["node_id"] == nodes[0]["NodeID"], context.address_info["node_id"] == context["node_id"])
    print([key in context for key in ("address", "gcs_address", "session_dir", "node_ip_address")])
    print("dashboard url is a string:", isinstance(context.dashboard_url, str))
    context.disconnect()
    print("after disconnect:", ray.is_initialized())


@own_session
def automatic_init_by_task(ray: Any) -> None:
    print(ray.is_initialized())

    @ray.remote
    def double(x: int) -> int:
        return 2 * x

    print("decorating does not start:", ray.is_initialized())
    print(ray.get(double.remote(21)), ray.is_initialized())


@own_session
def automatic_init_by_put(ray: Any) -> None:
    ref = ray.put([1, 2])
    print(ray.is_initialized(), ray.get(ref))


@own_session
def automatic_init_by_actor(ray: Any) -> None:
    @ray.remote
    class Cell:
        def read(self) -> str:
            return "cell"

    print(ray.is_initialized())
    print(ray.get(Cell.remote().read.remote()), ray.is_initialized())


@own_session
def automatic_init_by_get_actor(ray: Any) -> None:
    attempt("get_actor", lambda: ray.get_actor("nobody"))
    print(ray.is_initialized())


@own_session
def no_automatic_init(ray: Any) -> None:
    attempt("nodes", ray.nodes)
    attempt("cluster_resources", ray.cluster_resources)
    attempt("available_resources", ray.available_resources)
    attempt("shutdown", ray.shutdown)
    print(ray.is_initialized())


@own_session
def twice(ray: Any) -> None:
    ray.init(num_cpus=1, **QUIET)
    accepts("second init", lambda: ray.init(num_cpus=2))
    accepts("ignored", lambda: ray.init(num_cpus=2, ignore_reinit_error=True))
    print(ray.cluster_resources()["CPU"])
    ray.shutdown()
    ray.shutdown()
    print(ray.is_initialized())


@own_session
def definitions_outlive_a_session(ray: Any) -> None:
    @ray.remote
    def square(x: int) -> int:
        return x * x

    @ray.remote
    class Sum:
        def __init__(self) -> None:
            self.total = 0

        def add(self, x: int) -> int:
            self.total += x
            return self.total

    for turn in range(2):
        ray.init(num_cpus=2, **QUIET)
        actor = Sum.remote()
        print(turn, ray.get(square.remote(7)), ray.get([actor.add.remote(1), actor.add.remote(2)]))
        ray.shutdown()


@own_session
def references_do_not_outlive_a_session(ray: Any) -> None:
    ray.init(num_cpus=1, **QUIET)
    ref = ray.put(1)
    ray.shutdown()
    ray.init(num_cpus=1, **QUIET)
    attempt("get", lambda: ray.get(ref, timeout=5))


@own_session
def handles_do_not_outlive_a_session(ray: Any) -> None:
    @ray.remote
    class Cell:
        def read(self) -> int:
            return 1

    ray.init(num_cpus=1, **QUIET)
    actor = Cell.remote()
    print(ray.get(actor.read.remote()))
    ray.shutdown()
    ray.init(num_cpus=1, **QUIET)
    attempt("call", lambda: ray.get(actor.read.remote(), timeout=10))


@own_session
def refused_arguments(ray: Any) -> None:
    accepts("unknown", lambda: ray.init(nothing=1))
    accepts("negative", lambda: ray.init(num_cpus=-1))
    accepts("text", lambda: ray.init(num_gpus="x"))
    accepts("fractional total", lambda: ray.init(resources={"disk": 1.5}))
    accepts("small store", lambda: ray.init(object_store_memory=10))
    print(ray.is_initialized())


@own_session
def namespaces(ray: Any) -> None:
    ray.init(num_cpus=1, namespace="blue", **QUIET)
    print(ray.get_runtime_context().namespace)
    ray.shutdown()
    ray.init(num_cpus=1, **QUIET)
    print("anonymous:", len(ray.get_runtime_context().namespace) >= 32)


@own_session
def address_local(ray: Any) -> None:
    ray.init(address="local", num_cpus=2, **QUIET)
    print(ray.cluster_resources()["CPU"], len(ray.nodes()))


@own_session
def environment_of_a_job(ray: Any) -> None:
    ray.init(num_cpus=1, runtime_env={"env_vars": {"COMPAT_COLOUR": "blue"}}, **QUIET)

    @ray.remote
    def colour() -> str | None:
        return os.environ.get("COMPAT_COLOUR")

    @ray.remote
    class Painter:
        def colour(self) -> str | None:
            return os.environ.get("COMPAT_COLOUR")

    print(ray.get(colour.remote()), ray.get(Painter.remote().colour.remote()), os.environ.get("COMPAT_COLOUR"))


@own_session
def environment_of_the_driver(ray: Any) -> None:
    os.environ["COMPAT_SHADE"] = "dark"
    ray.init(num_cpus=1, **QUIET)

    @ray.remote
    def shade() -> str | None:
        return os.environ.get("COMPAT_SHADE")

    print("set before init:", ray.get(shade.remote()))
    del os.environ["COMPAT_SHADE"]


@own_session
def nodes(ray: Any) -> None:
    ray.init(num_cpus=2, num_gpus=1, resources={"disk": 1}, **QUIET)
    (node,) = ray.nodes()
    print("Alive:", node["Alive"], "alive:", node.get("alive"))
    print({name: node["Resources"][name] for name in ("CPU", "GPU", "disk")})
    print("ids agree:", node["NodeID"] == ray.get_runtime_context().get_node_id(), len(node["NodeID"]))
    wanted = ("NodeManagerAddress", "NodeManagerHostname", "NodeManagerPort", "Labels", "NodeName")
    print([key for key in wanted if key in node])


@own_session
def many_rounds(ray: Any) -> None:
    for turn in range(3):
        with ray.init(num_cpus=1, **QUIET):
            print(turn, ray.get(ray.remote(lambda x: x + 1).remote(turn)))
