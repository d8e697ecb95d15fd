"""Where we differ from Apache Kafka on purpose, and why. Everything else must be equal.

A rule looks at a field through a lens before it is compared: not at all, only whether it is there,
or in an order of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from barnabas.config.later_keys import LATER_KEYS
from barnabas.metadata.features import METADATA_VERSION
from barnabas.model.ids import ZERO_UUID


class Rule(NamedTuple):
    api: str
    """Name of the API, or ``*``."""
    path: str
    """Path of the field; a leading ``*`` stands for any beginning."""
    seen: Callable[[Any], Any]
    why: str


def ignored(_: Any) -> None:
    return None


def presence(value: Any) -> str:
    return "absent" if value is None else "present"


def zero_or_not(value: Any) -> str:
    return "zero" if value == ZERO_UUID else "random"


def known_or_not(value: int) -> str:
    return "unknown" if value < 0 else "known"


def producer(value: int | str) -> str:
    """Scripts replace an id that they have learned by a name."""
    return value if isinstance(value, str) else known_or_not(value)


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


class Keyed(dict[str, Any]):
    """A list without a meaningful order, by the names of its items."""


def by(*names: str) -> Callable[[Any], Any]:
    def keyed(value: Any) -> Any:
        if value is None:
            return None
        found = Keyed()
        for each in value:
            key = " ".join(str(each.get(name, "")) for name in names)
            found[f"{key} again" if key in found else key] = each
        return found

    return keyed


def features(value: Any) -> Any:
    """Kafka can still write the records of metadata versions since 7, and we those of 4.3."""
    return by("name")([each | {"min_version": None} if each["name"] == METADATA_VERSION else each for each in value])


# The addresses and directories of a node; the default of the last one comes out of a Java hash map.
OF_THE_INSTALLATION = {"log.dirs", "listeners", "advertised.listeners", "controller.quorum.voters", "listener.security.protocol.map"}
# Kafka's authorizer reads them straight from the file, so Kafka does not list them; the last one
# names a store, where Kafka names a class.
NOT_LISTED_BY_KAFKA = {"super.users", "allow.everyone.if.no.acl.found", "remote.log.storage.url"} | LATER_KEYS


def settings(value: Any) -> Any:
    """Kafka lists settings in the order of a hash map, and two nodes cannot have the same addresses
    and directories."""
    found = []
    for each in value:
        if each["name"] in OF_THE_INSTALLATION:
            synonyms = [synonym | {"value": None} for synonym in each["synonyms"]]
            found.append(each | {"value": None, "synonyms": synonyms})
        elif each["name"] not in NOT_LISTED_BY_KAFKA and not each["name"].startswith("barnabas."):
            found.append(each)
    return by("name")(found)


def known_to_kafka(value: Any) -> Any:
    if value is None:
        return None
    return [each for each in value if each["name"] not in LATER_KEYS and not each["name"].startswith("barnabas.")]


def outcomes(value: Any) -> Any:
    """For a refused batch Kafka sometimes returns the log start offset, depending on which of its
    layers refused."""
    return by("index")([each if each["error_code"] == 0 else each | {"log_start_offset": None} for each in value])


def fetched(value: Any) -> Any:
    """An error has no aborted transactions, which Kafka writes sometimes as null and sometimes as
    an empty list. Kafka also puts missing partitions behind the others."""
    return by("partition_index")([each if each["error_code"] == 0 else each | {"aborted_transactions": None} for each in value])


def of_topics(value: Any) -> Any:
    """By name; where topics have only ids, by the names that a script gave them, if it did."""
    return by("name", "topic_id")([each if isinstance(each.get("topic_id", ""), str) else each | {"topic_id": ""} for each in value])


def of_quotas(value: Any) -> Any:
    """Entities by their names; Kafka lists them, their parts and their values in the order of hash
    maps."""
    if value is None:
        return None
    found = Keyed()
    for each in value:
        parts = sorted(each["entity"], key=lambda part: str(part["entity_type"]))
        # As text, because a value that is not a number does not even equal itself.
        values = sorted(f"{one['key']}={one['value']}" for one in each["values"]) if "values" in each else None
        name = " ".join(f"{part['entity_type']}={part['entity_name']!r}" for part in parts)
        found[name] = each | {"entity": parts} | ({} if values is None else {"values": values})
    return found


def of_endpoints(value: Any) -> Any:
    if value is None:
        return None

    def partitions(each: Any, kind: str) -> Any:
        return sorted((one["topic"], sorted(one["partitions"])) for one in each[kind])

    kinds = ("active_partitions", "standby_partitions")
    sorted_inside = [each | {kind: partitions(each, kind) for kind in kinds} for each in value]
    return sorted(sorted_inside, key=lambda each: (each["user_endpoint"]["host"], each["user_endpoint"]["port"]))


of_resources = by("resource_type", "resource_name")

INTENDED = (
    Rule("Produce", "*error_message", ignored, "we say why where Kafka is silent"),
    Rule("Produce", "responses", by("name"), "Kafka answers in the order of a hash map"),
    Rule("Produce", "responses[].partition_responses", outcomes, "in the order of a hash map; see outcomes()"),
    Rule("*", "*error_message", presence, "the sentences are ours; where there is one, and where there is none, is Kafka's"),
    Rule("*", "*topic_id", zero_or_not, "topic ids are random"),
    Rule("*", "*.port", ignored, "two nodes on one machine listen on different ports"),
    Rule("ApiVersions", "supported_features", features, "Kafka answers in the order of a hash map; see features()"),
    Rule("ApiVersions", "finalized_features", by("name"), "Kafka answers in the order of a hash map"),
    Rule("ApiVersions", "finalized_features_epoch", known_or_not, "an offset of the metadata log"),
    Rule("CreateTopics", "topics[].configs", known_to_kafka, "settings of Kafka 4.4"),
    Rule("DeleteRecords", "topics", by("name"), "Kafka answers in the order of a hash map"),
    Rule("DeleteRecords", "topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("DescribeConfigs", "results[].configs[].documentation", presence, "the sentences are ours"),
    Rule("DescribeConfigs", "results[].configs", settings, "addresses and paths; settings of ours alone; see settings()"),
    Rule("DeleteTopics", "responses", by("name"), "Kafka shuffles its answers"),
    Rule("DescribeLogDirs", "results[].log_dir", ignored, "two nodes cannot live in one directory"),
    Rule("DescribeLogDirs", "results[].usable_bytes", known_or_not, "the disk is in use"),
    Rule("DescribeLogDirs", "results[].topics", by("name"), "Kafka answers in the order of a hash map"),
    Rule("DescribeLogDirs", "results[].topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("DescribeQuorum", "*high_watermark", known_or_not, "an offset of the metadata log"),
    Rule("DescribeQuorum", "*log_end_offset", known_or_not, "an offset of the metadata log"),
    Rule("DescribeQuorum", "*_timestamp", known_or_not, "a time"),
    Rule("Fetch", "responses[].partitions", fetched, "see fetched()"),
    Rule("Fetch", "session_id", bool, "ids of sessions are random"),
    Rule("FindCoordinator", "port", known_or_not, "two nodes on one machine listen on different ports"),
    Rule("InitProducerId", "producer_id", producer, "each hands out its own ids"),
    Rule("AlterConfigs", "responses", of_resources, "Kafka's controller answers in the order of a hash map"),
    Rule("IncrementalAlterConfigs", "responses", of_resources, "Kafka's controller answers in the order of a hash map"),
    Rule("AlterClientQuotas", "entries", of_quotas, "see of_quotas()"),
    Rule("DescribeClientQuotas", "entries", of_quotas, "see of_quotas()"),
    Rule("DescribeGroups", "groups", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("DescribeGroups", "groups[].members", by("member_id"), "Kafka answers in the order of a hash map"),
    Rule("DeleteGroups", "results", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("JoinGroup", "members", by("member_id"), "Kafka answers in the order of a hash map"),
    Rule("ListGroups", "groups", by("group_id"), "Kafka answers in the order of a hash map"),
    Rule("OffsetFetch", "groups", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("OffsetFetch", "topics", by("name"), "Kafka answers in the order of a hash map"),
    Rule("OffsetFetch", "groups[].topics", of_topics, "Kafka answers in the order of a hash map"),
    Rule("OffsetFetch", "topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("OffsetFetch", "groups[].topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("AddPartitionsToTxn", "results_by_topic_v3_and_below", by("name"), "Kafka answers in the order of a hash map"),
    Rule("AddPartitionsToTxn", "*results_by_partition", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("AddPartitionsToTxn", "results_by_transaction", by("transactional_id"), "Kafka answers in the order of a hash map"),
    Rule("AddPartitionsToTxn", "*topic_results", by("name"), "Kafka answers in the order of a hash map"),
    Rule("TxnOffsetCommit", "topics", by("name"), "Kafka puts topics that it does not have in front"),
    Rule("TxnOffsetCommit", "topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("ListTransactions", "transaction_states", by("transactional_id"), "Kafka answers in the order of a hash map"),
    Rule("DescribeTransactions", "*transaction_start_time_ms", sign, "a time"),
    Rule("DescribeTransactions", "transaction_states[].topics", by("topic"), "Kafka answers in the order of a hash map"),
    Rule("DescribeTransactions", "transaction_states[].topics[].partitions", sorted, "Kafka answers in the order of a hash set"),
    Rule("DescribeProducers", "topics[].partitions[].active_producers", by("producer_id"), "Kafka answers in the order of a hash map"),
    Rule("DescribeProducers", "*last_timestamp", known_or_not, "the time of a marker"),
    Rule("WriteTxnMarkers", "markers[].topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("ConsumerGroupHeartbeat", "assignment.topic_partitions", by("topic_id"), "Kafka answers in the order of a hash map"),
    Rule("ConsumerGroupHeartbeat", "*.partitions", sorted, "Kafka answers in the order of a hash set"),
    Rule("ShareGroupHeartbeat", "assignment.topic_partitions", by("topic_id"), "Kafka answers in the order of a hash map"),
    Rule("ShareGroupHeartbeat", "*.partitions", sorted, "Kafka answers in the order of a hash set"),
    Rule("ShareGroupDescribe", "groups", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("ShareGroupDescribe", "groups[].members", by("member_id"), "Kafka answers in the order of a hash map"),
    Rule("ShareGroupDescribe", "*.subscribed_topic_names", sorted, "Kafka answers in the order of a hash set"),
    Rule("ShareGroupDescribe", "*.topic_partitions", by("topic_name"), "Kafka answers in the order of a hash map"),
    Rule("ShareGroupDescribe", "*.partitions", sorted, "Kafka answers in the order of a hash set"),
    Rule("DescribeShareGroupOffsets", "groups[].topics", by("topic_name"), "Kafka answers in the order of a hash map"),
    Rule("DescribeShareGroupOffsets", "groups[].topics[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("AlterShareGroupOffsets", "responses", by("topic_name"), "Kafka answers in the order of a hash map"),
    Rule("AlterShareGroupOffsets", "responses[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("DeleteShareGroupOffsets", "responses", by("topic_name"), "Kafka answers in the order of a hash map"),
    Rule("ConsumerGroupDescribe", "groups", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("ConsumerGroupDescribe", "groups[].members", by("member_id"), "Kafka answers in the order of a hash map"),
    Rule("ConsumerGroupDescribe", "*.subscribed_topic_names", sorted, "Kafka answers in the order of a hash set"),
    Rule("ConsumerGroupDescribe", "*.topic_partitions", by("topic_name"), "Kafka answers in the order of a hash map"),
    Rule("ConsumerGroupDescribe", "*.partitions", sorted, "Kafka answers in the order of a hash set"),
    Rule("GetTelemetrySubscriptions", "client_instance_id", zero_or_not, "ids are random, unless the client sends one"),
    Rule("StreamsGroupHeartbeat", "active_tasks", by("subtopology_id"), "Kafka answers in the order of a hash map"),
    Rule("StreamsGroupHeartbeat", "standby_tasks", by("subtopology_id"), "Kafka answers in the order of a hash map"),
    Rule("StreamsGroupHeartbeat", "partitions_by_user_endpoint", of_endpoints, "Kafka answers in the order of hash maps"),
    Rule("StreamsGroupDescribe", "groups", by("group_id"), "Kafka answers in the order in which its threads get to it"),
    Rule("StreamsGroupDescribe", "groups[].members", by("member_id"), "Kafka answers in the order of a hash map"),
    Rule("StreamsGroupDescribe", "*.topic_configs", by("key"), "Kafka answers in the order of a hash map"),
    Rule("StreamsGroupDescribe", "*.client_tags", by("key"), "Kafka answers in the order of a hash map"),
    Rule("ShareFetch", "responses", of_topics, "Kafka answers in the order of a hash map"),
    Rule("ShareFetch", "responses[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("ShareAcknowledge", "responses", of_topics, "Kafka answers in the order of a hash map"),
    Rule("ShareAcknowledge", "responses[].partitions", by("partition_index"), "Kafka answers in the order of a hash map"),
    Rule("ListConfigResources", "config_resources", of_resources, "Kafka answers in the order of a hash set"),
    Rule("Metadata", "topics", by("name"), "Kafka answers in the order of a hash set"),
)


@cache
def rule_for(api: str, path: str) -> Rule | None:
    for rule in INTENDED:
        if rule.api in ("*", api) and (path == rule.path or (rule.path[0] == "*" and path.endswith(rule.path[1:]))):
            return rule
    return None
