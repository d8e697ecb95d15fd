"""Hostile transactions: with false identities, false writes and false owners; and too many of
them.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.hostile.conftest import Victim
from tests.hostile.test_groups import SEED, await_coordinator, grown
from tests.hostile.test_resources import BYSTANDER_SECONDS_MAX, Bystander
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, fetch_request, frame_of, newest, produce_request
from tests.waiting import until

TIMEOUT_MS = 60_000
LONG = "x" * 32_000
# The last versions of clients before KIP-890, which add partitions and offsets to transactions
# themselves.
ADD_PARTITIONS_BY_CLIENT, COMMIT_BY_OLD_CLIENT = 3, 4
READ_COMMITTED = 1
FETCH_BY_NAME = 12
_NOT_YET = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
# Producer ids and epochs that were never assigned.
LIES = [(-1, -1), (0, 0), (2**63 - 1, 0), (-(2**63), 3), (5, -1), (5, 32_767), (5, -32_768)]


@pytest.fixture(autouse=True)
def coordinators(victim: Victim) -> None:
    with victim.client() as client:
        await_coordinator(client)
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["anybody"]))
        until(lambda: not begin(client, "anybody").error_code, "transactions are served")


def begin(client: Client, transactional_id: str, **options: Any) -> InitProducerIdResponse:
    options = {"transaction_timeout_ms": TIMEOUT_MS, **options}
    response: InitProducerIdResponse = client.ask(InitProducerIdRequest(transactional_id=transactional_id, **options))
    return response


def add(
    transactional_id: str, producer_id: int, epoch: int, topics: list[tuple[str, list[int]]], **options: Any
) -> AddPartitionsToTxnRequest:
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics],
        **options,
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def end(transactional_id: str, producer_id: int, epoch: int, *, committed: bool = True) -> EndTxnRequest:
    return EndTxnRequest(transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=committed)


def commit(
    transactional_id: str, producer_id: int, epoch: int, *, group: str = "liars", partitions: int = 1, **options: Any
) -> TxnOffsetCommitRequest:
    named = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="")] * partitions
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer_id,
        producer_epoch=epoch,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=named)],
        **options,
    )


def mark(
    producer_id: int, epoch: int, topics: list[tuple[str, list[int]]], *, coordinator_epoch: int = 0, version: int = 0
) -> WriteTxnMarkersRequest:
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics],
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def produce(client: Client, transactional_id: str | None, topic: str, producer_id: int, epoch: int, *, sequence: int = 0) -> int:
    batch = batch_of([b"x"], producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True)
    request = produce_request(topic, 0, batch, acks=-1)
    request.transactional_id = transactional_id
    error: int = client.ask(request, PRODUCE_BY_NAME).responses[0].partition_responses[0].error_code
    return error


def is_stable(client: Client, topic: str) -> bool:
    read = client.ask(fetch_request([(topic, 0, 0)], isolation_level=READ_COMMITTED), FETCH_BY_NAME).responses[0].partitions[0]
    return bool(read.last_stable_offset == read.high_watermark)


# -- names and numbers at their ends


@pytest.mark.parametrize("name", ["", LONG, "nul\x00", "\N{SNOWMAN}" * 10_000, "\n"], ids=["empty", "long", "nul", "snowmen", "line"])
def test_any_transactional_id_is_answered_by_every_api(victim: Victim, name: str) -> None:
    with victim.client() as client:
        granted = begin(client, name)
        identity = granted.producer_id, granted.producer_epoch
        for request, version in (
            (FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), None),
            (add(name, *identity, [("t", [0])]), None),
            (AddOffsetsToTxnRequest(transactional_id=name, producer_id=identity[0], producer_epoch=identity[1], group_id=LONG), None),
            (commit(name, *identity, group=LONG, member_id=LONG, generation_id=3, group_instance_id=LONG), None),
            (DescribeTransactionsRequest(transactional_ids=[name]), None),
            (ListTransactionsRequest(state_filters=[name], producer_id_filters=[identity[0]], transactional_id_pattern=""), None),
            (end(name, *identity, committed=False), None),
        ):
            client.ask(request, version)


@pytest.mark.parametrize("size", [32_768, 70_000, 1_000_000])
def test_an_id_that_a_log_could_not_hold_ends_the_connection(victim: Victim, size: int) -> None:
    requests = (
        InitProducerIdRequest(transactional_id=SEED, transaction_timeout_ms=TIMEOUT_MS),
        end(SEED, 1, 1),
        commit("t", 1, 1, group=SEED),
        add(SEED, 1, 1, [("t", [0])]),
    )
    for request in requests:
        with victim.client() as client:
            client.send_bytes(grown(frame_of(request, newest(request)), size))
            assert client.hung_up()


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001, 2**31 - 1, -(2**31)])
def test_transaction_timeouts_above_the_limit_are_refused(victim: Victim, timeout_ms: int) -> None:
    with victim.client() as client:
        assert begin(client, "endless", transaction_timeout_ms=timeout_ms).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


# -- lies about producers


@pytest.mark.parametrize(("producer_id", "epoch"), LIES)
def test_only_the_producer_of_a_transaction_can_write_to_it_or_end_it(victim: Victim, producer_id: int, epoch: int) -> None:
    with victim.client() as client:
        topic = f"honest-{LIES.index((producer_id, epoch))}"
        client.create_topic(topic)
        granted = begin(client, topic)
        honest = granted.producer_id, granted.producer_epoch
        assert produce(client, topic, topic, *honest) == 0
        for liar in ((producer_id, epoch), (honest[0], honest[1] + 1), (honest[0], -1), (honest[0] + 1, honest[1])):
            assert client.ask(end(topic, *liar)).error_code != 0
            assert client.ask(end(topic, *liar), 0).error_code != 0
            added = client.ask(add(topic, *liar, [("t", [0])]))
            assert added.results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code != 0
            for version in (0, COMMIT_BY_OLD_CLIENT, newest(commit(topic, *liar))):
                assert client.ask(commit(topic, *liar), version).topics[0].partitions[0].error_code != 0
            assert produce(client, topic, "t", *liar) != 0
            adding = AddOffsetsToTxnRequest(transactional_id=topic, producer_id=liar[0], producer_epoch=liar[1], group_id="liars")
            assert client.ask(adding).error_code != 0
        # Nor the producer itself under another transactional id, or without one.
        assert produce(client, "somebody else", "t", *honest) != 0
        assert produce(client, None, "t", *honest) != 0
        assert client.ask(commit("somebody else", *honest)).topics[0].partitions[0].error_code != 0
        assert client.ask(end("somebody else", *honest)).error_code != 0
        assert client.ask(end(topic, *honest)).error_code == 0
        until(lambda: is_stable(client, topic), "the honest transaction is committed")
        assert is_stable(client, "t"), "no open transaction is left"
        (group,) = client.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="liars", topics=None)]), 9).groups
        assert not group.topics


def test_an_impossible_producer_identity_is_refused(victim: Victim) -> None:
    with victim.client() as client:
        for producer_id, epoch in ((5, -1), (-1, 5)):
            assert begin(client, "half", producer_id=producer_id, producer_epoch=epoch).error_code == ErrorCode.INVALID_REQUEST
        granted = begin(client, "whole")
        for epoch in (granted.producer_epoch + 1, 32_767, -2):
            answer = begin(client, "whole", producer_id=granted.producer_id, producer_epoch=epoch)
            assert answer.error_code == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(("producer_id", "epoch"), LIES)
@pytest.mark.parametrize("version", [0, 1, 2, 127, -1])
def test_markers_without_a_transaction_break_no_log(victim: Victim, producer_id: int, epoch: int, version: int) -> None:
    """Kafka accepts them from every client with cluster permissions. They end only the transaction
    they name, and break no log.
    """
    topics = [("t", [0]), ("missing", [0, -1]), ("__consumer_offsets", [0, 49, 50]), ("__transaction_state", [0])]
    with victim.client() as client:
        for coordinator_epoch in (-1, 0, 2**31 - 1):
            answer = client.ask(mark(producer_id, epoch, topics, coordinator_epoch=coordinator_epoch, version=version))
            assert [topic.name for topic in answer.markers[0].topics] == [name for name, _ in topics]
        assert is_stable(client, "t")


def test_markers_in_a_log_do_not_keep_its_coordinator_from_coming_back() -> None:
    """Coordinators read false markers in their logs when they load them."""
    with EmbeddedBroker(process=True, config={"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}) as kafka:
        for _ in range(2):
            with Client(kafka.bootstrap) as client:
                await_coordinator(client)
                client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]))
                until(lambda client=client: not begin(client, "x").error_code, "transactions are served")  # type: ignore[misc]
                for producer_id, epoch in LIES:
                    client.ask(mark(producer_id, epoch, [("__consumer_offsets", [0]), ("__transaction_state", [0])]))
            kafka.kill()
            kafka.start()
        with Client(kafka.bootstrap) as client:
            until(lambda: not begin(client, "x").error_code, "transactions are served again")
        assert kafka.complaints == ""


# -- topics that clients must not write to


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_clients_cannot_produce_to_internal_topics(victim: Victim, topic: str) -> None:
    with victim.client() as client:
        before = client.end_offset(topic)
        for acks in (1, -1):
            answer = client.produce_batch(topic, 0, batch_of([b"garbage"], key=b"\x00\x01"), acks=acks)
            assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        granted = begin(client, "intruder")
        assert produce(client, "intruder", topic, granted.producer_id, granted.producer_epoch) != 0
        added = client.ask(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="intruder",
                v3_and_below_producer_id=granted.producer_id,
                v3_and_below_producer_epoch=granted.producer_epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
            ),
            ADD_PARTITIONS_BY_CLIENT,
        )
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert client.end_offset(topic) == before


def test_a_control_batch_from_a_client_ends_no_transaction(victim: Victim) -> None:
    with victim.client() as client:
        client.create_topic("forged")
        granted = begin(client, "forger")
        identity = granted.producer_id, granted.producer_epoch
        assert produce(client, "forger", "forged", *identity) == 0
        forged = batch_of(
            [b"\x00\x00\x00\x00\x00\x00"], key=b"\x00\x00\x00\x01", producer_id=identity[0], producer_epoch=identity[1], control=True
        )
        assert client.produce_batch("forged", 0, forged).error_code != 0
        assert not is_stable(client, "forged")
        assert client.ask(end("forger", *identity, committed=False)).error_code == 0
        until(lambda: is_stable(client, "forged"), "the transaction is aborted")


# -- too many


def test_a_flood_of_new_transactional_ids_costs_bounded_memory(victim: Victim) -> None:
    """Each is remembered for a week: a few hundred bytes."""
    seen_ids = set()
    with victim.client() as client, Bystander(victim) as seen:
        for start in range(0, 5_000, 100):
            requests = [
                InitProducerIdRequest(transactional_id=f"fresh {number}", transaction_timeout_ms=TIMEOUT_MS)
                for number in range(start, start + 100)
            ]
            for request in requests:
                client.send(request)
            for request in requests:
                answer = client.receive(request)[1]
                assert answer.error_code == 0
                seen_ids.add(answer.producer_id)
        assert len(seen_ids) == 5_000
        listed = client.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[])).transaction_states
        assert len(listed) >= 5_000
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_two_producers_with_one_transactional_id_fence_each_other(victim: Victim) -> None:
    """Each fences the other, with a transaction open each time."""
    with victim.client() as client, Bystander(victim) as seen:
        for _ in range(100):
            granted = until(lambda: _granted(client, "contested"), "the id is given")
            client.ask(add("contested", granted.producer_id, granted.producer_epoch, [("t", [0])]))
        granted = until(lambda: _granted(client, "contested"), "the id is given")
    assert seen.worst < 1


def _granted(client: Client, transactional_id: str) -> InitProducerIdResponse | None:
    answer = begin(client, transactional_id)
    return answer if not answer.error_code else None


def test_long_lists_are_answered_and_delay_no_client(victim: Victim) -> None:
    names = [f"nobody {number}" for number in range(20_000)]
    with victim.client() as client:
        granted = begin(client, "wide")
    identity = granted.producer_id, granted.producer_epoch
    many = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=1,
                producer_epoch=1,
                verify_only=True,
                topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
            )
            for name in names
        ]
    )
    requests = [
        (add("wide", *identity, [("missing", list(range(100_000)))]), None),
        (add("wide", *identity, [("t", [0] * 100_000)]), None),
        (add("wide", *identity, [("t", [0])] * 20_000), None),
        (many, None),
        (commit("wide", *identity, partitions=50_000), None),
        (DescribeTransactionsRequest(transactional_ids=names), None),
        (ListTransactionsRequest(state_filters=names, producer_id_filters=list(range(20_000))), None),
        (DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0] * 20_000)]), None),
        (mark(3, 3, [("missing", list(range(100_000)))]), None),
        (WriteTxnMarkersRequest(markers=mark(3, 3, [("t", [0])]).markers * 2_000), None),
        (end("wide", *identity, committed=False), None),
    ]
    for request, version in requests:
        with victim.client() as client, Bystander(victim) as seen:
            client.ask(request, version)
        assert seen.worst < BYSTANDER_SECONDS_MAX, type(request).__name__


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(a?){100}a{100}", "([a-z]+)*b", "(x+x+)+y"])
def test_slow_patterns_delay_no_client(victim: Victim, pattern: str) -> None:
    with victim.client() as client, Bystander(victim) as seen:
        for ending in ("", "b", "!"):
            begin(client, "a" * 1_000 + ending)
        answer = client.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[], transactional_id_pattern=pattern))
        assert answer.error_code == 0
    assert seen.worst < BYSTANDER_SECONDS_MAX


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "(?=a)", "\\", "x" * 30_000])
def test_invalid_patterns_are_refused(victim: Victim, pattern: str) -> None:
    with victim.client() as client:
        answer = client.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[], transactional_id_pattern=pattern))
        assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_aborted_records_are_hidden_after_a_forced_abort(victim: Victim) -> None:
    with victim.client() as client:
        client.create_topic("aborted")
        granted = begin(client, "aborter")
        identity = granted.producer_id, granted.producer_epoch
        assert produce(client, "aborter", "aborted", *identity) == 0
        # A client that knows the producer ends its transaction by force, as an administrator ends a
        # hanging one.
        client.ask(mark(*identity, [("aborted", [0])]))
        read = client.ask(fetch_request([("aborted", 0, 0)], isolation_level=READ_COMMITTED), FETCH_BY_NAME).responses[0].partitions[0]
        assert [(each.producer_id, each.first_offset) for each in read.aborted_transactions] == [(identity[0], 0)]
        client.ask(end("aborter", *identity, committed=False))
