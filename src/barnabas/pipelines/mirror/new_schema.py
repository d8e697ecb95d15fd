"""A record with an id that the driver did not know when it planned the batch: a schema that is
newer than the list, or bytes that are no id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from barnabas.pipelines.registered.registry import UnknownSchema, kept_registry

if TYPE_CHECKING:
    from barnabas.registry_client import RegistrySettings

RETRY_MS: Final = 60_000
# Spark gives the driver the text of a task's error, which has the name of its class.
_MARK: Final = "mirror.schema_ids.UnknownId"


def new_schema(schema_id: int, source: RegistrySettings) -> bool:
    """Whether the registry of the source has the schema."""
    try:
        kept_registry(source, RETRY_MS).schema(schema_id)
    except UnknownSchema:
        return False
    return True


def is_of_new_schema(error_text: str) -> bool:
    """Whether a batch failed because of a schema that is newer than its plan."""
    return _MARK in error_text
