"""Submitted jobs, with this package's client."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import wheels
from eagleray.job_submission import (
    JobDetails,
    JobErrorType,
    JobStatus,
    JobSubmissionClient,
    JobType,
)
from job_cluster import JobCluster, ended, gone, wait

pytestmark = pytest.mark.timeout(300)

PROGRAM = """
    import os, sys
    import eagleray as ray
    import helper
    ray.init()

    @ray.remote
    def task():
        import helper
        return helper.VALUE, os.environ["KEY"], os.path.basename(os.getcwd())

    @ray.remote(resources={"b": 0.5})
    def on_the_second_node():
        import helper
        return helper.VALUE, os.environ["KEY"]

    assert ray.get(task.remote())[:2] == (5, "text"), ray.get(task.remote())
    assert ray.get(on_the_second_node.remote()) == (5, "text")
    assert ray.get_runtime_context().runtime_env["env_vars"] == {"KEY": "text"}
    print("arguments", sys.argv[1:], "on", ray.get_runtime_context().get_node_id())
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[JobCluster]:
    with JobCluster() as made:
        yield made


@pytest.fixture
def client(cluster: JobCluster) -> JobSubmissionClient:
    return cluster.client()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "main.py").write_text(textwrap.dedent(PROGRAM))
    (made / "helper.py").write_text("VALUE = 5\n")
    (made / ".gitignore").write_text("secret.txt\n")
    (made / "secret.txt").write_text("secret\n")
    (made / "run.sh").write_text('#!/bin/sh\nexec python main.py "$@"\n')
    (made / "run.sh").chmod(0o755)
    return made


