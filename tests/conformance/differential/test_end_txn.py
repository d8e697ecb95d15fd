"""EndTxn: whole transactions of old and of new clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.conformance.differential.group_requests import fetch
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.transaction_requests import add, add_offsets, commit_offsets, end, init, produce
from tests.conformance.differential.transactions import (
    NEW_END,
    NEW_PRODUCE,
    OLD_ADD,
    OLD_END,
    OLD_PRODUCE,
    at_rest,
    began,
    is_in,
    shown,
    states,
)

pytestmark = pytest.mark.usefixtures("coordinators")


OLD_COMMIT, NEW_COMMIT = 4, 5
AGAIN = {"responses[].partition_responses[].log_append_time_ms": "Kafka answers a repeated batch with its own time for append time"}


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("age", range(5))
def test_end_txn_ends_transactions_of_old_clients(pair: Pair, age: int, commit: bool) -> None:
    name = f"old-{age}-{commit}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        adding, ending = min(age, OLD_ADD), min(age, OLD_END)
        offsets, committing = min(age, 3), min(age, OLD_COMMIT)
        scene.same(init(name), age, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
        for round_ in range(2):
            shown(scene, name, topic)
            # The record is sent before its partition is in the transaction.
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
            # The same end writes the markers of offsets.
            scene.same(lambda the: fetch(the, 9, name, [(topic, [0, 1])], stable=True), 9)
            scene.same(lambda the: end(name, the["p"], 0, commit=commit), ending)
            scene.same(lambda the: end(name, the["p"], 0, commit=not commit), ending)


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_end_txn_ends_transactions_of_new_clients_and_raises_their_epoch(pair: Pair, commit: bool) -> None:
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
            # The answer was lost and the end is sent again; then the opposite end is sent, and an
            # end of a zombie.
            scene.same(lambda the, epoch=epoch: end(name, the["p"], epoch, commit=commit), NEW_END)
            scene.same(lambda the, epoch=epoch: end(name, the["p"], epoch, commit=not commit), NEW_END)
            scene.same(lambda the, epoch=epoch: produce(name, the["p"], epoch, topic, sequence=1), NEW_PRODUCE)
            scene.same(lambda the: fetch(the, 9, name, [(topic, [0])], stable=True), 9)
            shown(scene, name, topic)
        # Nothing was written: a commit is refused, and an abort is not.
        scene.same(lambda the: end(name, the["p"], 3, commit=True), NEW_END)
        shown(scene, name)
        scene.same(lambda the: end(name, the["p"], 3, commit=False), NEW_END)
        at_rest(scene, name)
        shown(scene, name)


def test_end_txn_ends_an_empty_transaction(scene: Scene) -> None:
    for version in range(6):
        for commit in (True, False):
            name = f"empty-end-{version}-{commit}"
            began(scene, name)
            scene.same(lambda the, name=name, commit=commit: end(name, the["p"], 0, commit=commit), version)
            at_rest(scene, name)
            shown(scene, name)


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
def test_end_txn_and_all_other_requests_of_strangers_and_zombies_are_refused(pair: Pair, age: int) -> None:
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
            # A producer that ended its transaction may not end it the other way; another test shows
            # that.
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
                    # Kafka appends to a transaction without a producer; Barnabas refuses that.
                    if who is not nobody:
                        scene.same(asked_by(who, lambda pid, epoch: produce(name, pid, epoch, topic)), version)
                at_rest_or_ongoing(scene, name)
                shown(scene, name, topic)


def at_rest_or_ongoing(scene: Scene, name: str) -> None:
    scene.until(DescribeTransactionsRequest(transactional_ids=[name]), is_in("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"))
