"""Placement groups in the lists of ``util.state``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.util import state
from eagleray.util.placement_group import remove_placement_group
from eagleray.util.state.exception import RayStateApiException
from grouping import Member, becomes_free, made, ready

COMMAND = str(Path(sys.executable).with_name("eagleray"))
pytestmark = pytest.mark.usefixtures("ray")


def test_lists_have_all_groups_with_filters() -> None:
    becomes_free(4.0)
    with made([{"CPU": 1}], name="first") as first, made([{"CPU": 4}], "SPREAD", lifetime="detached") as second:
        ready(first)
        rows = {row.placement_group_id: row for row in state.list_placement_groups(detail=True)}
        mine = rows[first.id.hex()]
        assert (mine.name, mine.state, mine.is_detached) == ("first", "CREATED", False)
        assert mine.creator_job_id == eagleray.get_runtime_context().get_job_id()
        here = eagleray.get_runtime_context().get_node_id()
        assert mine.bundles == [
            {
                "bundle_id": {"placement_group_id": first.id.hex(), "bundle_index": 0},
                "unit_resources": {"CPU": 1.0},
                "node_id": here,
                "label_selector": {},
            }
        ]
        other = rows[second.id.hex()]
        assert (other.state, other.is_detached, other.bundles[0]["node_id"]) == ("PENDING", True, None)

        def ids(*filters: tuple[str, str, Any]) -> set[str]:
            return {row["placement_group_id"] for row in state.list_placement_groups(filters=list(filters))}

        assert ids(("name", "=", "first")) == {first.id.hex()}
        assert ids(("state", "=", "pending"), ("is_detached", "=", True)) == {second.id.hex()}
        assert first.id.hex() not in ids(("state", "!=", "CREATED"))
        with pytest.raises(RayStateApiException, match="filter column strategy"):
            state.list_placement_groups(filters=[("strategy", "=", "PACK")])
        assert state.list_placement_groups(limit=1, filters=[("name", "=", "first")])[0].bundles is None, "a detail"


def test_one_group_has_its_details_also_when_it_is_removed() -> None:
    with made([{"CPU": 1}]) as group:
        ready(group)
        found = state.get_placement_group(group.id.hex())
        assert found is not None and found.state == "CREATED"
        assert found.stats is not None and found.stats["scheduling_state"] == "FINISHED"
        remove_placement_group(group)
        found = state.get_placement_group(group.id.hex())
        assert found is not None and found.state == "REMOVED"
    assert state.get_placement_group("00" * 18) is None


def test_commands_list_groups(session: Any) -> None:
    with made([{"CPU": 1}], name="of_the_command") as group:
        ready(group)
        command = [COMMAND, "list", "placement-groups", "--address", session["address"], "--format", "json"]
        done = subprocess.run([*command, "--filter", "name=of_the_command"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        job = eagleray.get_runtime_context().get_job_id()
        assert json.loads(done.stdout) == [
            {
                "placement_group_id": group.id.hex(),
                "name": "of_the_command",
                "creator_job_id": job,
                "state": "CREATED",
            }
        ]


def test_actors_name_their_group() -> None:
    with made([{"CPU": 1}]) as group:
        inside = Member.options(placement_group=group).remote()
        outside = Member.remote()
        assert eagleray.get([inside.group_id.remote(), outside.group_id.remote()]) == [group.id.hex(), None]
        for actor, wanted in ((inside, group.id.hex()), (outside, None)):
            found = state.get_actor(actor._actor_id.hex())
            assert found is not None and found.placement_group_id == wanted