MADE = """
    import os, tiny_thing
    import eagleray as ray
    from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    ray.init()

    def seen():
        import tiny_thing
        return tiny_thing.VERSION, tiny_thing.__file__, os.environ.get("MARKED")

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    tasks = [ray.remote(scheduling_strategy=here)(seen), ray.remote(resources={"b": 0.5})(seen)]
    print("seen", *sum(ray.get([task.remote() for task in tasks]), ()))
"""


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_tasks_of_a_job_have_its_packages_and_hook_on_each_node(
    cluster: JobCluster, client: JobSubmissionClient, tmp_path: Path, tool: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text(textwrap.dedent(MADE))
    (project / "hooks.py").write_text("import os\n\n\ndef mark():\n    os.environ['MARKED'] = 'yes'\n")
    environment = {
        **wheels.offline(wheels.make_all(tmp_path / "wheels"), "tiny_thing==1.0", tool=tool),
        "working_dir": str(project),
        "worker_process_setup_hook": "hooks.mark",
    }
    job = ended(
        client,
        client.submit_job(
            entrypoint="python main.py", runtime_env=environment, entrypoint_resources={"node:__internal_head__": 0.5}
        ),
    )
    assert job.status == JobStatus.SUCCEEDED, job.message
    (line,) = re.findall(r"(?m)^seen (.*)$", client.get_job_logs(str(job.submission_id)))
    print(line)
    first, second = line.split()[:3], line.split()[3:]
    for node, (version, file, marked) in enumerate((first, second), 1):
        assert (version, marked) == ("1.0", "yes")
        assert file.startswith(f"{cluster.session(node)}/"), "each node makes the environment for itself"


async def _all(client: JobSubmissionClient, name: str) -> list[str]:
    return [piece async for piece in client.tail_job_logs(name)]


def test_a_program_runs_in_its_folder_on_the_head_and_on_another_node(
    client: JobSubmissionClient, folder: Path
) -> None:
    environment = {"working_dir": str(folder), "env_vars": {"KEY": "text"}}
    one = client.submit_job(entrypoint="ls; ./run.sh a 'b c'", runtime_env=environment, metadata={"team": "x"})
    two = client.submit_job(
        entrypoint="python main.py", runtime_env=environment, entrypoint_resources={"b": 0.5}, submission_id="on-two"
    )
    assert two == "on-two"
    first, second = ended(client, one), ended(client, two)
    for job in (first, second):
        assert (job.status, job.driver_exit_code) == (JobStatus.SUCCEEDED, 0), job.message
        assert job.type is JobType.SUBMISSION and job.driver_info is not None and job.driver_info.id == job.job_id
        assert job.start_time is not None and job.end_time is not None and job.start_time <= job.end_time
    assert first.metadata == {"team": "x"} and first.runtime_env is not None
    assert first.driver_node_id != second.driver_node_id
    text = client.get_job_logs(one)
    assert text.splitlines()[:3] == ["helper.py", "main.py", "run.sh"]
    assert f"arguments ['a', 'b c'] on {first.driver_node_id}" in text
    assert f"arguments [] on {second.driver_node_id}" in client.get_job_logs(two)  # it is read on the other node
    assert "".join(asyncio.run(_all(client, two))) == client.get_job_logs(two)
    known = {job.submission_id: job for job in client.list_jobs()}
    assert known[one] == first and known[two] == second
    assert first.job_id is not None and client.get_job_info(first.job_id) == first


def test_output_comes_while_the_job_runs(client: JobSubmissionClient) -> None:
    name = client.submit_job(entrypoint="echo begun: é; read line < /dev/null; exec sleep 600")

    async def first() -> str:
        async for piece in client.tail_job_logs(name):
            return piece
        return ""

    assert asyncio.run(first()) == "begun: é\n"
    assert client.get_job_status(name) is JobStatus.RUNNING
    assert client.stop_job(name)
    assert ended(client, name).status is JobStatus.STOPPED
    assert "".join(asyncio.run(_all(client, name))) == "begun: é\n"


def test_how_a_job_fails_is_told(client: JobSubmissionClient) -> None:
    job = ended(client, client.submit_job(entrypoint="echo some words; exit 7"))
    assert (job.status, job.driver_exit_code) == (JobStatus.FAILED, 7)
    assert job.error_type == JobErrorType.JOB_ENTRYPOINT_COMMAND_ERROR.value
    assert "failed with exit code 7" in str(job.message) and "some words" in str(job.message)
    job = ended(client, client.submit_job(entrypoint="kill -9 $$"))
    assert (job.status, job.driver_exit_code) == (JobStatus.FAILED, -9) and "SIGKILL" in str(job.message)
    job = ended(client, client.submit_job(entrypoint="no-such-command-here"))
    assert (job.status, job.driver_exit_code) == (JobStatus.FAILED, 127)
    job = ended(client, client.submit_job(entrypoint="true", entrypoint_resources={"nowhere": 1}))
    assert (job.status, job.error_type) == (JobStatus.FAILED, "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE")
    assert "nowhere" in str(job.message) and job.driver_exit_code is None


def test_nothing_of_a_job_lives_on(client: JobSubmissionClient, tmp_path: Path) -> None:
    """Neither a process that left the group of its job, nor one that takes no notice of SIGTERM."""
    here = tmp_path / "pids"
    leaves = f"setsid sh -c 'trap \"\" TERM; echo $$ >> {here}; while :; do sleep 600; done' &"
    name = client.submit_job(
        entrypoint=f"{leaves} trap '' TERM; echo $$ >> {here}; while :; do sleep 600; done",
        runtime_env={"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "0.2"}},
    )
    wait(lambda: here.exists() and len(here.read_text().split()) == 2, "the processes of the job")
    wait(lambda: client.get_job_status(name) == JobStatus.RUNNING, "the record of the job says that it runs")
    assert client.stop_job(name)
    job = ended(client, name)
    assert (job.status, job.driver_exit_code) == (JobStatus.STOPPED, -9)
    assert all(gone(int(pid)) for pid in here.read_text().split())
    assert client.stop_job(name) is False

    here.unlink()
    name = client.submit_job(
        entrypoint=f"{leaves} while [ ! -e {here} ]; do sleep 0.02; done; exit 0",
        runtime_env={"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": "0.2"}},
    )
    assert ended(client, name).status is JobStatus.SUCCEEDED
    assert all(gone(int(pid)) for pid in here.read_text().split())


def test_a_job_that_waits_is_stopped(client: JobSubmissionClient) -> None:
    first = client.submit_job(entrypoint="sleep 600", entrypoint_resources={"b": 1})
    wait(lambda: client.get_job_status(first) is JobStatus.RUNNING, "the first job")
    second = client.submit_job(entrypoint="true", entrypoint_resources={"b": 1})
    job = client.get_job_info(second)
    assert job.status is JobStatus.PENDING and "resources" in str(job.message)
    assert client.get_job_logs(second) == ""
    assert client.stop_job(second) and ended(client, second).status is JobStatus.STOPPED
    assert client.stop_job(first) and ended(client, first).status is JobStatus.STOPPED


def test_a_job_that_does_not_start_in_time_fails(client: JobSubmissionClient) -> None:
    first = client.submit_job(entrypoint="sleep 600", entrypoint_resources={"b": 1})
    wait(lambda: client.get_job_status(first) is JobStatus.RUNNING, "the first job")
    job = ended(
        client,
        client.submit_job(
            entrypoint="true",
            entrypoint_resources={"b": 1},
            runtime_env={"env_vars": {"RAY_JOB_START_TIMEOUT_SECONDS": "0.2"}},
        ),
    )
    assert (job.status, job.error_type) == (JobStatus.FAILED, "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"), job.message
    client.stop_job(first)
    ended(client, first)


def test_names_are_used_once_and_records_can_be_deleted(client: JobSubmissionClient) -> None:
    name = client.submit_job(entrypoint="sleep 600", submission_id="one-of-a-kind")
    with pytest.raises(RuntimeError, match=r"500.*Please use a different submission_id"):
        client.submit_job(entrypoint="true", submission_id="one-of-a-kind")
    with pytest.raises(RuntimeError, match="only a job that has ended"):
        client.delete_job(name)
    client.stop_job(name)
    ended(client, name)
    assert client.delete_job(name) is True
    for ask in (client.get_job_info, client.get_job_logs, client.stop_job, client.delete_job):
        with pytest.raises(RuntimeError, match=r"404.*one-of-a-kind does not exist"):
            ask(name)
    with pytest.raises(RuntimeError, match="does not exist"):
        asyncio.run(_all(client, name))


def test_a_program_that_was_not_submitted_is_listed(cluster: JobCluster, client: JobSubmissionClient) -> None:
    program = cluster.first.popen("import eagleray as ray; ray.init(address='auto'); print('up'); input()")
    assert program.stdout is not None and program.stdin is not None
    assert program.stdout.readline() == "up\n"
    rows = [job for job in client.list_jobs() if job.type is JobType.DRIVER and job.status is JobStatus.RUNNING]
    assert len(rows) == 1 and rows[0].submission_id is None and rows[0].driver_info is not None
    assert rows[0].driver_info.pid == str(program.pid) and rows[0].job_id is not None
    assert client.get_job_info(rows[0].job_id).job_id == rows[0].job_id
    with pytest.raises(RuntimeError, match=r"400.*was not submitted"):
        client.stop_job(rows[0].job_id)
    program.communicate("\n", timeout=60)


def test_a_program_sees_submitted_jobs_and_their_logs_in_the_state_api(
    cluster: JobCluster, client: JobSubmissionClient
) -> None:
    entrypoint = """python -c "import eagleray; eagleray.init(); print('from the job')" """
    one = client.submit_job(entrypoint=entrypoint, submission_id="seen", entrypoint_resources={"b": 0.5})
    job = ended(client, one)
    assert job.status is JobStatus.SUCCEEDED, job.message
    source = """
        import dataclasses, json
        import eagleray as ray
        from eagleray.util import state
        ray.init(address="auto")
        rows = [dataclasses.asdict(row) for row in state.list_jobs(detail=True)]
        own = ray.get_runtime_context().get_job_id()
        print(json.dumps([rows, own, "".join(state.get_log(submission_id="seen"))]))
    """
    program = cluster.first.popen(textwrap.dedent(source))
    printed, _ = program.communicate(timeout=60)
    rows, own, log = json.loads(printed.splitlines()[-1])
    (seen,) = [row for row in rows if row["submission_id"] == "seen"]
    assert (seen["type"], seen["status"], seen["entrypoint"]) == ("SUBMISSION", "SUCCEEDED", entrypoint)
    assert job.driver_info is not None and seen["driver_info"]["pid"] == job.driver_info.pid
    assert seen["job_id"] == job.job_id and [row["job_id"] for row in rows].count(job.job_id) == 1
    assert (seen["driver_exit_code"], seen["driver_node_id"]) == (0, job.driver_node_id)
    (driver,) = [row for row in rows if row["job_id"] == own]
    assert (driver["type"], driver["submission_id"], driver["status"]) == ("DRIVER", None, "RUNNING")
    assert log == "from the job\n"


def test_init_adds_to_the_environment_of_the_submission_and_changes_nothing(client: JobSubmissionClient) -> None:
    source = "import eagleray as ray; ray.init(runtime_env={'env_vars': {%r: '2'}}); import os; "
    source += "print(ray.get(ray.remote(lambda: (os.environ['A'], os.environ.get('B'))).remote()))"
    environment = {"env_vars": {"A": "1"}}
    names = {}
    for key, more in (("B", {}), ("A", {}), ("override", {"RAY_OVERRIDE_JOB_RUNTIME_ENV": "1"})):
        variable = "A" if key == "override" else key
        names[key] = client.submit_job(
            entrypoint=f'python -c "{source % variable}"', runtime_env={"env_vars": {**environment["env_vars"], **more}}
        )
    assert ended(client, names["B"]).status is JobStatus.SUCCEEDED
    assert "('1', '2')" in client.get_job_logs(names["B"])
    assert ended(client, names["A"]).status is JobStatus.FAILED
    assert "env_vars['A']" in client.get_job_logs(names["A"])
    assert ended(client, names["override"]).status is JobStatus.SUCCEEDED
    assert "('2', None)" in client.get_job_logs(names["override"])


def test_what_cannot_be_submitted_is_refused(client: JobSubmissionClient, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"entrypoint": ""}, "entrypoint must be a shell command"),
        ({"entrypoint": "x" * 100_001}, "more than 100000 bytes"),
        ({"entrypoint": "true", "submission_id": "a/b"}, "submission_id"),
        ({"entrypoint": "true", "metadata": {"a": 1}}, "metadata must map strings to strings"),
        ({"entrypoint": "true", "entrypoint_num_cpus": -1}, "entrypoint_num_cpus must be a number of at least 0"),
        ({"entrypoint": "true", "entrypoint_num_gpus": "1"}, "entrypoint_num_gpus"),
        ({"entrypoint": "true", "entrypoint_resources": {"b": "much"}}, "entrypoint_resources"),
        ({"entrypoint": "true", "entrypoint_label_selector": {"a": 1}}, "entrypoint_label_selector"),
        ({"entrypoint": "true", "runtime_env": {"no_such_field": 1}}, "no_such_field"),
        ({"entrypoint": "true", "runtime_env": {"working_dir": "gcs://_ray_pkg_0.zip"}}, "upload it first"),
    ]
    before = len(client.list_jobs())
    for fields, said in wrong:
        with pytest.raises(RuntimeError, match=f"status code 400: .*{said}"):
            client.submit_job(**fields)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="does not exist on this machine"):
        client.submit_job(entrypoint="true", runtime_env={"working_dir": str(tmp_path / "none")})
    for env in ({"working_dir": "s3://bucket/no_archive"}, {"py_modules": ["ftp://host/code.zip"]}):
        with pytest.raises(ValueError, match=r"must end with one of|do not download from"):
            client.submit_job(entrypoint="true", runtime_env=env)
    with pytest.raises(TypeError, match="runtime_env must be a dict"):
        client.submit_job(entrypoint="true", runtime_env="x")  # type: ignore[arg-type]
    assert len(client.list_jobs()) == before


