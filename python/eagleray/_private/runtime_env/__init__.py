"""The part of ``ray._private.runtime_env`` that libraries use."""
