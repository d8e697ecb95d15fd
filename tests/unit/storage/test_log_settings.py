"""A topic's configuration as the log needs it."""

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
}


def test_kafkas_defaults_are_ours() -> None:
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
