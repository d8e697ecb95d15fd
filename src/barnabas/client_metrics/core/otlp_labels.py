"""A push as it is forwarded: with the labels of its client among the attributes of its resources.

Kafka's brokers give a plugin the connection beside the bytes; a collector gets bytes only, so the
labels go into them. Java's client repeats its resource for every metric, therefore resources that
are equal are written once, with the metrics of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client_metrics.core.otlp_fields import BYTES, Budget, OtlpTooLarge, bytes_field, fields
from barnabas.client_metrics.core.otlp_reader import read_attribute

# A client has one. Each gets all labels, so many tiny resources would become a large message.
RESOURCES_MAX = 100

_RESOURCE_METRICS, _RESOURCE, _SCOPE_METRICS, _ATTRIBUTES, _STRING = 1, 1, 2, 1, 1
_KEY, _VALUE = 1, 2


def with_labels(data: bytes, labels: Mapping[str, str]) -> bytes:
    """``data`` was read before, so it is well-formed. Attributes of the client with the name of a
    label are left out."""
    budget = Budget()
    metrics_of: dict[bytes, list[bytes]] = {}
    for number, wire_type, _, content in fields(data, budget):
        if number != _RESOURCE_METRICS or wire_type != BYTES:
            continue
        resource, metrics = bytearray(), []
        for inner, inner_type, _, part in fields(content, budget):
            if inner == _RESOURCE and inner_type == BYTES:
                resource += part
            elif inner == _SCOPE_METRICS and inner_type == BYTES:
                metrics.append(bytes_field(_SCOPE_METRICS, part))
        metrics_of.setdefault(bytes(resource), []).extend(metrics)
        if len(metrics_of) > RESOURCES_MAX:
            raise OtlpTooLarge(f"more than {RESOURCES_MAX} resources")
    added = b"".join(bytes_field(_ATTRIBUTES, _attribute(name, value)) for name, value in labels.items())
    return b"".join(
        bytes_field(_RESOURCE_METRICS, bytes_field(_RESOURCE, _own_attributes(resource, labels, budget) + added) + b"".join(metrics))
        for resource, metrics in metrics_of.items()
    )


def _own_attributes(resource: bytes, labels: Mapping[str, str], budget: Budget) -> bytes:
    kept = bytearray()
    for number, wire_type, _, content in fields(resource, budget):
        if number == _ATTRIBUTES and wire_type == BYTES and read_attribute(content, budget)[0] not in labels:
            kept += bytes_field(_ATTRIBUTES, content)
    return bytes(kept)


def _attribute(name: str, value: str) -> bytes:
    text = bytes_field(_STRING, value.encode("utf-8", "replace"))
    return bytes_field(_KEY, name.encode()) + bytes_field(_VALUE, text)
