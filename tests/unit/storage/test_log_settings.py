"""The settings of a topic that its log needs."""

from __future__ import annotations

import pytest

from barnabas.records.batch_header import TimestampType
from barnabas.records.compression import Codec
from barnabas.storage.log_settings import LogSettings

DEFAULTS = {
    "segment.bytes": 1_073_741_824,
    "segment.ms": 604_800_000,
    "segment.jitter.ms": 0,
    "segment.index.bytes": 10_485_760,
    "index.interval.bytes": 4096,
    "flush.messages": 2**63 - 1,
    "flush.ms": 2**63 - 1,
    "file.delete.delay.ms": 60_000,
    "min.insync.replicas": 1,
    "max.message.bytes": 1_048_588,
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": 2**63 - 1,
    "message.timestamp.after.max.ms": 3_600_000,
    "compression.type": "producer",
    "compression.gzip.level": -1,
    "compression.lz4.level": 9,
    "compression.zstd.level": 3,
    "cleanup.policy": ["delete"],
    "retention.ms": 604_800_000,
    "retention.bytes": -1,
    "delete.retention.ms": 86_400_000,
    "min.compaction.lag.ms": 0,
    "max.compaction.lag.ms": 2**63 - 1,
    "min.cleanable.dirty.ratio": 0.5,
    "remote.storage.enable": False,
    "remote.log.copy.disable": False,
    "local.retention.ms": -2,
    "local.retention.bytes": -2,
    **{f"barnabas.{part}.schema.validation": "none" for part in ("key", "value")},
    **{f"confluent.{part}.schema.validation": False for part in ("key", "value")},
}


def test_log_settings_have_kafkas_defaults() -> None:
    assert LogSettings.from_topic_config(DEFAULTS) == LogSettings()


@pytest.mark.parametrize(
    ("name", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", Codec.NONE, None),
        ("gzip", Codec.GZIP, -1),
        ("snappy", Codec.SNAPPY, None),
        ("lz4", Codec.LZ4, 9),
        ("zstd", Codec.ZSTD, 3),
    ],
)
def test_a_codec_comes_with_its_level(name: str, codec: Codec | None, level: int | None) -> None:
    rules = LogSettings.from_topic_config({**DEFAULTS, "compression.type": name}).rules
    assert (rules.codec, rules.codec_level) == (codec, level)


def test_the_rules_for_batches_follow_the_topic() -> None:
    changed = {"message.timestamp.type": "LogAppendTime", "cleanup.policy": ["compact", "delete"], "max.message.bytes": 500}
    rules = LogSettings.from_topic_config({**DEFAULTS, **changed}).rules
    assert (rules.timestamp_type, rules.keys_required, rules.size_bytes_max) == (TimestampType.LOG_APPEND_TIME, True, 500)


def test_local_retention_defaults_to_total_retention() -> None:
    same = LogSettings.from_topic_config({**DEFAULTS, "retention.ms": 70, "retention.bytes": 80})
    assert (same.local_retention_ms, same.local_retention_bytes) == (70, 80)
    less = LogSettings.from_topic_config({**DEFAULTS, "retention.ms": 70, "local.retention.ms": 7, "local.retention.bytes": -1})
    assert (less.local_retention_ms, less.local_retention_bytes) == (7, -1)


@pytest.mark.parametrize(
    ("policy", "deletes", "compacts"),
    [([], False, False), (["delete"], True, False), (["compact"], False, True), (["compact", "delete"], True, True)],
)
def test_cleanup_policy_sets_delete_and_compact_separately(policy: list[str], deletes: bool, compacts: bool) -> None:
    settings = LogSettings.from_topic_config({**DEFAULTS, "cleanup.policy": policy})
    assert (settings.deletes, settings.compacts) == (deletes, compacts)
