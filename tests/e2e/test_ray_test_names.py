"""Names and habits that Ray's own tests count on: modules that they import, and clusters that ``init()`` finds."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import Any

import pytest
from eagleray.cluster_utils import AutoscalingCluster, Cluster, cluster_not_supported
from eagleray.core.generated import common_pb2, gcs_service_pb2
from eagleray.util.client.ray_client_helpers import connect_to_client_or_not, ray_start_client_server

MODULES = {
    "eagleray._common.ray_option_utils": ("actor_options", "task_options", "update_options"),
    "eagleray._private.auto_init_hook": ("auto_init_ray", "enable_auto_connect"),
    "eagleray._private.conftest_utils": ("set_override_dashboard_url",),
    "eagleray._private.external_storage": ("ExternalStorageSmartOpenImpl", "FileSystemStorage"),
    "eagleray._private.gcs_utils": ("ActorTableData", "GcsNodeInfo", "PlacementGroupTableData"),
    "eagleray._private.object_ref_generator": ("DynamicObjectRefGenerator",),
    "eagleray._private.runtime_env.pip": ("PipProcessor",),
    "eagleray._private.runtime_env.plugin_schema_manager": ("RuntimeEnvPluginSchemaManager",),
    "eagleray._private.runtime_env.virtualenv_utils": ("is_in_virtualenv",),
    "eagleray._private.state_api_test_utils": ("verify_failed_task", "wait_for_task_states"),
    "eagleray._raylet": ("ObjectRefStreamEndOfStreamError",),
    "eagleray.client_builder": ("ClientContext",),
    "eagleray.core.generated.common_pb2": ("ErrorType", "TaskStatus", "WorkerExitType"),
    "eagleray.core.generated.gcs_pb2": ("ActorTableData",),
    "eagleray.util.client.common": ("ClientActorHandle", "ClientObjectRef"),
    "eagleray.util.client.worker": ("Worker",),
}


@pytest.mark.parametrize("module", MODULES)
def test_modules_that_are_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert all(hasattr(found, name) for name in MODULES[module])


def test_what_is_not_there_says_so_when_it_is_used() -> None:
    from eagleray._private.external_storage import FileSystemStorage
    from eagleray.util.client.common import ClientObjectRef

    assert not cluster_not_supported
    with pytest.raises(NotImplementedError, match="no autoscaler"):
        AutoscalingCluster({"CPU": 1}, {})
    for make in (FileSystemStorage, ClientObjectRef, ray_start_client_server):
        with pytest.raises(NotImplementedError, match=r"by itself|no Ray Client"):
            make()
    with pytest.raises(NotImplementedError, match="no Ray Client"):
        connect_to_client_or_not(True)
    with connect_to_client_or_not(False):
        pass
    with pytest.raises(AttributeError, match="KillActorRequest"):
        _ = gcs_service_pb2.KillActorRequest
    with pytest.raises(ValueError, match="no name has the number 99"):
        common_pb2.TaskType.Name(99)


def test_a_program_and_its_children_find_the_cluster_that_it_has_started(fresh: Any) -> None:
    before = os.environ.copy()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        found = fresh.init("auto")
        assert found.address_info["session_dir"] == cluster.address
        assert found.address_info["gcs_address"] == cluster.gcs_address
        fresh.shutdown()
        assert fresh.init().address_info["session_dir"] == cluster.address
        fresh.shutdown()
        program = "import eagleray as ray; print(ray.init('auto').address_info['session_dir'])"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == cluster.address, done.stderr
    finally:
        fresh.shutdown()
        cluster.shutdown()
    assert os.environ == before


def test_arguments_of_nodes_that_contradict_each_other() -> None:
    cluster = Cluster()
    with pytest.raises(ValueError, match="dashboard_port and metrics_export_port are both 30000"):
        cluster.add_node(dashboard_port=30000, metrics_export_port=30000)
    with pytest.raises(ValueError, match="enable_object_reconstruction=False is not supported"):
        cluster.add_node(enable_object_reconstruction=False)


def test_states_of_actors_have_rays_numbers_and_the_names_that_lists_show() -> None:
    from eagleray._private.gcs_utils import ActorTableData
    from eagleray._private.test_utils import convert_actor_state

    assert [convert_actor_state(state) for state in (ActorTableData.ALIVE, "DEAD", None)] == ["ALIVE", "DEAD", None]
