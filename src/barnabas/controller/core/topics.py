"""Topics created, grown and deleted.

Each topic of a request is decided separately: a topic that cannot be created gets an error in the
response, and the others are created.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from barnabas.config.keys import ConfigError
from barnabas.controller.core.configs import check_topic_configs
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.placement import Candidate, PlacementFailed, place
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage, TopicImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC, ZERO_UUID, Uuid
from barnabas.model.topic_names import collision_key, why_illegal
from barnabas.security.quotas.mutation_quota import MutationQuota
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord, RemoveTopicRecord

# One request becomes one batch of the metadata log, and every node must hold it in memory.
PARTITIONS_PER_REQUEST_MAX = 10_000
_UNSET = -1


def create_topics(
    image: MetadataImage,
    effective: EffectiveConfigs,
    entropy: Entropy,
    request: CreateTopicsRequest,
    mutations: MutationQuota | None = None,
) -> Outcome:
    records: list[MetadataRecord] = []
    results = []
    named = Counter(topic.name for topic in request.topics)
    # Only names with a '.' or a '_' can collide with another name; among thousands of topics, most
    # have neither.
    taken = {collision_key(name): name for name in image.topics.by_name if "." in name or "_" in name}
    if _partitions_wanted(request, effective) > PARTITIONS_PER_REQUEST_MAX:
        too_many = KafkaError(
            ErrorCode.POLICY_VIOLATION, f"Excessively large number of partitions: one request may create {PARTITIONS_PER_REQUEST_MAX}."
        )
        refused_all = [_refused_topic(topic.name, too_many) for topic in request.topics]
        return Outcome(CreateTopicsResponse(throttle_time_ms=0, topics=refused_all))
    # Names that can never be created are answered after the others, as with Kafka, which removes
    # them before it decides.
    always_refused = {name: _always_refused(name, times) for name, times in named.items()}
    for topic in request.topics:
        if always_refused[topic.name] is not None:
            continue
        try:
            _check_name(topic.name, image, taken)
            configs = _checked_configs(topic, effective)
            assignments = _assignments(topic, image, effective, entropy)
            partitions = _new_partitions(image, assignments, by_hand=bool(topic.assignments))
            _pay(mutations, len(partitions))
        except KafkaError as refused:
            results.append(_refused_topic(topic.name, refused))
            continue
        taken[collision_key(topic.name)] = topic.name
        made = TopicImage(topic.name, Uuid(random_uuid(entropy)), dict(enumerate(partitions)))
        if not request.validate_only:
            records.extend(made.records())
            records.extend(
                ConfigRecord(resource_type=2, resource_name=topic.name, name=name, value=value) for name, value in configs.items()
            )
        results.append(_made_topic(made, effective, configs))
    results.extend(_refused_topic(name, refused) for name, refused in always_refused.items() if refused is not None)
    return Outcome(CreateTopicsResponse(throttle_time_ms=0, topics=results), records)


def _pay(mutations: MutationQuota | None, partitions: int) -> None:
    """The last of all checks, because a client does not pay for what is refused anyway. It pays
    also when it only validates, as in Kafka."""
    if mutations is not None:
        mutations.take(partitions)


def _partitions_wanted(request: CreateTopicsRequest, effective: EffectiveConfigs) -> int:
    default = effective.settings.integer("num.partitions")
    return sum(
        len(topic.assignments) or (default if topic.num_partitions == _UNSET else max(0, topic.num_partitions)) for topic in request.topics
    )


def _always_refused(name: str, times: int) -> KafkaError | None:
    if times > 1:
        return KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if name == METADATA_TOPIC:
        return KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    return None


def _check_name(name: str, image: MetadataImage, taken: Mapping[str, str]) -> None:
    reason = why_illegal(name)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}.")
    if name in image.topics.by_name:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = taken.get(collision_key(name))
    if other is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}, since metrics write '.' as '_'."
        )


def _assignments(topic: CreatableTopic, image: MetadataImage, effective: EffectiveConfigs, entropy: Entropy) -> list[list[int]]:
    """The replicas of every partition: as the request assigns them, or placed by the controller."""
    if topic.assignments:
        if topic.replication_factor != _UNSET:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "A manual partition assignment was specified, but replication factor was not set to -1."
            )
        if topic.num_partitions != _UNSET:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A manual partition assignment was specified, but numPartitions was not set to -1.")
        by_index = {each.partition_index: each.broker_ids for each in topic.assignments}
        if sorted(by_index) != list(range(len(topic.assignments))):
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions must be numbered from 0, without gaps and without repeats.")
        assignments = [by_index[index] for index in range(len(by_index))]
        for replicas in assignments:
            check_replicas(replicas, image)
        if len({len(replicas) for replicas in assignments}) > 1:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "All partitions must have the same number of replicas.")
        return assignments
    partitions, factor = topic.num_partitions, topic.replication_factor
    if partitions == _UNSET:
        partitions = effective.settings.integer("num.partitions")
    if factor == _UNSET:
        factor = effective.settings.integer("default.replication.factor")
    if factor <= 0 or factor > 32767:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0, or -1 to use the default value.")
    if partitions <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0, or -1 to use the default number of partitions."
        )
    return _place(image, entropy, partitions=partitions, factor=factor)


def _place(image: MetadataImage, entropy: Entropy, *, partitions: int, factor: int) -> list[list[int]]:
    # A broker that is stopping or has no room gets no new replicas. A fenced broker may come back,
    # and gets only the replicas that the others cannot take.
    candidates = [
        Candidate(broker.broker_id, broker.rack, usable=not broker.fenced)
        for _, broker in sorted(image.cluster.brokers.items())
        if broker.takes_new_replicas and (broker.fenced or not broker.in_controlled_shutdown)
    ]
    try:
        return place(candidates, partitions=partitions, replication_factor=factor, below=entropy.below)
    except PlacementFailed as failed:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, f"Unable to replicate the partition {factor} time(s): {failed}") from None


def check_replicas(replicas: list[int], image: MetadataImage) -> None:
    if not replicas:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list.")
    if len(set(replicas)) < len(replicas):
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes a broker twice: {replicas}.")
    for replica in replicas:
        if replica not in image.cluster.brokers:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {replica}, but no such broker is registered.",
            )


def _checked_configs(topic: CreatableTopic, effective: EffectiveConfigs) -> dict[str, str]:
    if any(config.value is None for config in topic.configs):
        raise KafkaError(ErrorCode.INVALID_CONFIG, "Null value not supported for topic configs.")
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    try:
        check_topic_configs(topic.name, configs, effective)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, error.response_text) from None
    return configs


def _new_partitions(image: MetadataImage, assignments: list[list[int]], *, by_hand: bool) -> list[PartitionImage]:
    """Fenced brokers start outside the in-sync replicas, because they cannot create the log yet."""
    made = []
    for replicas in assignments:
        brokers = [image.cluster.brokers[replica] for replica in replicas]
        isr = tuple(broker.broker_id for broker in brokers if broker.active)
        if not isr:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT if by_hand else ErrorCode.INVALID_REPLICATION_FACTOR,
                f"All brokers that would hold the partition are fenced or in controlled shutdown: {replicas}.",
            )
        directories = tuple(broker.default_directory for broker in brokers)
        made.append(PartitionImage(tuple(replicas), isr, isr[0], leader_epoch=0, partition_epoch=0, directories=directories))
    return made


def _refused_topic(name: str, refused: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=refused.code, error_message=refused.message, num_partitions=-1, replication_factor=-1, configs=[]
    )


def _made_topic(made: TopicImage, effective: EffectiveConfigs, configs: dict[str, str]) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=made.name,
        topic_id=made.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(made.partitions),
        replication_factor=len(made.partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in effective.describe_new_topic(configs)
        ],
    )


def delete_topics(
    image: MetadataImage, effective: EffectiveConfigs, request: DeleteTopicsRequest, mutations: MutationQuota | None = None
) -> Outcome:
    """Serves both ways of naming topics: names alone before version 6, names or ids from then
    on."""
    asked = list(request.topics) + [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names]
    times = Counter((state.name, state.topic_id) for state in asked)
    by_id = {state.topic_id for state in asked if state.name is None}
    records: list[MetadataRecord] = []
    results = []
    # A topic that the request names both by name and by id is not deleted, and gets one result,
    # under its name.
    named_both_ways = {topic.topic_id for topic in (image.topics.by_name.get(state.name or "") for state in asked) if topic} & by_id
    for state in {(state.name, state.topic_id): state for state in asked}.values():
        name, topic_id = state.name, state.topic_id
        try:
            if not effective.settings.flag("delete.topic.enable"):
                raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled by delete.topic.enable.")
            if times[name, topic_id] > 1 and (name is not None or topic_id != ZERO_UUID):
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic.")
            topic = _named_topic(image, name, topic_id)
            if topic.topic_id in named_both_ways:
                if name is None:
                    continue
                topic_id = topic.topic_id
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
            _pay(mutations, len(topic.partitions))
        except KafkaError as refused:
            results.append(DeletableTopicResult(name=name, topic_id=topic_id, error_code=refused.code, error_message=refused.message))
            continue
        records.append(RemoveTopicRecord(topic_id=topic.topic_id))
        results.append(DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=ErrorCode.NONE, error_message=None))
    return Outcome(DeleteTopicsResponse(throttle_time_ms=0, responses=results), records)


def _named_topic(image: MetadataImage, name: str | None, topic_id: Uuid) -> TopicImage:
    if name is not None and topic_id != ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A topic must be named by its name or by its id, not by both.")
    if name is not None:
        topic = image.topics.by_name.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        return topic
    if topic_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    topic = image.topics.by_id.get(topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id.")
    return topic


def create_partitions(
    image: MetadataImage, entropy: Entropy, request: CreatePartitionsRequest, mutations: MutationQuota | None = None
) -> Outcome:
    records: list[MetadataRecord] = []
    results = []
    times = Counter(topic.name for topic in request.topics)
    budget = PARTITIONS_PER_REQUEST_MAX
    for asked in {topic.name: topic for topic in request.topics}.values():
        try:
            if times[asked.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            topic = image.topics.by_name.get(asked.name)
            if topic is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            added = _added_assignments(image, entropy, topic, asked, budget)
            partitions = _new_partitions(image, added, by_hand=asked.assignments is not None)
            _pay(mutations, len(partitions))
        except KafkaError as refused:
            results.append(CreatePartitionsTopicResult(name=asked.name, error_code=refused.code, error_message=refused.message))
            continue
        budget -= len(added)
        first = len(topic.partitions)
        if not request.validate_only:
            records.extend(partition.record(topic.topic_id, first + index) for index, partition in enumerate(partitions))
        results.append(CreatePartitionsTopicResult(name=asked.name, error_code=ErrorCode.NONE, error_message=None))
    return Outcome(CreatePartitionsResponse(throttle_time_ms=0, results=results), records)


def _added_assignments(
    image: MetadataImage, entropy: Entropy, topic: TopicImage, asked: CreatePartitionsTopic, budget: int
) -> list[list[int]]:
    existing = len(topic.partitions)
    if asked.count == existing:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if asked.count < existing:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {existing} partition(s); {asked.count} would not be an increase.",
        )
    wanted = asked.count - existing
    if wanted > budget:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"Excessively large number of partitions: one request may create {PARTITIONS_PER_REQUEST_MAX}."
        )
    # During a reassignment a partition has more replicas than its replication factor.
    factor = len(topic.partitions[0].replicas_wanted)
    if asked.assignments is None:
        return _place(image, entropy, partitions=wanted, factor=factor)
    if len(asked.assignments) != wanted:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {wanted} additional partition(s), but only {len(asked.assignments)} assignment(s) were specified.",
        )
    assignments = [each.broker_ids for each in asked.assignments]
    for replicas in assignments:
        check_replicas(replicas, image)
        if len(replicas) != factor:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The topic's partitions have {factor} replica(s), so a new one must have {factor}, not {len(replicas)}.",
            )
    return assignments
