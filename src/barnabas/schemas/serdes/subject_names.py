"""Under which subject a schema is registered.

======================  ==========================================================================
:func:`by_topic`        ``orders-value``: one schema for each topic
:func:`by_record`       ``shop.Order``: the record's name; a topic may have records of many types
:func:`by_topic_record`  ``orders-shop.Order``: both
:func:`by_association`  the subject that the registry associates with the topic; otherwise
                        another of these. It is the default, as in Confluent's clients of 2026.
======================  ==========================================================================
"""

from __future__ import annotations

from typing import Protocol

from barnabas.schemas.errors import DoesNotEncode
from barnabas.schemas.serdes.context import Context, is_key
from barnabas.schemas.serdes.registry_port import Registry


class SubjectName(Protocol):
    def __call__(self, context: Context | None, record_name: str | None, registry: Registry) -> str:
        """Raises :class:`DoesNotEncode` if the context or the name is missing."""


def by_topic(context: Context | None, record_name: str | None, registry: Registry) -> str:
    known = _needed(context)
    return f"{known.topic}-{'key' if is_key(known) else 'value'}"


def by_record(context: Context | None, record_name: str | None, registry: Registry) -> str:
    return _named(record_name)


def by_topic_record(context: Context | None, record_name: str | None, registry: Registry) -> str:
    return f"{_needed(context).topic}-{_named(record_name)}"


def by_association(fallback: SubjectName | None = by_topic, *, cluster_id: str = "-") -> SubjectName:
    """``fallback`` is for topics without an association; None refuses them. ``cluster_id`` is the
    id of the Kafka cluster, for a registry that serves several."""

    def name(context: Context | None, record_name: str | None, registry: Registry) -> str:
        known = _needed(context)
        found = registry.associated_subject(str(known.topic), is_key=is_key(known), namespace=cluster_id)
        if found is not None:
            return found
        if fallback is None:
            raise DoesNotEncode(f"the registry associates no subject with the topic {known.topic}")
        return fallback(context, record_name, registry)

    return name


def _needed(context: Context | None) -> Context:
    if context is None or context.topic is None:
        raise DoesNotEncode("the subject depends on the topic, and the call names none; use for_topic()")
    return context


def _named(record_name: str | None) -> str:
    if record_name is None:
        raise DoesNotEncode("the subject depends on the name of the record, and the schema has none")
    return record_name
