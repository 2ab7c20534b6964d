"""``working_dir`` and ``py_modules`` on nodes other than that of the program."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray.cluster_utils import Cluster, ClusterNode
from pace import until

pytestmark = pytest.mark.timeout(300)

HERE = {"num_cpus": 0.01, "resources": {"a": 0.01}}
THERE = {"num_cpus": 0.01, "resources": {"b": 0.01}}


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Cluster, ClusterNode, ClusterNode]]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "resources": {"a": 1}})
    try:
        there = cluster.add_node(num_cpus=2, resources={"b": 1})
        yield cluster, cluster.head_node, there
    finally:
        cluster.shutdown()


@pytest.fixture
def join(nodes: Any) -> Iterator[Callable[..., Any]]:
    """Joins the cluster's first node with a runtime environment."""
    cluster, _, _ = nodes
    yield lambda **runtime_env: ray.init(
        address=cluster.address, runtime_env=runtime_env, log_to_driver=False, namespace="folders"
    )
    ray.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (made / "only_here.py").write_text("VALUE = 3\n")
    (made / "data.txt").write_text("text")
    return made


def look() -> Any:
    import only_here  # type: ignore[import-not-found]

    with open("data.txt") as file:
        return os.getcwd(), only_here.VALUE, file.read()


def kept(node: ClusterNode) -> list[str]:
    """The packages that a node has."""
    return [path for path in glob.glob(f"{node.session_dir}/packages/*") if len(os.path.basename(path)) == 64]


def in_depot(head: ClusterNode) -> list[str]:
    return glob.glob(f"{head.session_dir}/state/packages/*.tar")


def collected(nodes: Any) -> bool:
    _, head, there = nodes
    return not kept(head) and not kept(there) and not in_depot(head)


def test_a_job_s_folder_is_copied_and_collected(nodes: Any, join: Any, folder: Path) -> None:
    _, head, there = nodes
    join(working_dir=str(folder), env_vars={"OF_JOB": "yes"})

    @ray.remote
    def inner() -> Any:
        return os.environ["OF_JOB"], look()

    @ray.remote
    def outer() -> Any:
        back = ray.get(inner.options(**HERE).remote())
        more = inner.options(runtime_env={"env_vars": {"MORE": "1"}}, **THERE)
        return look(), back, ray.get(more.remote())

    @ray.remote
    class Actor:
        def look(self) -> Any:
            return look()

    assert ray.get(ray.remote(look).options(**HERE).remote(), timeout=60) == (str(folder), 3, "text")
    mine, back, more = ray.get(outer.options(**THERE).remote(), timeout=60)
    assert mine[0].startswith(there.session_dir + "/packages/") and mine[1:] == (3, "text")
    assert more == ("yes", mine)
    assert back == ("yes", (str(folder), 3, "text"))
    shutil.rmtree(folder)  # the other node has a copy
    assert ray.get(Actor.options(**THERE).remote().look.remote(), timeout=60) == mine
    assert kept(there) == [mine[0]] and len(in_depot(head)) == 1
    ray.shutdown()
    until(lambda: collected(nodes), "nothing uses the folder any more")


def test_a_copy_is_made_before_init_returns(nodes: Any, join: Any, folder: Path) -> None:
    join(working_dir=str(folder))
    folder.rename(folder.with_name("elsewhere"))
    assert ray.get(ray.remote(look).options(**THERE).remote(), timeout=60)[1:] == (3, "text")


def test_folders_and_modules_of_tasks_and_actors(nodes: Any, join: Any, folder: Path, tmp_path: Path) -> None:
    _, _, there = nodes
    modules = tmp_path / "modules"
    (modules / "parcel").mkdir(parents=True)
    (modules / "parcel" / "__init__.py").write_text("from parcel.inner import NAME\n")
    (modules / "parcel" / "inner.py").write_text("NAME = __file__\n")
    (modules / "single.py").write_text("NAME = __file__\n")
    (modules / "not_named.py").write_text("")
    join()

    def names() -> Any:
        import importlib.util

        import parcel  # type: ignore[import-not-found]
        import single  # type: ignore[import-not-found]

        return parcel.NAME, single.NAME, importlib.util.find_spec("not_named") is None

    env = {"py_modules": [str(modules / "parcel"), str(modules / "single.py")]}
    remote = ray.remote(names).options(runtime_env=env, **THERE)
    ray.get(remote.remote(), timeout=60)
    modules.rename(tmp_path / "elsewhere")
    parcel, single, alone = ray.get(ray.remote(names).options(runtime_env=env, **THERE).remote(), timeout=60)
    assert parcel.startswith(there.session_dir) and single.startswith(there.session_dir) and alone

    class Actor:
        def look(self) -> Any:
            return look()

    actor = ray.remote(Actor).options(runtime_env={"working_dir": str(folder)}, **THERE).remote()
    assert ray.get(actor.look.remote(), timeout=60)[1:] == (3, "text")


