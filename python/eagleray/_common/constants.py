"""Constants of ``ray._common.constants``."""

from __future__ import annotations

NODE_ID_PREFIX = "node:"
#: The resource that marks the node with the head.
HEAD_NODE_RESOURCE_NAME = NODE_ID_PREFIX + "__internal_head__"
