"""The first records of a new cluster: the feature levels with which it starts. ``storage format``
writes them into ``bootstrap.checkpoint``; the first controller that finds an empty metadata log
appends them to it, as one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.features import SUPPORTED_FEATURES, cluster_min_isr
from barnabas.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.wire.metadata_records import BeginTransactionRecord, EndTransactionRecord, FeatureLevelRecord, MetadataRecord


def bootstrap_records() -> list[MetadataRecord]:
    return [FeatureLevelRecord(name=name, feature_level=supported.highest) for name, supported in SUPPORTED_FEATURES.items()]


def first_records(bootstrap: Sequence[MetadataRecord], settings: BrokerSettings) -> list[MetadataRecord]:
    eligible = any(
        isinstance(record, FeatureLevelRecord) and record.name == ELIGIBLE_LEADER_REPLICAS_VERSION and record.feature_level
        for record in bootstrap
    )
    return as_transaction([*bootstrap, cluster_min_isr(settings)] if eligible else bootstrap)


def as_transaction(records: Sequence[MetadataRecord]) -> list[MetadataRecord]:
    return [BeginTransactionRecord(name="Bootstrap records"), *records, EndTransactionRecord()]
