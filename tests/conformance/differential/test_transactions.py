"""Transactions of old clients and of new ones, zombies and strangers, and what ListTransactions and its kin tell of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.conformance.differential.group_requests import fetch, join, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.transaction_requests import add, add_offsets, commit_offsets, end, init, produce, read

pytestmark = pytest.mark.usefixtures("coordinators")

OLD_PRODUCE, NEW_PRODUCE = 11, 12  # from 12 on a produced record brings its partition into the transaction
OLD_END, NEW_END = 4, 5
OLD_COMMIT, NEW_COMMIT = 4, 5
OLD_ADD, NEW_ADD = 3, 5
AGAIN = {"responses[].partition_responses[].log_append_time_ms": "Kafka answers a repeated batch with its own time for append time"}
RECORDS = {"responses[].partitions[].records": "producer ids and the times of markers"}


def began(scene: Scene, transactional_id: str, name: str = "p", **options: Any) -> None:
    scene.same(init(transactional_id, **options), learns={name: "producer_id"}, expect=ErrorCode.NONE)


def is_in(*states: str) -> Callable[[Any], bool]:
    return lambda answer: answer.transaction_states[0].transaction_state in states


def at_rest(scene: Scene, transactional_id: str) -> None:
    """The markers of an end are written after it was answered."""
    scene.until(DescribeTransactionsRequest(transactional_ids=[transactional_id]), is_in("Empty", "CompleteCommit", "CompleteAbort"))


def shown(scene: Scene, transactional_id: str, topic: str | None = None) -> None:
    scene.same(DescribeTransactionsRequest(transactional_ids=[transactional_id]))
    if topic is not None:
        scene.same(DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]))
        for version in (4, 11, 12):
            scene.same(read(topic), version, differ=RECORDS)
            scene.same(read(topic, committed=False), version, differ=RECORDS)
        for isolation in (0, 1):
            asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
            topics = [ListOffsetsTopic(name=topic, partitions=asked)]
            scene.same(ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics), 8)


# -- identities ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_identities_that_are_refused(scene: Scene, version: int) -> None:
    scene.same(init(""), version)
    for timeout_ms in (0, -1, 900_001, 2**31 - 1):
        scene.same(init(f"timeout-{version}", timeout_ms=timeout_ms), version)
        scene.same(init(None, timeout_ms=timeout_ms), version)
    scene.same(init(f"timeout-{version}", timeout_ms=900_000), version)
    scene.same(init(f"timeout-{version}", timeout_ms=1), version)
    if version >= 3:
        for transactional_id in (None, "", f"given-{version}"):
            for given in ((5, -1), (-1, 5), (-2, -2), (10**15, 3), (10**15, 32767)):
                scene.same(init(transactional_id, producer_id=given[0], epoch=given[1]), version)
                shown(scene, f"given-{version}")


@pytest.mark.parametrize("version", range(6))
def test_every_beginning_fences_whoever_was_there(scene: Scene, version: int) -> None:
    transactional_id = f"again-{version}"
    shown(scene, transactional_id)
    for _ in range(3):
        scene.same(init(transactional_id), version, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
        shown(scene, transactional_id)
    scene.same(init(transactional_id, timeout_ms=5000), version)
    shown(scene, transactional_id)
    if version >= 3:
        # Epoch 3 is the present one; whoever says so goes on, as does who says it again because it did not hear the answer.
        for epoch in (3, 3, 2, 4, 4, 3, 9, 5):
            scene.same(lambda the, epoch=epoch: init(transactional_id, producer_id=the["p"], epoch=epoch), version)
            shown(scene, transactional_id)
        scene.same(lambda the: init(transactional_id, producer_id=the["p"] + 10**6, epoch=5), version)


# -- a life of a transaction --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("age", range(5))
def test_transactions_of_old_clients(pair: Pair, age: int, commit: bool) -> None:
    name = f"old-{age}-{commit}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        adding, ending = min(age, OLD_ADD), min(age, OLD_END)
        offsets, committing = min(age, 3), min(age, OLD_COMMIT)
        scene.same(init(name), age, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
        for round_ in range(2):
            shown(scene, name, topic)
            # A record before its partition is in the transaction.
            scene.same(lambda the, n=round_: produce(name, the["p"], 0, topic, sequence=n), OLD_PRODUCE)
            scene.same(lambda the: add(adding, name, the["p"], 0, [(topic, [0, 1])]), adding)
            scene.same(lambda the: add(adding, name, the["p"], 0, [(topic, [0, 1])]), adding)
            shown(scene, name, topic)
            scene.same(lambda the, n=round_: produce(name, the["p"], 0, topic, sequence=n), OLD_PRODUCE)
            scene.same(lambda the, n=round_: produce(name, the["p"], 0, topic, sequence=n), OLD_PRODUCE, differ=AGAIN)
            shown(scene, name, topic)
            scene.same(lambda the: add_offsets(name, the["p"], 0, name), offsets)
            shown(scene, name)
            scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 7), (1, 9)), committing)
            for stable in (False, True):
                scene.same(lambda the, stable=stable: fetch(the, 9, name, [(topic, [0, 1])], stable=stable), 9)
                scene.same(lambda the, stable=stable: fetch(the, 9, name, None, stable=stable), 9)
            scene.same(lambda the: end(name, the["p"], 0, commit=commit), ending, expect=ErrorCode.NONE)
            at_rest(scene, name)
            shown(scene, name, topic)
            # The markers of offsets are written by the same end.
            scene.same(lambda the: fetch(the, 9, name, [(topic, [0, 1])], stable=True), 9)
            scene.same(lambda the: end(name, the["p"], 0, commit=commit), ending)
            scene.same(lambda the: end(name, the["p"], 0, commit=not commit), ending)


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_transactions_of_new_clients(pair: Pair, commit: bool) -> None:
    name = f"new-{commit}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        began(scene, name)
        for epoch in range(3):
            shown(scene, name, topic)
            scene.same(lambda the, epoch=epoch: produce(name, the["p"], epoch, topic), NEW_PRODUCE)
            scene.same(lambda the, epoch=epoch: produce(name, the["p"], epoch, topic), NEW_PRODUCE, differ=AGAIN)
            shown(scene, name, topic)
            scene.same(lambda the, epoch=epoch: commit_offsets(name, the["p"], epoch, name, topic, (0, epoch)), NEW_COMMIT)
            scene.same(lambda the: fetch(the, 9, name, [(topic, [0])], stable=True), 9)
            shown(scene, name)
            scene.same(lambda the, epoch=epoch: end(name, the["p"], epoch, commit=commit), NEW_END, expect=ErrorCode.NONE)
            at_rest(scene, name)
            shown(scene, name, topic)
            # The answer got lost and the end is said again; then it is said the other way, and by a zombie.
            scene.same(lambda the, epoch=epoch: end(name, the["p"], epoch, commit=commit), NEW_END)
            scene.same(lambda the, epoch=epoch: end(name, the["p"], epoch, commit=not commit), NEW_END)
            scene.same(lambda the, epoch=epoch: produce(name, the["p"], epoch, topic, sequence=1), NEW_PRODUCE)
            scene.same(lambda the: fetch(the, 9, name, [(topic, [0])], stable=True), 9)
            shown(scene, name, topic)
        # Nothing was written: a commit is refused, an abort is not.
        scene.same(lambda the: end(name, the["p"], 3, commit=True), NEW_END)
        shown(scene, name)
        scene.same(lambda the: end(name, the["p"], 3, commit=False), NEW_END)
        at_rest(scene, name)
        shown(scene, name)


def test_an_empty_transaction_ends(scene: Scene) -> None:
    for version in range(6):
        for commit in (True, False):
            name = f"empty-end-{version}-{commit}"
            began(scene, name)
            scene.same(lambda the, name=name, commit=commit: end(name, the["p"], 0, commit=commit), version)
            at_rest(scene, name)
            shown(scene, name)


# -- strangers and zombies ----------------------------------------------------------------------------------------------------


def states(scene: Scene, name: str, topic: str) -> Any:
    """The transactional id in one state after the other; yields the epoch its producer has in it."""
    began(scene, name)
    began(scene, name)
    yield "Empty", 1
    scene.same(lambda the: add(OLD_ADD, name, the["p"], 1, [(topic, [0])]), OLD_ADD)
    yield "Ongoing", 1
    scene.same(lambda the: end(name, the["p"], 1, commit=True), OLD_END, expect=ErrorCode.NONE)
    at_rest(scene, name)
    yield "CompleteCommit", 1
    scene.same(lambda the: add(OLD_ADD, name, the["p"], 1, [(topic, [0])]), OLD_ADD)
    scene.same(lambda the: end(name, the["p"], 1, commit=False), OLD_END, expect=ErrorCode.NONE)
    at_rest(scene, name)
    yield "CompleteAbort", 1


Who: TypeAlias = Callable[[Known], tuple[int, int]]


def asked_by(who: Who, make: Callable[[int, int], Any]) -> Callable[[Known], Any]:
    return lambda the: make(*who(the))


def wrong_identities(epoch: int) -> list[Who]:
    return [
        lambda the: (the["p"], epoch - 1),
        lambda the: (the["p"], epoch + 1),
        lambda the: (the["p"], -1),
        lambda the: (the["p"] + 10**6, epoch),
        nobody,
    ]


def nobody(the: Known) -> tuple[int, int]:
    return -1, -1


@pytest.mark.parametrize("age", range(6))
def test_strangers_and_zombies(pair: Pair, age: int) -> None:
    name = f"strangers-{age}"
    topic = pair.create(f"tx-{name}")
    with Scene(pair, age) as scene:
        adding = scene.version(AddPartitionsToTxnRequest)
        for unknown in ("", f"never-{age}"):
            scene.same(add(adding, unknown, 5, 0, [(topic, [0])]))
            scene.same(add_offsets(unknown, 5, 0, name))
            scene.same(end(unknown, 5, 0, commit=True))
            scene.same(end(unknown, 5, 0, commit=False))
            scene.same(commit_offsets(unknown, 5, 0, name, topic, (0, 1)))
            scene.same(produce(unknown, 5, 0, topic), OLD_PRODUCE)
            scene.same(produce(unknown, 5, 0, topic), NEW_PRODUCE)
            scene.same(produce(None, 5, 0, topic), NEW_PRODUCE)
            # Who says so once may not say the opposite later; that is another producer's story.
            scene.same(produce(unknown, 7, 0, topic, transactional=False), NEW_PRODUCE, differ=AGAIN)
        for _, epoch in states(scene, name, topic):
            for who in wrong_identities(epoch):
                scene.same(asked_by(who, lambda pid, epoch: add(adding, name, pid, epoch, [(topic, [0])])))
                scene.same(asked_by(who, lambda pid, epoch: add_offsets(name, pid, epoch, name)))
                scene.same(asked_by(who, lambda pid, epoch: commit_offsets(name, pid, epoch, name, topic, (0, 1))))
                scene.same(asked_by(who, lambda pid, epoch: end(name, pid, epoch, commit=True)))
                scene.same(asked_by(who, lambda pid, epoch: end(name, pid, epoch, commit=False)))
                shown(scene, name)
                for version in (OLD_PRODUCE, NEW_PRODUCE):
                    # A transaction of nobody is appended by Kafka and refused by us.
                    if who is not nobody:
                        scene.same(asked_by(who, lambda pid, epoch: produce(name, pid, epoch, topic)), version)
                at_rest_or_ongoing(scene, name)
                shown(scene, name, topic)


def at_rest_or_ongoing(scene: Scene, name: str) -> None:
    scene.until(DescribeTransactionsRequest(transactional_ids=[name]), is_in("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"))


def test_a_new_producer_takes_over_an_open_transaction(pair: Pair) -> None:
    topic = pair.create("tx-taken-over")
    for version in (0, 2, 3, 4, 5):
        for produced, ending in ((OLD_PRODUCE, OLD_END), (NEW_PRODUCE, NEW_END)):
            name = f"taken-over-{version}-{produced}"
            with Scene(pair) as scene:
                scene.same(init(name), version, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
                if produced == OLD_PRODUCE:
                    scene.same(lambda the, name=name: add(OLD_ADD, name, the["p"], 0, [(topic, [0])]), OLD_ADD)
                scene.same(lambda the, name=name: produce(name, the["p"], 0, topic), produced)
                scene.same(init(name), version, expect=ErrorCode.CONCURRENT_TRANSACTIONS)
                at_rest(scene, name)
                shown(scene, name, topic)
                scene.same(init(name), version, expect=ErrorCode.NONE)
                shown(scene, name, topic)
                for epoch in (0, 1):
                    scene.same(lambda the, name=name, epoch=epoch: produce(name, the["p"], epoch, topic, sequence=1), produced)
                    scene.same(lambda the, name=name, epoch=epoch: end(name, the["p"], epoch, commit=True), ending)
                    scene.same(lambda the, name=name, epoch=epoch: init(name, producer_id=the["p"], epoch=epoch), max(version, 3))
                shown(scene, name, topic)


# -- partitions ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_partitions_that_are_added(pair: Pair, version: int) -> None:
    name = f"adding-{version}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        began(scene, name)
        wrong: list[Any] = [[(topic, [0, 7])], [("no-such-topic", [0]), (topic, [0, 1])], [(topic, [-1])], [("", [0])], [], [(topic, [])]]
        for topics in wrong:
            scene.same(lambda the, topics=topics: add(version, name, the["p"], 0, topics), version)
            shown(scene, name)
        why = "Kafka answers a partition as often as it was named"
        once = {"results_by_topic_v3_and_below": why, "results_by_transaction": why}
        scene.same(lambda the: add(version, name, the["p"], 0, [(topic, [0, 0]), (topic, [0])]), version, differ=once)
        shown(scene, name)
        scene.same(lambda the: add(version, name, the["p"], 0, [("__consumer_offsets", [0])]), version)
        shown(scene, name)
        if version >= 4:
            verified: list[Any] = [[(topic, [0, 1])], [(topic, [0])], [("no-such-topic", [0]), (topic, [0])], []]
            for topics in verified:
                for who in ((0, 0), (0, 1), (10**6, 0)):
                    scene.same(
                        lambda the, topics=topics, who=who: add(version, name, the["p"] + who[0], who[1], topics, verify=True), version
                    )
            scene.same(add(version, "never", 5, 0, [(topic, [0])], verify=True), version)
            scene.same(add(version, "", 5, 0, [(topic, [0])], verify=True), version)


@pytest.mark.parametrize("version", [4, 5])
def test_several_transactions_in_one_request(pair: Pair, version: int) -> None:
    topic = pair.create(f"tx-several-{version}", 2)
    with Scene(pair) as scene:
        for name in ("x", "y"):
            began(scene, f"several-{version}-{name}", name)

        def several(the: Known) -> AddPartitionsToTxnRequest:
            asked = [
                add(version, f"several-{version}-x", the["x"], 0, [(topic, [0, 1])]),
                add(version, f"several-{version}-y", the["y"], 0, [(topic, [1])], verify=True),
                add(version, "never", 5, 0, [(topic, [1])]),
            ]
            return AddPartitionsToTxnRequest(transactions=[each for request in asked for each in request.transactions])

        scene.same(several, version)
        scene.same(several, version)
        # Kafka never answers a request for no transactions.
        assert pair.barnabas.broker.ask(AddPartitionsToTxnRequest(transactions=[]), version).error_code == ErrorCode.NONE


# -- offsets in transactions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_offsets_in_transactions(pair: Pair, version: int) -> None:
    name = f"offsets-{version}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1)), version)
        for group in ("", name):
            scene.same(lambda the, group=group: add_offsets(name, the["p"], 0, group), min(version, 4))
        shown(scene, name)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, "", topic, (0, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1), (7, 1), (-1, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, "no-such-topic", (0, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1), metadata="x" * 4097), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (1, 1), metadata=None), version)
        scene.same(lambda the: fetch(the, 9, name, None, stable=True), 9)
        scene.same(lambda the: end(name, the["p"], 0, commit=True), min(version, OLD_END), expect=ErrorCode.NONE)
        at_rest(scene, name)
        scene.same(lambda the: fetch(the, 9, name, None, stable=True), 9)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_offsets_of_members_in_transactions(pair: Pair, version: int) -> None:
    """Who commits for a group must be of its present generation (KIP-447)."""
    name = f"members-{version}"
    topic = pair.create(f"tx-{name}")
    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: add_offsets(name, the["p"], 0, name), 3)
        for generation in (0, 1):
            scene.same(lambda the, n=generation: commit_offsets(name, the["p"], 0, name, topic, (0, 1), generation=n, member="x"), version)
        scene.same(join(name), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.same(lambda the: join(name, the["a"]), by="a", expect=ErrorCode.NONE)
        for _ in ("completing", "stable"):
            for member in ("", "stranger", "a"):
                for generation in (-1, 0, 1, 2):
                    for instance in (None, "one"):
                        scene.same(
                            lambda the, member=member, generation=generation, instance=instance: commit_offsets(
                                name,
                                the["p"],
                                0,
                                name,
                                topic,
                                (0, 1),
                                generation=generation,
                                member=the["a"] if member == "a" else member,
                                instance=instance,
                            ),
                            version,
                        )
            scene.same(lambda the: sync(name, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)


# -- telling of transactions --------------------------------------------------------------------------------------------------


def test_transactions_are_listed(pair: Pair) -> None:
    topic = pair.create("tx-listed")
    with Scene(pair) as scene:
        for name in ("listed-a", "listed-b", "listed-c"):
            began(scene, name, name)
        scene.same(lambda the: produce("listed-b", the["listed-b"], 0, topic), NEW_PRODUCE)
        scene.same(lambda the: produce("listed-c", the["listed-c"], 0, topic), NEW_PRODUCE)
        scene.same(lambda the: end("listed-c", the["listed-c"], 0, commit=True), NEW_END)
        at_rest(scene, "listed-c")

        def ours(answer: Any) -> Any:
            answer.transaction_states = [each for each in answer.transaction_states if each.transactional_id.startswith("listed-")]
            return answer

        def listed(version: int | None = None, **options: Any) -> None:
            ids = options.pop("ids", [])

            def made(the: Known) -> ListTransactionsRequest:
                wanted = [the[each] if isinstance(each, str) else each for each in ids]
                return ListTransactionsRequest(**{"state_filters": [], "producer_id_filters": wanted, **options})

            scene.same(made, version, through=ours)

        for version in range(3):
            listed(version)
            for filters in (["Ongoing"], ["ongoing"], ["Empty", "CompleteCommit"], ["nonsense", "Ongoing"], ["nonsense"], [""], ["Dead"]):
                listed(version, state_filters=filters)
            listed(version, ids=["listed-a", "listed-c"])
            listed(version, ids=[10**12])
            listed(version, ids=["listed-a"], state_filters=["Ongoing"])
        for duration in (-2, -1, 0, 1, 10**9):
            listed(1, duration_filter=duration)
        for pattern in ("listed-[ab]", "listed", ".*-a", "", "(", "LISTED.*", None):
            listed(2, transactional_id_pattern=pattern)
        scene.same(DescribeTransactionsRequest(transactional_ids=["listed-a", "listed-b", "listed-c", "never", "", "listed-a"]))
        scene.same(DescribeTransactionsRequest(transactional_ids=[]))


def test_producers_are_described(pair: Pair) -> None:
    topic = pair.create("tx-producers", 2)
    with Scene(pair) as scene:
        began(scene, "producers")
        scene.same(lambda the: produce("producers", the["p"], 0, topic), NEW_PRODUCE)
        wanted: list[Any] = [[(topic, [0, 1, 2, -1])], [("no-such-topic", [0])], [("a b", [0]), ("", [0])], [(topic, [])], []]
        for topics in wanted:
            asked = [TopicRequest(name=name, partition_indexes=partitions) for name, partitions in topics]
            scene.same(DescribeProducersRequest(topics=asked))


@pytest.mark.parametrize("version", [1, 2])
def test_markers_that_an_operator_writes(pair: Pair, version: int) -> None:
    """What ``kafka-transactions abort`` sends for a transaction that hangs, and what it must not do to others."""
    topic = pair.create(f"tx-markers-{version}", 2)
    name = f"markers-{version}"

    def marking(
        producer_id: int, epoch: int, topics: list[tuple[str, list[int]]], *, coordinator_epoch: int = 0, commit: bool = False, tv: int = 0
    ) -> WriteTxnMarkersRequest:
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=each, partition_indexes=partitions) for each, partitions in topics],
            coordinator_epoch=coordinator_epoch,
            transaction_version=tv,
        )
        return WriteTxnMarkersRequest(markers=[marker])

    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: produce(name, the["p"], 0, topic), NEW_PRODUCE)
        not_there: list[Any] = [[(topic, [7])], [("no-such-topic", [0])]]
        for topics in not_there:
            scene.same(lambda the, topics=topics: marking(the["p"], 0, topics), version)
        nowhere: list[Any] = [[(topic, [])], []]
        for topics in nowhere:
            why = {"markers": "Kafka leaves out markers for no partitions"}
            scene.same(lambda the, topics=topics: marking(the["p"], 0, topics), version, differ=why)
        scene.same(WriteTxnMarkersRequest(markers=[]), version)
        for options in (
            {"coordinator_epoch": -1},
            {"coordinator_epoch": 5},
            {"coordinator_epoch": 3},
            {"coordinator_epoch": 5, "commit": True},
        ):
            scene.same(lambda the, options=options: marking(the["p"], 0, [(topic, [0, 1])], **options), version)
            shown(scene, name, topic)
        # Kafka answers UNKNOWN_SERVER_ERROR to an epoch below 0.
        for epoch in (1, 0):
            scene.same(lambda the, epoch=epoch: marking(the["p"], epoch, [(topic, [0])], coordinator_epoch=5), version)
            shown(scene, name, topic)
        if version >= 2:
            scene.same(lambda the: produce(name, the["p"], 2, topic), NEW_PRODUCE)
            for epoch in (0, 1, 2, 3, 3, 4):
                scene.same(lambda the, epoch=epoch: marking(the["p"], epoch, [(topic, [0])], coordinator_epoch=5, tv=2), version)
                shown(scene, name, topic)
