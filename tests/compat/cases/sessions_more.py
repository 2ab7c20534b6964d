"""Sessions: what init takes and gives, what nodes and the state API tell, several nodes on one machine."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from casebook import DEFAULT_INIT, attempt, case, eventually, own_session


def module(ray: Any, name: str) -> Any:
    return import_module(f"{ray.__name__}.{name}")


@own_session
def shutdown_again_and_again(ray: Any) -> None:
    ray.shutdown()
    ray.init(**DEFAULT_INIT)
    ray.shutdown()
    ray.shutdown()
    print(ray.is_initialized())
    attempt("nodes", ray.nodes)
    attempt("cluster_resources", ray.cluster_resources)
    attempt("available_resources", ray.available_resources)


@own_session
def init_twice(ray: Any) -> None:
    ray.init(**DEFAULT_INIT)
    attempt("again", lambda: ray.init())
    attempt("ignored", lambda: type(ray.init(ignore_reinit_error=True)).__name__)
    try:
        ray.init()
    except RuntimeError as error:
        print("ignore_reinit_error=True" in str(error), "twice" in str(error))
    ray.shutdown()


@own_session
def what_init_refuses(ray: Any) -> None:
    def start(**options: Any) -> None:
        try:
            ray.init(log_to_driver=False, **{"num_cpus": 1, **options})
        finally:
            ray.shutdown()

    for label, options in {
        "cpus": {"num_cpus": -1},
        "gpus": {"num_gpus": -1},
        "resources": {"resources": {"CPU": 3}},
        "unknown": {"unknown_option": 1},
        "small store": {"object_store_memory": 1},
        "namespace": {"namespace": 5},
        "fraction": {"resources": {"a": 1.5}},
    }.items():
        attempt(label, lambda options=options: start(**options))


@own_session
def the_context_of_a_session(ray: Any) -> None:
    context = ray.init(**DEFAULT_INIT)
    print(
        type(context).__name__,
        isinstance(context.address_info, dict),
        context["node_id"] == context.address_info["node_id"],
    )
    print(
        sorted(
            set(context.address_info)
            & {
                "node_id",
                "session_dir",
                "object_store_address",
                "raylet_socket_name",
                "gcs_address",
                "address",
                "node_ip_address",
                "webui_url",
                "metrics_export_port",
            }
        )
    )
    print(os.path.isdir(context.address_info["session_dir"]), len(context.address_info["node_id"]))
    context.disconnect()
    print(ray.is_initialized())
    with ray.init(**DEFAULT_INIT):
        print(ray.is_initialized())
    print(ray.is_initialized())


@case
def fields_of_nodes(ray: Any) -> None:
    (node,) = ray.nodes()
    print(
        sorted(
            node.keys()
            & {
                "NodeID",
                "Alive",
                "NodeManagerAddress",
                "NodeManagerHostname",
                "NodeManagerPort",
                "ObjectManagerPort",
                "ObjectStoreSocketName",
                "RayletSocketName",
                "MetricsExportPort",
                "NodeName",
                "alive",
                "Resources",
                "Labels",
            }
        )
    )
    print(node["Alive"], node["Resources"]["CPU"], node["NodeID"] == ray.get_runtime_context().get_node_id())
    print(sorted(key.partition(":")[0] for key in node["Resources"]))
    print({type(value).__name__ for value in node["Resources"].values()})


@case
def resources_of_the_cluster(ray: Any) -> None:
    total = ray.cluster_resources()
    print(total["CPU"], sorted({name.partition(":")[0] for name in total}), {type(v).__name__ for v in total.values()})
    node = [name for name in total if name.startswith("node:")]
    print(len(node), {total[name] for name in node})
    print(eventually(lambda: ray.available_resources().get("CPU"), 4.0))


@own_session
def a_cluster_of_three(ray: Any) -> None:
    cluster = module(ray, "cluster_utils").Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=2, resources={"side": 1})
        cluster.add_node(num_cpus=1, resources={"other": 1})
        ray.init(address=cluster.address, log_to_driver=False)
        print(len(ray.nodes()), ray.cluster_resources()["CPU"], ray.cluster_resources()["side"])
        where = ray.remote(lambda: ray.get_runtime_context().get_node_id())
        here = ray.get_runtime_context().get_node_id()
        side, other = ray.get(
            [where.options(resources={"side": 1}).remote(), where.options(resources={"other": 1}).remote()]
        )
        print(len({here, side, other}))
        strategies = module(ray, "util.scheduling_strategies")
        soft = strategies.NodeAffinitySchedulingStrategy
        print(ray.get(where.options(scheduling_strategy=soft(side, soft=False)).remote()) == side)
        print(ray.get(where.options(scheduling_strategy=soft(other, soft=True)).remote()) == other)
        import numpy as np

        far = ray.remote(resources={"side": 0.1})(lambda: np.ones(500_000)).remote()
        print(ray.get(far).sum(), ray.get(ray.remote(resources={"other": 0.1})(lambda x: float(x.sum())).remote(far)))
    finally:
        ray.shutdown()
        cluster.shutdown()


@case
def the_context_inside(ray: Any) -> None:
    context = ray.get_runtime_context()

    @ray.remote
    def look() -> Any:
        inside = ray.get_runtime_context()
        return (
            inside.get_job_id(),
            inside.get_task_name(),
            inside.get_task_function_name().rpartition(".")[2],
            inside.get_actor_id(),
            inside.namespace,
        )

    job, name, function, actor, namespace = ray.get(look.remote())
    print(job == context.get_job_id(), name, function, actor, namespace)
    print(ray.get(look.options(name="other name").remote())[1:3])
    for label, call in {
        "task id": context.get_task_id,
        "actor id": context.get_actor_id,
        "actor name": context.get_actor_name,
        "task name": context.get_task_name,
        "resources": context.get_assigned_resources,
        "placement group": context.get_placement_group_id,
        "restarted": lambda: context.was_current_actor_reconstructed,
        "environment": lambda: context.runtime_env,
        "text": context.get_runtime_env_string,
        "current actor": lambda: context.current_actor,
        "cancelled": context.is_canceled,
        "function": context.get_task_function_name,
        "captures": lambda: context.should_capture_child_tasks_in_placement_group,
        "labels": lambda: type(context.get_node_labels()).__name__,
        "job id": lambda: len(context.get_job_id()),
        "node id": lambda: len(context.get_node_id()),
        "worker id": lambda: len(context.get_worker_id()),
    }.items():
        attempt(label, call)


@case
def the_context_of_a_method(ray: Any) -> None:
    @ray.remote
    class A:
        def look(self) -> Any:
            inside = ray.get_runtime_context()
            return (
                inside.get_actor_id() is not None,
                inside.get_actor_name(),
                inside.get_task_name(),
                inside.get_assigned_resources(),
                inside.was_current_actor_reconstructed,
                inside.get_task_function_name().rpartition(".")[2],
                type(inside.current_actor).__name__,
            )

    print(ray.get(A.remote().look.remote()))
    print(ray.get(A.options(name="context_of_a_method", num_cpus=1).remote().look.remote()))
