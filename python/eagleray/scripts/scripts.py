"""The part of ``ray.scripts.scripts`` that libraries use."""

from __future__ import annotations

from eagleray._private.outside.memory import memory_summary as memory_summary

__all__ = ["memory_summary"]
