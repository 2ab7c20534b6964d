"""The place of ``ray.util.rpdb``: there is no debugger in workers, and the libraries ask whether it is on."""

from __future__ import annotations


def _is_ray_debugger_post_mortem_enabled() -> bool:
    """Whether a failed task waits for a debugger: never."""
    return False
