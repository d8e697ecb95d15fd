"""DeleteTopics."""

from __future__ import annotations

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.conformance.differential.pair import Pair, Peer


def by_name(*names: str | None) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=30_000)


def by_id(*ids: Uuid) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=each) for each in ids], timeout_ms=30_000)


def by_old_name(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=30_000)


OLD = range(1, 6)
NOWHERE = Uuid(bytes(15) + b"\7")


def test_delete_topics_by_name(pair: Pair) -> None:
    for version in OLD:
        pair.create(f"doomed-{version}")
        pair.same(by_old_name(f"doomed-{version}", "never-was"), [version])
    pair.same(by_old_name("never-was", "never-was"), OLD)
    pair.same(by_old_name(), OLD)
    pair.same(by_old_name("", "a b"), OLD)
    pair.create("doomed-6")
    pair.same(by_name("doomed-6", "never-was", ""), [6])
    pair.same(by_name("doomed-6"), [6])


def test_delete_topics_by_id(pair: Pair) -> None:
    pair.create("doomed-by-id")
    pair.same(lambda peer, version: by_id(peer.topic_id("doomed-by-id"), NOWHERE), [6])
    pair.same(by_id(NOWHERE), [6])
    pair.same(by_id(ZERO_UUID), [6])
    pair.same(by_id(), [6])


def test_delete_topics_refuses_wrong_and_repeated_names(pair: Pair) -> None:
    pair.create("named-twice")

    def both_ways(peer: Peer, version: int) -> DeleteTopicsRequest:
        topic_id = peer.topic_id("named-twice")
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name="named-twice"), DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=1000
        )

    def both_at_once(peer: Peer, version: int) -> DeleteTopicsRequest:
        return DeleteTopicsRequest(topics=[DeleteTopicState(name="named-twice", topic_id=peer.topic_id("named-twice"))], timeout_ms=1000)

    pair.same(by_name("named-twice", "named-twice"), [6])
    pair.same(lambda peer, version: by_id(*[peer.topic_id("named-twice")] * 2), [6])
    pair.same(both_at_once, [6])
    pair.same(both_ways, [6])
