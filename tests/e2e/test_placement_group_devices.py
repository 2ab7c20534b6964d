"""Declared GPUs in placement groups: ids and fractions."""

from __future__ import annotations

import os
from pathlib import Path

import eagleray
import pytest
from grouping import InGroup, becomes_free, made, ready
from pace import PATIENCE_S, meet

pytestmark = pytest.mark.usefixtures("ray")


@eagleray.remote(num_cpus=0)
def devices(folder: Path | None = None, count: int = 0) -> tuple[list[int], str | None]:
    if folder is not None:
        meet(folder, count)
    return eagleray.get_gpu_ids(), os.environ.get("CUDA_VISIBLE_DEVICES")  # type: ignore[return-value]


def test_each_bundle_has_its_own_device() -> None:
    becomes_free(2.0, "GPU")
    with made([{"GPU": 1}, {"GPU": 1}]) as group:
        ready(group)
        becomes_free(0.0, "GPU")
        found = []
        for index in (0, 1, 0, 1):
            in_bundle = devices.options(num_gpus=1, scheduling_strategy=InGroup(group, index))
            ids, visible = eagleray.get(in_bundle.remote(), timeout=PATIENCE_S)
            assert visible == ",".join(map(str, ids)) and len(ids) == 1
            found.append(ids[0])
        assert found[:2] == found[2:] and sorted(found[:2]) == [0, 1], "the device of a bundle stays the same"
    becomes_free(2.0, "GPU")


def test_fractions_share_the_device_of_their_bundle(tmp_path: Path) -> None:
    with made([{"CPU": 1, "GPU": 1}]) as group:
        half = devices.options(num_gpus=0.5, scheduling_strategy=InGroup(group, 0))
        refs = [half.remote(tmp_path, 2) for _ in range(2)]
        (first, _), (second, _) = eagleray.get(refs, timeout=PATIENCE_S)
        assert first == second and len(first) == 1


def test_a_part_of_a_device_is_set_aside() -> None:
    becomes_free(2.0, "GPU")
    with made([{"GPU": 0.5}, {"GPU": 0.5}]) as group:
        ready(group)
        becomes_free(1.0, "GPU")
        with pytest.raises(ValueError, match="no bundle has so much"):
            devices.options(num_gpus=1, placement_group=group).remote()
        half = devices.options(num_gpus=0.5, placement_group=group)
        ids, _ = eagleray.get(half.remote(), timeout=PATIENCE_S)
        assert ids in ([0], [1])
    becomes_free(2.0, "GPU")


def test_an_actor_has_the_devices_of_its_bundle() -> None:
    @eagleray.remote(num_gpus=2, num_cpus=0)
    class Holds:
        def devices(self) -> list[int]:
            return sorted(eagleray.get_gpu_ids())  # type: ignore[type-var]

    becomes_free(2.0, "GPU")
    with made([{"CPU": 1, "GPU": 2}]) as group:
        actor = Holds.options(scheduling_strategy=InGroup(group, 0)).remote()
        assert eagleray.get(actor.devices.remote(), timeout=PATIENCE_S) == [0, 1]
    becomes_free(2.0, "GPU")


def test_work_outside_gets_other_devices() -> None:
    becomes_free(2.0, "GPU")
    with made([{"GPU": 1}]) as group:
        ready(group)
        inside, _ = eagleray.get(devices.options(num_gpus=1, placement_group=group).remote(), timeout=PATIENCE_S)
        outside, _ = eagleray.get(devices.options(num_gpus=1).remote(), timeout=PATIENCE_S)
        assert sorted(inside + outside) == [0, 1]
    becomes_free(2.0, "GPU")
