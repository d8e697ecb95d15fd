"""The first records of a new cluster: the feature levels it starts with. ``storage format`` writes them into ``bootstrap.checkpoint``;
the first controller that finds an empty metadata log puts them into it, as one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.controller.features import SUPPORTED_FEATURES
from barnabas.wire.metadata_records import BeginTransactionRecord, EndTransactionRecord, FeatureLevelRecord, MetadataRecord


def bootstrap_records() -> list[MetadataRecord]:
    return [FeatureLevelRecord(name=name, feature_level=supported.highest) for name, supported in SUPPORTED_FEATURES.items()]


def as_transaction(records: Sequence[MetadataRecord]) -> list[MetadataRecord]:
    return [BeginTransactionRecord(name="Bootstrap records"), *records, EndTransactionRecord()]