def test_clients_are_refused_with_a_wrong_address_or_token(
    cluster: JobCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eagleray.exceptions import AuthenticationError

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("EAGLERAY_TMPDIR", str(cluster.first.folder))
    assert JobSubmissionClient(cluster.url + "/").get_address() == cluster.url  # the token is found
    assert JobSubmissionClient().get_address() == cluster.url
    assert JobSubmissionClient("auto").get_address() == cluster.url
    assert JobSubmissionClient(cluster.address).get_address() == cluster.url
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.setenv(name, cluster.url)
        assert JobSubmissionClient("http://127.0.0.1:1").get_address() == cluster.url
        monkeypatch.delenv(name)
    behind = JobSubmissionClient(cluster.url, headers={"Authorization": "Basic of a proxy"})
    assert behind.get_version() == JobSubmissionClient(cluster.url).get_version()
    with pytest.raises(AuthenticationError, match=r"not the cluster's token.*RAY_AUTH_TOKEN"):
        JobSubmissionClient(cluster.url, headers={"Authorization": "Bearer " + "0" * 64})
    monkeypatch.setenv("EAGLERAY_TOKEN_FILE", "/no/such/file")
    with pytest.raises(AuthenticationError, match="EAGLERAY_TOKEN_FILE"):
        JobSubmissionClient(cluster.url)
    with pytest.raises(ValueError, match="no Ray Client"):
        JobSubmissionClient("ray://127.0.0.1:10001")
    with pytest.raises(ValueError, match="http://HOST:PORT"):
        JobSubmissionClient("ftp://x", headers={"Authorization": "Bearer x"})
    with pytest.raises(ConnectionError, match="does not answer"):
        JobSubmissionClient("http://127.0.0.1:1", headers={"Authorization": "Bearer x"})
    with pytest.raises(FileNotFoundError, match="/no/such/authority"):
        JobSubmissionClient("https://127.0.0.1:1", headers={"Authorization": "x"}, verify="/no/such/authority")
    with pytest.raises(TypeError, match="headers must be a dict"):
        JobSubmissionClient(cluster.url, headers="x")  # type: ignore[arg-type]


def test_jobs_go_on_when_the_head_and_the_server_are_killed(
    cluster: JobCluster, client: JobSubmissionClient, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    names = [
        client.submit_job(
            entrypoint=f"while [ ! -e {gate} ]; do sleep 0.05; done; echo done", entrypoint_resources=need
        )
        for need in ({}, {"b": 0.1})
    ]
    for name in names:
        wait(lambda name=name: client.get_job_status(name) is JobStatus.RUNNING, "the jobs")  # type: ignore[misc]
    servers = _children(cluster.first.pid("head.pid"))
    assert len(servers) == 1
    os.kill(servers[0], signal.SIGKILL)
    wait(lambda: _answers(client, names[0]), "the next server")
    head = cluster.first.pid("head.pid")
    os.kill(head, signal.SIGKILL)
    wait(lambda: cluster.first.pid("head.pid") != head, "the next head")
    wait(lambda: _answers(client, names[0]), "its server")
    assert all(client.get_job_status(name) is JobStatus.RUNNING for name in names)
    gate.touch()
    for name in names:
        assert ended(client, name).status is JobStatus.SUCCEEDED
        assert client.get_job_logs(name) == "done\n"


def test_a_job_whose_supervisor_dies_fails_and_ends(
    cluster: JobCluster, client: JobSubmissionClient, tmp_path: Path
) -> None:
    here = tmp_path / "pid"
    name = client.submit_job(entrypoint=f"setsid sleep 600 & echo $! > {here}; wait", entrypoint_resources={"b": 0.1})
    wait(lambda: here.exists() and here.read_text().strip() != "", "the job")
    wait(lambda: client.get_job_status(name) is JobStatus.RUNNING, "the job")
    guard = _parents(int(here.read_text()))[1]
    os.kill(_parents(guard)[0], signal.SIGKILL)
    job = ended(client, name)
    assert (job.status, job.error_type) == (JobStatus.FAILED, "JOB_SUPERVISOR_ACTOR_DIED"), job
    wait(lambda: gone(int(here.read_text())) and gone(guard), "the end of its processes")

    here.unlink()
    name = client.submit_job(entrypoint=f"setsid sleep 600 & echo $! > {here}; wait")
    wait(lambda: here.exists() and here.read_text().strip() != "", "the job")
    os.kill(_parents(int(here.read_text()))[1], signal.SIGKILL)  # the guard itself
    job = ended(client, name)
    assert (job.status, job.error_type) == (JobStatus.FAILED, "JOB_ENTRYPOINT_COMMAND_START_ERROR"), job
    wait(lambda: gone(int(here.read_text())), "the end of its processes")


def test_twenty_jobs_at_once(client: JobSubmissionClient) -> None:
    names = [client.submit_job(entrypoint=f"echo {number}") for number in range(20)]
    for number, name in enumerate(names):
        assert ended(client, name).status is JobStatus.SUCCEEDED
        assert client.get_job_logs(name) == f"{number}\n"


def _answers(client: JobSubmissionClient, name: str) -> bool:
    try:
        return isinstance(client.get_job_info(name), JobDetails)
    except (ConnectionError, RuntimeError):
        return False


def _children(pid: int) -> list[int]:
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in said.stdout.split()]


def _parents(pid: int) -> list[int]:
    """The parent of a process, and its parent."""
    found = []
    for _ in range(2):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def test_the_program_in_the_guide_prints_what_its_comments_say(cluster: JobCluster) -> None:
    guide = Path(__file__).parents[2] / "docs" / "jobs.md"
    programs = re.findall(r"(?s)^```python\n(.*?)^```", guide.read_text(), re.MULTILINE)
    assert len(programs) == 1
    cluster.first.env["RAY_API_SERVER_ADDRESS"] = cluster.url
    try:
        printed = cluster.first.python(programs[0]).splitlines()
    finally:
        del cluster.first.env["RAY_API_SERVER_ADDRESS"]
    assert printed == re.findall(r"(?m)^print\(.*\)  # (.*)$", programs[0])


def test_the_command_line_does_what_the_client_does(cluster: JobCluster, folder: Path, tmp_path: Path) -> None:
    def job(*words: str, status: int = 0, **more: str) -> str:
        env = {**cluster.first.env, "PYTHONWARNINGS": "error", **more}
        command = [sys.executable, "-c", "from eagleray._private.cli import main; main()", "job", *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    (tmp_path / "env.yaml").write_text("env_vars:\n  KEY: text\n")
    flags = ("--address", cluster.url, "--working-dir", str(folder), "--runtime-env", str(tmp_path / "env.yaml"))
    said = job("submit", *flags, "--submission-id=cli-1", "--", "python", "main.py", "--flag", "a b")
    assert "Job 'cli-1' submitted successfully" in said and "Job 'cli-1' succeeded" in said
    assert "arguments ['--flag', 'a b']" in said and "\033" not in said
    assert "\033[32;1mJob 'cli-1' succeeded\033[0m" in job("status", "cli-1", "--log-color=true")
    said = job("submit", "--json", "--submission-id=cli-2", "sh", "-c", "echo out; exit 4", status=1)
    out, errors = said.splitlines()  # the data, and beside them what the job has written
    row = json.loads(out)
    assert (row["status"], row["driver_exit_code"], errors) == ("FAILED", 4, "out")
    assert "Job 'cli-2' failed" in job("logs", "--follow", "cli-2")
    assert job("logs", "cli-2") == "out\n"
    said = job("submit", "--no-wait", "--json", "--metadata-json", '{"a": "b"}', "sleep", "600")
    name = json.loads(said)["submission_id"]
    assert json.loads(job("status", "--json", name))["metadata"] == {"a": "b"}
    assert f"Job '{name}' was stopped" in job("stop", name)
    rows = {row["submission_id"]: row["status"] for row in json.loads(job("list", "--json"))}
    assert (rows["cli-1"], rows["cli-2"], rows[name]) == ("SUCCEEDED", "FAILED", "STOPPED")
    assert re.search(rf"(?m)^{name} .*STOPPED.*sleep 600$", job("list"))
    assert "deleted successfully" in job("delete", name)
    assert "404" in job("status", name, status=1)

    for words, wanted, status in (
        (("submit",), "no command is given", 2),
        (("submit", "--runtime-env-json", "[]", "--", "true"), "--runtime-env-json: '[]' is not a JSON object", 2),
        (("submit", "--metadata-json", "{", "--", "true"), "--metadata-json: '{' is not JSON", 2),
        (("submit", "--runtime-env", "/no/file", "--", "true"), "--runtime-env:", 2),
        (("submit", "--runtime-env", "/no/file", "--runtime-env-json={}", "--", "true"), "give one of them", 2),
        (("submit", "--working-dir", "/no/folder", "--", "true"), "'/no/folder' does not exist", 2),
        (("submit", "--entrypoint-num-cpu=1", "--", "true"), "did you mean '--entrypoint-num-cpus'?", 2),
        (("list", "--headers", "x"), "--headers: 'x' is not JSON", 2),
        (("list", "--address", "http://127.0.0.1:1"), "does not answer", 1),
        (("list", "--address", "ray://127.0.0.1:10001"), "no Ray Client", 2),
    ):
        assert wanted in job(*words, status=status), words
    wrong = '{"Authorization": "Bearer 0"}'
    assert "not the cluster's token" in job("list", status=1, RAY_JOB_HEADERS=wrong)
