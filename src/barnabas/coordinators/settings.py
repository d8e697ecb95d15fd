"""The settings of the coordinators, taken from those of the broker."""

from __future__ import annotations

from barnabas.config.settings import BrokerSettings
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.transaction.settings import TransactionSettings

_MINUTE_MS = 60_000
_SERVED_PROTOCOLS = frozenset({"classic", "consumer"})


def group_settings(settings: BrokerSettings) -> GroupSettings:
    integer = settings.integer
    return GroupSettings(
        session_timeout_ms_min=integer("group.min.session.timeout.ms"),
        session_timeout_ms_max=integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=integer("group.initial.rebalance.delay.ms"),
        size_max=integer("group.max.size"),
        offset_metadata_bytes_max=integer("offset.metadata.max.bytes"),
        offsets_retention_ms=integer("offsets.retention.minutes") * _MINUTE_MS,
        offsets_retention_check_ms=integer("offsets.retention.check.interval.ms"),
        consumer_session_timeout_ms=integer("group.consumer.session.timeout.ms"),
        consumer_session_timeout_ms_min=integer("group.consumer.min.session.timeout.ms"),
        consumer_session_timeout_ms_max=integer("group.consumer.max.session.timeout.ms"),
        consumer_heartbeat_interval_ms=integer("group.consumer.heartbeat.interval.ms"),
        consumer_heartbeat_interval_ms_min=integer("group.consumer.min.heartbeat.interval.ms"),
        consumer_heartbeat_interval_ms_max=integer("group.consumer.max.heartbeat.interval.ms"),
        consumer_assignment_interval_ms=integer("group.consumer.assignment.interval.ms"),
        consumer_assignment_interval_ms_min=integer("group.consumer.min.assignment.interval.ms"),
        consumer_assignment_interval_ms_max=integer("group.consumer.max.assignment.interval.ms"),
        consumer_size_max=integer("group.consumer.max.size"),
        consumer_assignors=settings.strings("group.consumer.assignors"),
        consumer_migration_policy=settings.text("group.consumer.migration.policy").lower(),
        protocols=_SERVED_PROTOCOLS & frozenset(settings.strings("group.coordinator.rebalance.protocols")),
    )


def transaction_settings(settings: BrokerSettings) -> TransactionSettings:
    integer = settings.integer
    return TransactionSettings(
        timeout_ms_max=integer("transaction.max.timeout.ms"),
        id_expiration_ms=integer("transactional.id.expiration.ms"),
        abort_scan_ms=integer("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
        expiry_scan_ms=integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
        two_phase_commit=settings.flag("transaction.two.phase.commit.enable"),
    )
