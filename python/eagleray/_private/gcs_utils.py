"""The part of ``ray._private.gcs_utils`` that programs use: the names of states, which are texts here."""

from __future__ import annotations


class ActorTableData:
    """States of actors, as ``ray._private.state.actors()`` and the state API show them."""

    DEPENDENCIES_UNREADY = "DEPENDENCIES_UNREADY"
    PENDING_CREATION = "PENDING_CREATION"
    ALIVE = "ALIVE"
    RESTARTING = "RESTARTING"
    DEAD = "DEAD"


class GcsNodeInfo:
    """States of nodes."""

    ALIVE = "ALIVE"
    DEAD = "DEAD"


class PlacementGroupTableData:
    """States of placement groups, as ``placement_group_table`` shows them."""

    PENDING = "PENDING"
    CREATED = "CREATED"
    REMOVED = "REMOVED"
    RESCHEDULING = "RESCHEDULING"
