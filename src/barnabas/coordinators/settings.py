"""The settings of the coordinators, taken from those of the broker."""

from __future__ import annotations

from barnabas.config.declare import INT_MAX
from barnabas.config.settings import BrokerSettings
from barnabas.coordinators.group.bounded_setting import BoundedSetting
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.share.settings import ShareGroupSettings
from barnabas.coordinators.group.streams.settings import StreamsGroupSettings
from barnabas.coordinators.share.settings import ShareCoordinatorSettings
from barnabas.coordinators.transaction.settings import TransactionSettings

_MINUTE_MS = 60_000
_SERVED_PROTOCOLS = frozenset({"classic", "consumer", "streams"})


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
        share=_share_group_settings(settings),
        streams=_streams_group_settings(settings),
        protocols=_SERVED_PROTOCOLS & frozenset(settings.strings("group.coordinator.rebalance.protocols")),
    )


def _share_group_settings(settings: BrokerSettings) -> ShareGroupSettings:
    return ShareGroupSettings(
        session_timeout_ms=_bounded(settings, "share.session.timeout.ms"),
        heartbeat_interval_ms=_bounded(settings, "share.heartbeat.interval.ms"),
        assignment_interval_ms=_bounded(settings, "share.assignment.interval.ms"),
        initialize_retry_interval_ms=settings.integer("group.share.initialize.retry.interval.ms"),
        size_max=settings.integer("group.share.max.size"),
    )


def _streams_group_settings(settings: BrokerSettings) -> StreamsGroupSettings:
    delay, standbys = "initial.rebalance.delay.ms", "num.standby.replicas"
    return StreamsGroupSettings(
        session_timeout_ms=_bounded(settings, "streams.session.timeout.ms"),
        heartbeat_interval_ms=_bounded(settings, "streams.heartbeat.interval.ms"),
        assignment_interval_ms=_bounded(settings, "streams.assignment.interval.ms"),
        initial_rebalance_delay_ms=BoundedSetting(f"streams.{delay}", settings.integer(f"group.streams.{delay}"), 0, INT_MAX),
        standby_replicas=BoundedSetting(
            f"streams.{standbys}", settings.integer(f"group.streams.{standbys}"), 0, settings.integer("group.streams.max.standby.replicas")
        ),
        size_max=settings.integer("group.streams.max.size"),
    )


def _bounded(settings: BrokerSettings, name: str) -> BoundedSetting:
    kind, _, rest = name.partition(".")
    default, lowest, highest = (settings.integer(f"group.{kind}.{bound}{rest}") for bound in ("", "min.", "max."))
    return BoundedSetting(name, default, lowest, highest)


def share_settings(settings: BrokerSettings) -> ShareCoordinatorSettings:
    integer = settings.integer
    return ShareCoordinatorSettings(
        updates_per_snapshot=integer("share.coordinator.snapshot.update.records.per.snapshot"),
        cold_snapshot_ms=integer("share.coordinator.cold.partition.snapshot.interval.ms"),
        prune_ms=integer("share.coordinator.state.topic.prune.interval.ms"),
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