def test_jobs_share_contents_and_changed_contents_are_others(nodes: Any, join: Any, folder: Path) -> None:
    _, head, there = nodes
    until(lambda: collected(nodes), "nothing is left of other tests")

    @ray.remote
    class Keeper:
        def look(self) -> Any:
            return look()

    join(working_dir=str(folder))
    keeper = Keeper.options(name="keeper", lifetime="detached", **THERE).remote()
    first = ray.get(keeper.look.remote(), timeout=60)
    ray.shutdown()
    join(working_dir=shutil.copytree(folder, folder.with_name("copy")))  # another path with the same contents
    assert ray.get(ray.remote(look).options(**THERE).remote(), timeout=60) == first
    assert kept(there) == [first[0]] and len(in_depot(head)) == 1
    ray.shutdown()
    (folder / "data.txt").write_text("changed")
    join(working_dir=str(folder))
    second = ray.get(ray.remote(look).options(**THERE).remote(), timeout=60)
    assert second[0] != first[0] and second[2] == "changed" and len(in_depot(head)) == 2
    again = ray.get_actor("keeper")  # its job is another one, and goes on
    assert ray.get(again.look.remote(), timeout=60) == first
    ray.kill(again)
    until(lambda: kept(there) == [second[0]] and len(in_depot(head)) == 1, "the first folder is collected")


def test_what_is_left_out(nodes: Any, join: Any, folder: Path) -> None:
    for name in ("kept.log", "old.log", "secret", ".git/config", "sub/.gitignore", "sub/gone", "sub/stays"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("gone" if name.endswith(".gitignore") else "x")
    (folder / ".gitignore").write_text("*.log\n!kept.log\n")
    outside = folder.with_name("outside.txt")
    outside.write_text("outside")
    (folder / "link").symlink_to(outside)
    (folder / "inner").symlink_to(folder / "data.txt")
    (folder / "nowhere").symlink_to("/no/such/file")
    join(working_dir=str(folder), excludes=["/secret"])

    def names() -> Any:
        found = sorted(str(path.relative_to(".")) for path in Path().rglob("*") if not path.is_dir())
        return found, Path("link").is_symlink(), Path("link").read_text(), os.readlink("inner")

    found, is_link, text, inner = ray.get(ray.remote(names).options(**THERE).remote(), timeout=60)
    expected = ".gitignore data.txt inner kept.log link only_here.py sub/.gitignore sub/stays"
    assert [name for name in found if "__pycache__" not in name] == expected.split()
    assert (is_link, text, inner) == (False, "outside", "data.txt")


def test_too_large_a_folder_is_refused(nodes: Any, join: Any, folder: Path) -> None:
    with open(folder / "large", "wb") as file:
        file.truncate((512 << 20) + 1)
    with pytest.raises(ValueError, match=r"more than 512 MiB, the last of them in .*: too large.*excludes"):
        join(working_dir=str(folder))
    join()
    with pytest.raises(ValueError, match="more than 512 MiB"):
        ray.remote(look).options(runtime_env={"working_dir": str(folder)}, **THERE).remote()
    with pytest.raises(TypeError, match="excludes"):
        ray.remote(look).options(runtime_env={"excludes": "large"}).remote()


def test_a_node_that_dies_while_it_fetches(nodes: Any, join: Any, folder: Path) -> None:
    cluster, _, _ = nodes
    (folder / "large").write_bytes(os.urandom(100 << 20))
    doomed = cluster.add_node(num_cpus=2, resources={"c": 1})
    join(working_dir=str(folder))
    task = ray.remote(look).options(num_cpus=0.01, resources={"c": 0.01}, max_retries=5)
    ref = task.remote()
    until(lambda: glob.glob(f"{doomed.session_dir}/packages/*"), "the node begins to fetch")
    cluster.remove_node(doomed, allow_graceful=False)
    spare = cluster.add_node(num_cpus=2, resources={"c": 1})
    try:
        where, *rest = ray.get(ref, timeout=60)
        assert where.startswith(spare.session_dir) and rest == [3, "text"]
        ray.shutdown()
        until(lambda: not kept(spare) and collected(nodes), "nothing uses the folder any more")
    finally:
        ray.shutdown()
        cluster.remove_node(spare)
