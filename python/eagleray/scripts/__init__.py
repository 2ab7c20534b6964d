"""The part of ``ray.scripts`` that libraries use."""
