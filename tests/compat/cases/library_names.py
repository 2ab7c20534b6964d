"""Names of Ray's Core that libraries use: what they do, also where Ray calls them private."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
from typing import Any

from casebook import attempt, case, gpu_case, own_session


def part(ray: Any, name: str) -> Any:
    return importlib.import_module(f"{ray.__name__}.{name}")


class Tabled:
    """The class of an actor."""

    def read(self) -> int:
        return 1


@case
def modes(ray: Any) -> None:
    worker = part(ray, "_private.worker")
    print(worker.global_worker.mode, worker.SCRIPT_MODE, worker.WORKER_MODE, ray.SCRIPT_MODE, ray.WORKER_MODE)
    name = f"{ray.__name__}._private.worker"

    @ray.remote
    def mode() -> Any:
        return importlib.import_module(name).global_worker.mode

    print(ray.get(mode.remote()))


@own_session
def before_and_after_a_session(ray: Any) -> None:
    worker = part(ray, "_private.worker").global_worker
    print(worker.mode, worker.connected, worker.node, hasattr(worker, "core_worker"))
    attempt("check", worker.check_connected)
    attempt("resources", part(ray, "_private.worker").get_resource_ids)
    attempt("timeline", ray.timeline)
    ray.init(num_cpus=1, log_to_driver=False)
    print(worker.mode, worker.connected, worker.node is not None, worker.check_connected())
    ray.shutdown()
    print(worker.connected, hasattr(worker, "core_worker"))


@case
def ids_of_the_driver(ray: Any) -> None:
    worker = part(ray, "_private.worker").global_worker
    context = ray.get_runtime_context()
    print(worker.current_job_id == context.job_id, type(worker.current_job_id).__name__)
    print(worker.current_node_id == context.node_id, worker.worker_id.hex() == context.get_worker_id())
    print(worker.actor_id.is_nil(), type(worker.actor_id).__name__, worker.namespace)
    print(worker.core_worker.get_current_job_id() == context.job_id, worker.placement_group_id.is_nil())


@case
def ids_in_an_actor(ray: Any) -> None:
    name = f"{ray.__name__}._private.worker"

    @ray.remote
    class Cell:
        def look(self) -> Any:
            worker = importlib.import_module(name).global_worker
            context = ray.get_runtime_context()
            return (
                worker.actor_id == context.actor_id,
                worker.current_task_id == context.task_id,
                worker.actor_name,
                worker.should_capture_child_tasks_in_placement_group,
            )

    print(ray.get(Cell.options(name="library names").remote().look.remote()))


@case
def the_node(ray: Any) -> None:
    node = part(ray, "_private.worker").global_worker.node
    print(part(ray, "_private.worker")._global_node is node)
    print(node.node_ip_address == ray.util.get_node_ip_address(), node.get_logs_dir_path().endswith("/logs"))
    print(os.path.dirname(node.get_logs_dir_path()) == node.get_session_dir_path())
    print(os.path.basename(node.get_session_dir_path()) == node.session_name, bool(node.address), node.head)


@gpu_case
def held_resources(ray: Any) -> None:
    name = f"{ray.__name__}._private.worker"

    def held() -> Any:
        return dict(sorted(importlib.import_module(name).get_resource_ids().items()))

    print(held())
    remote = ray.remote(held)
    print(ray.get(remote.remote()), ray.get(remote.options(num_cpus=0.5).remote()))
    for found in (ray.get(remote.options(num_gpus=0.5).remote()), ray.get(remote.options(num_gpus=2).remote())):
        print(found["CPU"], [share for _, share in found["GPU"]], len({device for device, _ in found["GPU"]}))


@case
def old_names(ray: Any) -> None:
    print(ray.worker.global_worker is part(ray, "_private.worker").global_worker)
    print(len(ray.state.nodes()) == len(ray.nodes()), next(iter(ray.state.total_resources_per_node().values()))["CPU"])
    print(repr(ray.ray_constants.REDIS_DEFAULT_PASSWORD), type(ray.logger).__name__, ray.ObjectID is ray.ObjectRef)
    print(part(ray, "_raylet").ObjectRef is ray.ObjectRef, part(ray, "_raylet").ActorID is ray.ActorID)


@case
def tables_of_actors(ray: Any) -> None:
    state = part(ray, "_private.state")
    actor = ray.remote(num_cpus=0)(Tabled).options(name="tabled").remote()
    ray.get(actor.read.remote())
    key = actor._actor_id.hex()
    row = state.actors(key)
    print(sorted(row))
    print(
        row["ActorID"] == key, row["ActorClassName"], row["Name"], row["State"], row["IsDetached"], row["NumRestarts"]
    )
    print(row["Address"]["NodeID"] == ray.get_runtime_context().get_node_id(), row["Pid"] > 0)
    print(key in state.actors(), key in state.actors(actor_state_name="DEAD"))
    print(key in state.actors(job_id=ray.get_runtime_context().job_id))


@case
def tables_of_jobs(ray: Any) -> None:
    state = part(ray, "_private.state")
    mine = ray.get_runtime_context().get_job_id()
    (row,) = [one for one in state.jobs() if one["JobID"] == mine]
    print(sorted(row))
    print(row["DriverPid"] == os.getpid(), row["IsDead"], row["EndTime"], row["StartTime"] > 10**12)


@case
def tables_of_placement_groups(ray: Any) -> None:
    state = part(ray, "_private.state").state
    group = ray.util.placement_group([{"CPU": 0.25}], name="tabled")
    ray.get(group.ready())
    row = state.placement_group_table(group.id)
    print(row["name"], row["state"], row["bundles"], row["strategy"], group.id.hex() in state.placement_group_table())
    print(state.placement_group_table(group.id) == ray.util.placement_group_table(group))
    ray.util.remove_placement_group(group)


@case
def lines_of_workers(ray: Any) -> None:
    worker = part(ray, "_private.worker")
    data = {"ip": "1.2.3.4", "localhost": "1.2.3.4", "pid": 12, "job": "01", "is_err": False, "lines": ["a", "b"]}
    given = [
        ({"actor_name": "Act", "task_name": None}, False),
        ({"actor_name": None, "task_name": "task"}, False),
        ({"actor_name": None, "task_name": None, "localhost": "5.6.7.8"}, False),
        ({"actor_name": "Act", "task_name": None}, True),
    ]
    for more, alone in given:
        out = io.StringIO()
        worker.print_worker_logs({**data, **more}, out, ignore_prefix=alone)
        print(repr(out.getvalue()))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        worker.print_to_stdstream({**data, **given[0][0], "lines": ["only once"]}, False)
    print(repr(out.getvalue()))


@case
def classes_with_coroutines(ray: Any) -> None:
    compat = part(ray, "_private.async_compat")

    class Plain:
        def run(self) -> None: ...

    class Coroutine:
        async def run(self) -> None: ...

    class Generator:
        async def run(self) -> Any:
            yield 1

    class Child(Coroutine): ...

    print([compat.has_async_methods(cls) for cls in (Plain, Coroutine, Generator, Child)])
    print(compat.is_async_func(Plain.run), compat.is_async_func(Coroutine.run))


@case
def without_ray_client(ray: Any) -> None:
    client = part(ray, "util.client")
    print(client.ray.is_connected(), client.num_connected_contexts())
    hook = part(ray, "_private.client_mode_hook")
    wrapped = hook.client_mode_wrap(lambda x: x + 1)
    print(wrapped(1), hook.client_mode_should_convert())
    with hook.disable_client_hook():
        print(ray.get(ray.put(1)))


@case
def spans_that_are_not_recorded(ray: Any) -> None:
    profiling = part(ray, "_private.profiling")
    with profiling.profile("mine", extra_data={"name": "shown"}):
        print("inside")
    with profiling.profile("mine"):
        print("inside again")


@case
def addresses_of_packages(ray: Any) -> None:
    packaging = part(ray, "_private.runtime_env.packaging")
    for uri in ("gcs://a.zip", "https://a.b/c.zip", "s3://x/y.tar.gz", "https://a.b/c-1.0-py3-none-any.whl"):
        print(uri, packaging.is_zip_uri(uri), packaging.is_whl_uri(uri))
    print(packaging.is_zip_uri("/a/b.zip"), part(ray, "_private.runtime_env.constants").RAY_JOB_CONFIG_JSON_ENV_VAR)


@case
def files_of_logs(ray: Any) -> None:
    module = part(ray, "_private.log_monitor")
    print(module.WORKER_LOG_PATTERN.match("/x/worker-abc-01000000-123.out").groups())
    print(module.RUNTIME_ENV_SETUP_PATTERN.match("/x/runtime_env_setup-01000000.log").groups())
    print(module.is_proc_alive(os.getpid()), module.is_proc_alive(2**22 + 1))

    class Publisher:
        def publish_logs(self, data: Any) -> None:
            print(sorted(data.items(), key=str))

    with tempfile.TemporaryDirectory() as folder:
        monitor = module.LogMonitor("1.2.3.4", folder, Publisher(), module.is_proc_alive)
        monitor.update_log_filenames()
        print(monitor.check_log_files_and_publish_updates())
        path = os.path.join(folder, f"worker-{'a' * 8}-01000000-{os.getpid()}.out")
        with open(path, "w", encoding="utf-8") as file:
            file.write(":job_id:01000000\nfirst\n:task_name:work\nsecond\nthird\n:actor_name:Act\nfourth\n")
        monitor.update_log_filenames()
        monitor.open_closed_files()
        for info in monitor.open_file_infos:
            info.worker_pid = 7
        print(monitor.check_log_files_and_publish_updates(), monitor.check_log_files_and_publish_updates())
        with open(path, "a", encoding="utf-8") as file:
            file.write("fifth\n")
        print(monitor.check_log_files_and_publish_updates())


@case
def timers(ray: Any) -> None:
    timer = part(ray, "util.timer")._Timer(window_size=2)
    print(timer.mean, timer.mean_throughput, timer.has_units_processed(), timer.count)
    for seconds, units in ((1.0, 10), (2.0, 20), (4.0, 60)):
        timer.push(seconds)
        timer.push_units_processed(units)
    print(timer.mean, timer.mean_units_processed, round(timer.mean_throughput, 3), timer.count)
    with timer:
        pass
    print(timer.count)


@case
def pickles_of_cloudpickle(ray: Any) -> None:
    cloudpickle = part(ray, "cloudpickle")
    twice = cloudpickle.loads(cloudpickle.dumps(lambda x: 2 * x))
    print(twice(4), ray.get(ray.remote(twice).remote(5)))
    ref = cloudpickle.loads(cloudpickle.dumps(ray.put("kept")))
    print(ray.get(ref))


@case
def modules_inside_functions(ray: Any) -> None:
    queue = part(ray, "util.queue")

    @ray.remote
    def use(module: Any) -> Any:
        return module.Queue is queue.Queue, ray.get(ray.put(1)), queue.Empty.__name__

    print(ray.get(use.remote(queue)))


@case
def ids_of_classes(ray: Any) -> None:
    for cls in (ray.ActorClassID, ray.FunctionID, ray.UniqueID, ray.NodeID, ray.WorkerID):
        found = cls.from_random()
        print(cls.__name__, cls.size(), cls.nil().is_nil(), cls(found.binary()) == found, issubclass(cls, ray.UniqueID))


@case
def names_for_annotations(ray: Any) -> None:
    types = part(ray, "types")
    print(types.ObjectRef.__name__, "ObjectRef" in str(types.ObjectRef[int]))


@case
def configurations_of_jobs(ray: Any) -> None:
    config = part(ray, "job_config").JobConfig
    found = config(ray_namespace="blue", metadata={"a": "b"}, runtime_env={"env_vars": {"A": "1"}})
    found.set_metadata("c", "d")
    found.set_ray_namespace("red")
    print(found.ray_namespace, found.metadata, found.runtime_env, found.jvm_options, found.code_search_path)
    again = config.from_json(
        {"ray_namespace": "green", "runtime_env": {"env_vars": {"B": "2"}}, "metadata": {"x": "y"}}
    )
    print(again.ray_namespace, again.runtime_env, again.metadata, again.py_logging_config)
    attempt("lifetime", lambda: config(default_actor_lifetime="long"))
    attempt("path", lambda: config(code_search_path="/a"))
    attempt("logging", lambda: found.ensure_logging_config(3))
    found.ensure_logging_config({"encoding": "JSON", "unknown": 1})
    print(found.py_logging_config)


@own_session
def a_job_with_a_configuration(ray: Any) -> None:
    config = part(ray, "job_config").JobConfig(ray_namespace="blue", runtime_env={"env_vars": {"COMPAT_TONE": "deep"}})
    ray.init(num_cpus=1, log_to_driver=False, job_config=config)
    print(ray.get_runtime_context().namespace, ray.get(ray.remote(lambda: os.environ["COMPAT_TONE"]).remote()))
    ray.shutdown()
    ray.init(num_cpus=1, log_to_driver=False, job_config=config, namespace="red")
    print(ray.get_runtime_context().namespace)


@case
def configurations_of_logging(ray: Any) -> None:
    config = ray.LoggingConfig
    print(config(), config(encoding="JSON", log_level="DEBUG", additional_log_standard_attrs=["name"]).to_dict())
    print(config.from_dict({"encoding": "JSON", "other": 1}), config() == config(encoding="TEXT"))
    attempt("encoding", lambda: config(encoding="XML"))
    attempt("attribute", lambda: config(additional_log_standard_attrs=["nothing"]))


@own_session
def lines_of_loggers(ray: Any) -> None:
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    level = root.level
    ray.init(num_cpus=1, log_to_driver=False, logging_config=ray.LoggingConfig(encoding="JSON"))
    added = [handler for handler in root.handlers if handler not in before]
    print(len(added), root.level == logging.INFO)

    @ray.remote
    def log() -> Any:
        import json

        (handler,) = [
            one for one in logging.getLogger().handlers if "JSON" in str(vars(one.formatter)) or one.formatter
        ]
        record = logging.LogRecord("mine", logging.INFO, "/a/b.py", 3, "said %s", ("so",), None)
        handler.filter(record)
        found = json.loads(handler.format(record))
        wanted = ("levelname", "message", "filename", "lineno", "task_name")
        return [found[name] for name in wanted], sorted(set(found) & {"job_id", "worker_id", "node_id", "task_id"})

    print(ray.get(log.remote()))
    for handler in added:
        root.removeHandler(handler)
    root.setLevel(level)
    sys.stderr.flush()


@case
def names_of_the_jobs_api(ray: Any) -> None:
    jobs = part(ray, "job_submission")
    sdk, common = part(ray, "dashboard.modules.job.sdk"), part(ray, "dashboard.modules.job.common")
    models = part(ray, "dashboard.modules.job.pydantic_models")
    print(sdk.JobSubmissionClient is jobs.JobSubmissionClient, sdk.JobStatus is jobs.JobStatus)
    print(common.JobStatus is jobs.JobStatus, common.JobInfo is jobs.JobInfo)
    print([getattr(models, name) is getattr(jobs, name) for name in ("JobDetails", "JobType", "DriverInfo")])
    addresses = part(ray, "dashboard.modules.dashboard_sdk")
    parse = addresses.parse_cluster_info
    print(addresses.DEFAULT_DASHBOARD_ADDRESS, parse("host:1"))
    print(parse("http://host:1", cookies={"a": "b"}, headers={"c": "d"}, metadata={"e": "f"}))
    print(parse("https://host"))
    for address in ("ray://host:1", "no_such_module_here://host"):
        attempt(address, lambda address=address: parse(address))


@case
def old_names_of_the_state_api_warn(ray: Any) -> None:
    import warnings

    for name in ("api", "common", "exception"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            module = f"{ray.__name__}.experimental.state.{name}"
            sys.modules.pop(module, None)
            importlib.import_module(module)
        print(name, sorted({one.category.__name__ for one in seen}))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        print(part(ray, "util.accelerators").NVIDIA_TESLA_A100, [one.category.__name__ for one in seen])


@case
def a_summary_of_memory_is_where_programs_import_it(ray: Any) -> None:
    summary = part(ray, "_private.internal_api").memory_summary
    kept = ray.put("one")
    here = part(ray, "_private.worker").global_worker.node.gcs_address
    print(kept.hex() in summary(here), "LOCAL_REFERENCE" in summary(here, line_wrap=False))
    gone = kept.hex()
    del kept
    print(gone in summary(here))
