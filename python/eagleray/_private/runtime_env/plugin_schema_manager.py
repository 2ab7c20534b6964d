"""``ray._private.runtime_env.plugin_schema_manager``: schemas of plugins of runtime environments. There are none."""

from __future__ import annotations

from typing import Any, ClassVar


class RuntimeEnvPluginSchemaManager:
    """The schemas that are known: none, because runtime environments have no plugins here."""

    schemas: ClassVar[dict[str, Any]] = {}

    @classmethod
    def validate(cls, name: str, instance: Any) -> None:
        """Checks a value against the schema of its field. Without a schema every value passes.

        Args:
            name: The field.
            instance: The value.
        """

    @classmethod
    def clear(cls) -> None:
        """Forgets all schemas."""
        cls.schemas.clear()
