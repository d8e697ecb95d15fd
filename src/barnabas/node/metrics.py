"""Metrics that need no counting: their values are read when Prometheus scrapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from barnabas import __version__
from barnabas.api.broker import Broker
from barnabas.env.descriptors import descriptors
from barnabas.env.real_disk import open_files
from barnabas.metadata.applier import MetadataApplier
from barnabas.network.listener import Listener
from barnabas.quorum.driver import QuorumDriver
from barnabas.replication.partition import Partition
from barnabas.security.quotas.client_quotas import FETCHED, PRODUCED, REQUESTS
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from barnabas.coordinators.share.partition_state import PartitionState

# Clients choose their own client ids, so without a bound they could fill any page.
QUOTA_SERIES_MAX = 1000

_REPLICATION = (catalogue.REPLICATION_BYTES_IN, catalogue.REPLICATION_BYTES_OUT, catalogue.REPLICATION_FAILURES)


def register_readings(
    metrics: Metrics, broker: Broker, quorum: QuorumDriver, applier: MetadataApplier, listeners: Sequence[Listener]
) -> None:
    """Another thread reads the values, so copy every collection that may change its size."""
    replicas = broker.replicas
    for metric, value in (
        (catalogue.NETWORK_BYTES_IN, lambda each: each.bytes_in),
        (catalogue.NETWORK_BYTES_OUT, lambda each: each.bytes_out),
        (catalogue.CONNECTIONS, lambda each: len(each.connections)),
        (catalogue.CONNECTIONS_ACCEPTED, lambda each: each.connections_accepted),
        (catalogue.CONNECTIONS_DELAYED, lambda each: each.connections_delayed),
        (catalogue.CONNECTIONS_REFUSED, lambda each: each.connections_refused),
    ):
        metrics.reading(metric, lambda value=value: [((each.name,), value(each)) for each in listeners])  # type: ignore[misc]

    metrics.reading(catalogue.DESCRIPTORS_MAX, lambda: [((), descriptors.limit)])
    files = open_files()
    metrics.reading(catalogue.FILES_OPEN, lambda: [((), len(files.numbers))])
    metrics.reading(catalogue.FILES_OPEN_MAX, lambda: [((), files.limit)])
    metrics.reading(catalogue.FILES_EVICTED, lambda: [((), files.evictions)])

    def partitions() -> list[Partition]:
        return [partition for topic in list(replicas.by_topic.values()) for partition in list(topic.values())]

    metrics.reading(catalogue.PARTITIONS, lambda: [((), len(partitions()))])
    metrics.reading(catalogue.PARTITIONS_LED, lambda: [((), sum(each.leads for each in partitions()))])
    metrics.reading(catalogue.PARTITIONS_OFFLINE, lambda: [((), sum(not each.online for each in partitions()))])
    for metric, counts in (
        (catalogue.PARTITIONS_UNDER_REPLICATED, lambda each: len(each.isr) < len(each.replicas)),
        (catalogue.PARTITIONS_UNDER_MIN_ISR, lambda each: each.under_min_isr),
        (catalogue.PARTITIONS_AT_MIN_ISR, lambda each: len(each.isr) == each.min_insync_replicas),
    ):
        metrics.reading(
            metric,
            lambda counts=counts: [((), sum(each.leads and counts(each) for each in partitions()))],  # type: ignore[misc]
        )
    metrics.reading(catalogue.REPLICA_LAG_MAX, lambda: [((), max((each.role.lag for each in partitions()), default=0))])
    for metric in (catalogue.ISR_SHRINKS, catalogue.ISR_EXPANSIONS, catalogue.ISR_CHANGES_FAILED, *_REPLICATION):
        # Show the metric from the start, not only after its first event.
        metrics.counter(metric)
    metrics.reading(catalogue.DIRECTORIES_CORDONED, lambda: [((), sum(each.cordoned for each in replicas.directories))])
    metrics.reading(catalogue.DIRECTORIES_OFFLINE, lambda: [((), sum(not each.online for each in replicas.directories))])
    metrics.reading(
        catalogue.LOG_BYTES,
        lambda: [((each.path,), sum(log.size_bytes() for log in list(each.logs.values()))) for each in replicas.directories],
    )
    metrics.reading(catalogue.FETCH_SESSIONS, lambda: [((), len(broker.fetch_sessions))])
    metrics.reading(catalogue.PRODUCERS, lambda: [((), sum(len(each.log.producers) for each in partitions()))])
    _register_coordinators(metrics, broker)
    _register_quotas(metrics, broker)
    metrics.reading(catalogue.METADATA_OFFSET, lambda: [((), applier.image.provenance.offset)])
    metrics.reading(catalogue.CONTROLLER_ACTIVE, lambda: [((), int(quorum.leading))])
    metrics.reading(catalogue.BUILD_INFO, lambda: [(_build(), 1.0)])
    metrics.reading(catalogue.QUORUM_EPOCH, lambda: [((), quorum.epoch)])


def _register_quotas(metrics: Metrics, broker: Broker) -> None:
    quotas, now_ms = broker.client_quotas, broker.clock.monotonic_ms
    for metric, kind in (
        (catalogue.QUOTA_PRODUCED, PRODUCED),
        (catalogue.QUOTA_FETCHED, FETCHED),
        (catalogue.QUOTA_REQUEST_TIME, REQUESTS),
    ):
        metrics.reading(
            metric,
            lambda kind=kind: [(shared, rate.observe(now_ms())) for shared, rate in quotas.rates[kind].latest(QUOTA_SERIES_MAX)],  # type: ignore[misc]
        )
    metrics.reading(
        catalogue.QUOTA_MUTATION_TOKENS,
        lambda: [(shared, bucket.observe(now_ms())) for shared, bucket in quotas.buckets.latest(QUOTA_SERIES_MAX)],
    )
    metrics.reading(
        catalogue.QUOTA_THROTTLE_SECONDS,
        lambda: [
            ((kind, *shared), waited.total_ms / 1000)
            for kind, waits in quotas.waits.items()
            for shared, waited in waits.latest(QUOTA_SERIES_MAX)
        ],
    )


def _register_coordinators(metrics: Metrics, broker: Broker) -> None:
    groups, transactions = broker.groups, broker.transactions

    def shards() -> list[tuple[tuple[str, ...], float]]:
        counted = [(each.topic, each.runtime.count_shards()) for each in (groups, transactions, broker.share_states)]
        return [
            reading
            for topic, (active, loading) in counted
            for reading in (((topic, "active"), float(active)), ((topic, "loading"), float(loading)))
        ]

    def states_of_groups() -> list[tuple[tuple[str, ...], float]]:
        found = Counter(
            (group.kind.value, group.state_name)
            for machine in list(groups.runtime.machines())
            for group in list(machine.shard.groups.values())
        )
        # Without any entry the metric would be missing, as on a node that does not know it.
        return [(labels, float(count)) for labels, count in found.items()] or [(("classic", "Empty"), 0.0)]

    def states_of_transactions() -> list[tuple[tuple[str, ...], float]]:
        found = Counter(
            each.state.title for machine in list(transactions.runtime.machines()) for each in list(machine.transactions.values())
        )
        return [((state,), float(count)) for state, count in found.items()] or [(("Empty",), 0.0)]

    metrics.reading(catalogue.COORDINATOR_SHARDS, shards)
    metrics.reading(catalogue.GROUPS, states_of_groups)

    def share_states() -> list[PartitionState]:
        return [state for machine in list(broker.share_states.runtime.machines()) for state in list(machine.states.values())]

    metrics.reading(catalogue.TRANSACTIONS, states_of_transactions)
    metrics.reading(catalogue.SHARE_STATES, lambda: [((), float(len(share_states())))])
    metrics.reading(catalogue.SHARE_STATE_BATCHES, lambda: [((), float(sum(len(each.batches) for each in share_states())))])


@cache
def _build() -> tuple[str, ...]:
    """Asked for at the first scrape: the name of the platform is read from files."""
    import platform

    return __version__, platform.python_version(), platform.python_implementation(), platform.platform(terse=True)
