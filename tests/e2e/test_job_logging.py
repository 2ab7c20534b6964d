"""``LoggingConfig`` and ``JobConfig``: how the loggers of a job write, and what ``init`` takes from one object."""

from __future__ import annotations

import json
import os
from typing import Any

import eagleray as ray
import pytest
from eagleray.job_config import JobConfig

PROGRAM = """
    import logging
    import eagleray as ray

    ray.init(num_cpus=2, logging_config={config})

    @ray.remote
    def inner():
        logging.getLogger("own").info("inner", extra={{"more": 1}})
        import os
        assert "EAGLERAY_LOGGING_CONFIG" not in os.environ

    @ray.remote
    class Cell:
        def log(self):
            logging.getLogger("own").debug("not shown")
            try:
                raise ValueError("why")
            except ValueError:
                logging.exception("failed")
            ray.get(inner.remote())

    cell = Cell.options(name="cell").remote()
    ray.get(cell.log.remote())
    logging.info("driver")
    ray.shutdown()
"""


def lines(done: Any) -> list[str]:
    return [line for line in done.stderr.splitlines() if "{" in line or "--" in line]


def test_json_lines_say_who_wrote_them(script: Any) -> None:
    config = 'ray.LoggingConfig(encoding="JSON", additional_log_standard_attrs=["name"])'
    done = script(PROGRAM.format(config=config), env={**os.environ, "RAY_COLOR_PREFIX": "0"})
    found = {row["message"]: row for row in map(json.loads, lines(done))}  # nothing stands before or behind them
    assert set(found) == {"inner", "failed", "driver"}
    inner, failed, driver = found["inner"], found["failed"], found["driver"]
    assert (inner["name"], inner["more"], inner["task_name"]) == ("own", 1, "inner")
    assert inner["levelname"] == "INFO" and inner["filename"] == "program.py" and inner["task_id"]
    assert failed["actor_name"] == "cell" and failed["actor_id"] and "ValueError: why" in failed["exc_text"]
    assert "task_id" not in driver and driver["job_id"] == inner["job_id"] and driver["node_id"] == inner["node_id"]
    assert len({row["worker_id"] for row in found.values()}) == 3


def test_text_lines_end_with_the_ids(script: Any) -> None:
    done = script(PROGRAM.format(config='{"log_level": "WARNING"}'))
    (line,) = lines(done)
    assert " -- failed job_id=" in line or line.rstrip().endswith("-- failed")
    assert "timestamp_ns=" in done.stderr and "driver" not in done.stderr


def test_a_variable_chooses_the_encoding_and_a_configuration_comes_before_it(script: Any) -> None:
    source = """
        import logging
        import eagleray as ray

        @ray.remote
        def f():
            logging.getLogger("own").warning("logged")
            print("printed")

        for config in (None, ray.LoggingConfig(encoding="TEXT")):
            ray.init(num_cpus=1, logging_config=config)
            ray.get(f.remote())
            ray.shutdown()
    """
    done = script(source, env={**os.environ, "RAY_LOGGING_CONFIG_ENCODING": "JSON"})
    first, second = (line for line in done.stderr.splitlines() if "logged" in line)
    assert json.loads(first)["message"] == "logged" and " -- logged job_id=" in second
    assert done.stdout.splitlines() == ["printed", "printed"]
    wrong = script(source, env={**os.environ, "RAY_LOGGING_CONFIG_ENCODING": "XML"}, check=False)
    assert wrong.returncode and "XML" in wrong.stderr.splitlines()[-1]


def test_the_next_session_has_its_own_logging(script: Any) -> None:
    source = (
        PROGRAM.format(config='ray.LoggingConfig(encoding="JSON")')
        + """
    ray.init(num_cpus=1)
    @ray.remote
    def plain():
        return [type(handler).__name__ for handler in logging.getLogger().handlers]
    print(ray.get(plain.remote()))
"""
    )
    assert script(source).stdout.splitlines()[-1] == "[]"


def test_what_init_itself_is_given_counts_first(fresh: Any) -> None:
    config = JobConfig(ray_namespace="blue", runtime_env={"env_vars": {"HUE": "1"}})
    ray.init(num_cpus=1, job_config=config, log_to_driver=False)
    assert ray.get_runtime_context().namespace == "blue"
    assert ray.get(ray.remote(lambda: os.environ["HUE"]).remote()) == "1"
    ray.shutdown()
    ray.init(num_cpus=1, job_config=config, namespace="red", runtime_env={}, log_to_driver=False)
    assert ray.get_runtime_context().namespace == "red"
    assert ray.get(ray.remote(lambda: os.environ.get("HUE")).remote()) is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"code_search_path": ["/x"]}, "set PYTHONPATH"),
        ({"default_actor_lifetime": "detached"}, "lifetime='detached'"),
        ({"_disable_job_level_lineage_reconstruction": True}, "RAY_lineage_pinning_enabled=0"),
        ({"_client_job": True}, "no Ray Client"),
        ({"ray_namespace": ""}, "not a valid namespace"),
    ],
)
def test_what_is_not_supported_is_refused(given: dict[str, Any], text: str, fresh: Any) -> None:
    with pytest.raises(ValueError, match=text):
        ray.init(job_config=JobConfig(**given))
    assert not ray.is_initialized()


def test_wrong_types_are_refused(fresh: Any) -> None:
    with pytest.raises(TypeError, match="job_config must be a JobConfig"):
        ray.init(job_config={"ray_namespace": "x"})
    with pytest.raises(TypeError, match="logging_config must be a LoggingConfig or a dict"):
        ray.init(logging_config=3)
    with pytest.raises(ValueError, match="Unknown level"):
        ray.LoggingConfig(log_level="LOUD")
