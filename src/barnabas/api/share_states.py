"""The common part of the five APIs with which brokers keep the state of share partitions.

Each request names share partitions of one group. They may belong to several shards, all of which
should be on this broker; a share partition whose shard is elsewhere gets NOT_COORDINATOR.
Operations on one shard are written together, as one batch. Only brokers may send these requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.coordinators.share.operations import Operation, Result, Write, decide_all
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.coordinators.share.refusal import Refusal
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise, all_of

# The share partitions of one request; with more, each gets INVALID_REQUEST. The brokers of a
# cluster send fewer, and deciding about this many takes part of a second.
PARTITIONS_PER_REQUEST_MAX = 10_000
# Operations and state batches that are written together. Twenty bytes for a state batch keep the
# written batch below a megabyte, the default of max.message.bytes.
OPERATIONS_TOGETHER_MAX = 1_000
BATCHES_TOGETHER_MAX = 20_000

_DENIED = Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
_TOO_MANY = Refusal(ErrorCode.INVALID_REQUEST, f"A request names at most {PARTITIONS_PER_REQUEST_MAX} share partitions.")
# Kafka's sentences about a coordinator that cannot answer.
_MESSAGES = {
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
}

Answer: TypeAlias = Result | Refusal


class AnsweredTopic(NamedTuple):
    topic_id: Uuid
    partitions: list[tuple[int, Answer]]


def answered(
    broker: Broker,
    request: Any,
    operation_of: Callable[[SharePartitionKey, Any], Operation],
    *,
    allowed: bool,
    failure: str,
    empty_topics: bool = False,
) -> Promise[list[AnsweredTopic]]:
    """The answers to a request of a caller that is ``allowed`` to act as a broker. ``failure``
    begins the sentence about a coordinator that cannot answer. A request without a group, topics,
    or partitions of a topic has no answers, as in Kafka; with ``empty_topics`` a topic without
    partitions is skipped.
    """
    asked = [(topic.topic_id, list(topic.partitions)) for topic in request.topics]
    if not allowed:
        return Promise.kept(_same_for_all(asked, _DENIED))
    if not request.group_id or (not empty_topics and not all(partitions for _, partitions in asked)):
        return Promise.kept([])
    if sum(len(partitions) for _, partitions in asked) > PARTITIONS_PER_REQUEST_MAX:
        return Promise.kept(_same_for_all(asked, _TOO_MANY))
    group_id = request.group_id
    named = [(topic_id, each) for topic_id, partitions in asked for each in partitions]
    operations = [operation_of(SharePartitionKey(group_id, topic_id, each.partition), each) for topic_id, each in named]
    # One answer for each share partition; of a repeated one the last, as in Kafka.
    answers: dict[SharePartitionKey, Answer] = {}

    def collect(_: list[None]) -> list[AnsweredTopic]:
        by_topic: dict[Uuid, list[tuple[int, Answer]]] = {}
        for key in dict.fromkeys(operation.key for operation in operations):
            by_topic.setdefault(key.topic_id, []).append((key.partition, answers[key]))
        return [AnsweredTopic(*each) for each in by_topic.items()]

    return all_of([_run(broker, shard, together, answers, failure) for shard, together in _shards(broker, operations)]).map(collect)


def _same_for_all(asked: Iterable[tuple[Uuid, Sequence[Any]]], refusal: Refusal) -> list[AnsweredTopic]:
    return [AnsweredTopic(topic_id, [(each.partition, refusal) for each in partitions]) for topic_id, partitions in asked]


def _shards(broker: Broker, operations: Sequence[Operation]) -> Iterator[tuple[int | None, list[Operation]]]:
    """The operations that are written together, with the number of their shard."""
    collected: dict[int | None, dict[SharePartitionKey, Operation]] = {}
    weights: dict[int | None, int] = {}
    for operation in operations:
        shard = broker.share_states.partition_of(operation.key.coordinator_key)
        together = collected.setdefault(shard, {})
        weight = len(operation.batches) if isinstance(operation, Write) else 0
        full = len(together) >= OPERATIONS_TOGETHER_MAX or weights.get(shard, 0) + weight > BATCHES_TOGETHER_MAX
        # The second operation on a share partition must see the records of the first.
        if together and (full or operation.key in together):
            yield shard, list(together.values())
            together.clear()
            weights[shard] = 0
        together[operation.key] = operation
        weights[shard] = weights.get(shard, 0) + weight
    for shard, together in collected.items():
        yield shard, list(together.values())


def _run(
    broker: Broker, shard: int | None, operations: list[Operation], answers: dict[SharePartitionKey, Answer], failure: str
) -> Promise[None]:
    def came(found: list[Answer] | ErrorCode) -> None:
        if isinstance(found, ErrorCode):
            code = client_error(found)
            found = [Refusal(code, f"{failure}: {_MESSAGES.get(code, code.name)}")] * len(operations)
        for operation, answer in zip(operations, found, strict=True):
            answers[operation.key] = answer

    if shard is None:
        came(ErrorCode.NOT_COORDINATOR)
        return Promise.kept(None)
    return broker.share_states.run_at(shard, lambda machine, now_ms: decide_all(operations, machine, now_ms)).map(came)


def error_of(answer: Answer) -> tuple[ErrorCode, str | None]:
    """The code and the sentence of an answer."""
    if isinstance(answer, Refusal):
        return answer.code, answer.message
    return ErrorCode.NONE, None
