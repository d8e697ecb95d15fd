"""The settings of a topic that its log needs: parsed once per change, read on every append."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from barnabas.model.dataclass import dataclass
from barnabas.records.batch_header import TimestampType
from barnabas.records.compression import Codec
from barnabas.records.schema_rules import schema_rules
from barnabas.records.validation import BatchRules

_CODECS = {"producer": None, "uncompressed": Codec.NONE} | {codec.name.lower(): codec for codec in Codec if codec}


@dataclass(frozen=True, slots=True)
class LogSettings:
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    index_bytes_max: int = 10_485_760
    index_interval_bytes: int = 4096
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    file_delete_delay_ms: int = 60_000
    min_insync_replicas: int = 1
    # From cleanup.policy; if neither is set, records are kept for ever.
    deletes: bool = True
    compacts: bool = False
    # -1 means no bound.
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    min_cleanable_dirty_ratio: float = 0.5
    remote_enabled: bool = False
    remote_copy_disabled: bool = False
    local_retention_ms: int = 604_800_000
    local_retention_bytes: int = -1
    rules: BatchRules = field(default_factory=BatchRules)

    @property
    def moves_to_remote(self) -> bool:
        """Whether segments leave this disk for the remote store. Where copying is disabled, a
        segment that leaves the disk is gone, as in a log without a remote store."""
        return self.remote_enabled and not self.remote_copy_disabled

    @classmethod
    def from_topic_config(cls, values: Mapping[str, Any]) -> LogSettings:
        """``values`` are the effective settings of one topic, parsed, under Kafka's names."""
        codec = _CODECS[values["compression.type"]]
        return cls(
            segment_bytes=values["segment.bytes"],
            segment_ms=values["segment.ms"],
            segment_jitter_ms=values["segment.jitter.ms"],
            index_bytes_max=values["segment.index.bytes"],
            index_interval_bytes=values["index.interval.bytes"],
            flush_messages=values["flush.messages"],
            flush_ms=values["flush.ms"],
            file_delete_delay_ms=values["file.delete.delay.ms"],
            min_insync_replicas=values["min.insync.replicas"],
            deletes="delete" in values["cleanup.policy"],
            compacts="compact" in values["cleanup.policy"],
            retention_ms=values["retention.ms"],
            retention_bytes=values["retention.bytes"],
            delete_retention_ms=values["delete.retention.ms"],
            min_compaction_lag_ms=values["min.compaction.lag.ms"],
            max_compaction_lag_ms=values["max.compaction.lag.ms"],
            min_cleanable_dirty_ratio=values["min.cleanable.dirty.ratio"],
            remote_enabled=values["remote.storage.enable"],
            remote_copy_disabled=values["remote.log.copy.disable"],
            local_retention_ms=_unless_as_total(values["local.retention.ms"], values["retention.ms"]),
            local_retention_bytes=_unless_as_total(values["local.retention.bytes"], values["retention.bytes"]),
            rules=BatchRules(
                size_bytes_max=values["max.message.bytes"],
                timestamp_type=(
                    TimestampType.LOG_APPEND_TIME if values["message.timestamp.type"] == "LogAppendTime" else TimestampType.CREATE_TIME
                ),
                timestamp_before_ms_max=values["message.timestamp.before.max.ms"],
                timestamp_after_ms_max=values["message.timestamp.after.max.ms"],
                codec=codec,
                codec_level=values[f"compression.{codec.name.lower()}.level"] if codec in _LEVELLED else None,
                keys_required="compact" in values["cleanup.policy"],
                schemas=schema_rules(values),
            ),
        )


def _unless_as_total(local: int, total: int) -> int:
    return total if local == _AS_TOTAL else local


_AS_TOTAL = -2
_LEVELLED = (Codec.GZIP, Codec.LZ4, Codec.ZSTD)
