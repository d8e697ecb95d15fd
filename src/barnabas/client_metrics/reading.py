"""A push, opened on a thread: decompressed, decoded, and labelled for the collector."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client_metrics.core.otlp_fields import MalformedOtlp, OtlpTooLarge
from barnabas.client_metrics.core.otlp_labels import with_labels
from barnabas.client_metrics.core.otlp_reader import Opened, read_otlp
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.records.compression import DecompressionFailed, DecompressionTooLarge, decompress

# Of telemetry.max.bytes, after decompression. Metrics of Java clients shrink to a tenth.
DECOMPRESSED_FACTOR_MAX = 16


@dataclass(frozen=True, slots=True)
class Push:
    opened: Opened
    # None without a collector.
    forwarded: bytes | None


def open_push(codec: int, data: bytes, labels: Mapping[str, str] | None, *, push_bytes_max: int) -> Push | ErrorCode:
    """``labels`` are those for the collector. INVALID_RECORD ends a client's pushes, so it is only
    for bytes that no client of Kafka sends; a client that pushes too much tries again at its next
    interval."""
    try:
        plain = bytes(decompress(codec, data, DECOMPRESSED_FACTOR_MAX * push_bytes_max))
        opened = read_otlp(plain)
        return Push(opened, with_labels(plain, labels) if labels is not None else None)
    except (DecompressionTooLarge, OtlpTooLarge):
        return ErrorCode.TELEMETRY_TOO_LARGE
    except (DecompressionFailed, MalformedOtlp):
        return ErrorCode.INVALID_RECORD
