"""Memory of GPUs in placement groups, in sessions that declare it."""

from __future__ import annotations

from typing import Any

import pytest
from pace import PATIENCE_S


def test_memory_of_gpus_is_set_aside(fresh: Any) -> None:
    fresh.init(address="local", num_cpus=2, num_gpus=1, gpu_memory="16GiB", log_to_driver=False)
    from grouping import made, ready

    @fresh.remote(num_cpus=0)
    def devices() -> Any:
        return fresh.get_gpu_ids()

    with made([{"gpu_memory": "8GiB"}]) as group:
        ready(group)
        assert group.bundle_specs == [{"gpu_memory": 8.0 * 2**30}]
        in_group = devices.options(gpu_memory="4GiB", placement_group=group)
        assert fresh.get([in_group.remote(), in_group.remote()], timeout=PATIENCE_S) == [[0], [0]]
        with pytest.raises(ValueError, match="no bundle has so much"):
            devices.options(gpu_memory="9GiB", placement_group=group).remote()
