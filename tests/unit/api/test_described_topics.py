"""Metadata responses joined from kept bytes equal those that the plain encoder makes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api import described_topics, sliced_answers
from barnabas.api.access import Access
from barnabas.api.broker import Broker
from barnabas.api.broker_apis import metadata
from barnabas.api.described_topics import DescribedTopics, EncodedTopic, TopicsOnListener
from barnabas.api.response_errors import error_search
from barnabas.api.sliced_answers import SlicedAnswers, Steps
from barnabas.env.awaiting import awaited
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import TopicImage
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import Principal
from barnabas.telemetry.logs import EventLog
from barnabas.wire.compiler import encode
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.wire.metadata_records import (
    FenceBrokerRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
)
from tests.unit import simulated
from tests.unit.api.neighbours import partition, registration
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.api.plain_metadata import plain_response
from tests.unit.metadata.made import after, uuid

VERSIONS = range(14)
LISTENERS = ("PLAINTEXT", "INTERNAL", "NONE")
ALICE, ADMIN = Principal("User", "alice"), Principal("User", "admin")
SEEDS = (1, 2)
SEARCH = error_search(MetadataResponse)
TOPICS = 6


def brokers(random: Random) -> list[MetadataRecord]:
    """Some are fenced, and brokers 4 and 5 do not have the clients' listener."""
    return [
        registration(
            each,
            9000 + each,
            fenced=random.random() < 0.3,
            listener="PLAINTEXT" if each < 4 else "INTERNAL",
            rack=random.choice([None, "a"]),
            log_dirs=random.choice([[], [uuid(900)], [uuid(900), uuid(901)]]),
        )
        for each in range(1, 6)
    ]


def topic(number: int, random: Random) -> list[MetadataRecord]:
    records: list[MetadataRecord] = [TopicRecord(name="__consumer_offsets" if number == 1 else f"topic-{number}", topic_id=uuid(number))]
    for index in range(random.choice([1, 1, 3])):
        replicas = random.sample(range(1, 7), 3)
        directories = random.choice([[], [random.choice([uuid(0), uuid(900), uuid(901), uuid(902)]) for _ in replicas]])
        records.append(
            partition(
                number,
                random.choice([-1, *replicas]),
                partition_id=index,
                replicas=replicas,
                isr=replicas[: random.randint(0, 3)],
                leader_epoch=random.randint(0, 9),
                directories=directories,
            )
        )
    return records


def made(seed: int, topics: int = TOPICS) -> MetadataImage:
    random = Random(seed)
    return after([*brokers(random), *(record for number in range(topics) for record in topic(number, random))])


def acl(name: str, permission: Permission, operation: Operation = Operation.DESCRIBE) -> Acl:
    return Acl(ResourceType.TOPIC, name, PatternType.PREFIXED, "User:alice", "*", operation, permission)


def access(*rules: Acl) -> Access:
    made = Access(Authorizer(super_users=["User:admin"]), EventLog("FATAL"))
    made.change([(Uuid(bytes([number]) * 16), rule) for number, rule in enumerate(rules)])
    made.become_ready()
    return made


PARTLY = access(acl("topic", Permission.ALLOW), acl("topic-2", Permission.DENY), acl("topic-3", Permission.ALLOW, Operation.WRITE))


class Node:
    def __init__(self, image: MetadataImage, rules: Access = OPEN_ACCESS, principal: Principal = ALICE) -> None:
        self.principal = principal
        parts: dict[str, Any] = {
            "node_id": 1,
            "cluster_id": "a cluster",
            "metadata": SimpleNamespace(image=image),
            "access": rules,
            "doubted_brokers": (),
            "sliced_answers": SlicedAnswers(),
            "described_topics": DescribedTopics(),
        }
        self.broker = cast(Broker, SimpleNamespace(**parts))

    def caller(self, version: int, listener: str = "PLAINTEXT") -> Caller:
        connection = SimpleNamespace(peer_address=("127.0.0.1", 1), principal=self.principal, listener=SimpleNamespace(name=listener))
        return Caller(cast(Connection, connection), version, 1, "client")

    def change(self, *records: MetadataRecord) -> None:
        self.broker.metadata.image = after(records, self.broker.metadata.image)

    def plain(self, caller: Caller, request: MetadataRequest) -> MetadataResponse:
        return plain_response(self.broker, caller, request, self.broker.metadata.image)

    def check(self, version: int, listener: str, request: MetadataRequest) -> None:
        caller = self.caller(version, listener)
        response, plain = metadata.handle(self.broker, caller, request), self.plain(caller, request)
        assert encode(response, version) == encode(plain, version)
        assert errors(response) == errors(plain)


def errors(response: Any) -> Counter[int]:
    found: list[int] = []
    assert SEARCH is not None
    SEARCH(response, found.append)
    return Counter(found)


def named(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=each) for each in names]


def requests(version: int) -> Iterator[MetadataRequest]:
    names = named("topic-2", "absent", "no/name", "__consumer_offsets", "__transaction_state", "topic-3", "topic-2", "topic-4")
    asked: list[list[MetadataRequestTopic] | None] = [None if version else [], names, [] if version else names]
    if version >= 12:
        asked.append([MetadataRequestTopic(name=None, topic_id=uuid(each)) for each in (3, 77, 2, 1, 3)])
    for topics, of_cluster, of_topics in product(asked, {False, 8 <= version <= 10}, {False, version >= 8}):
        yield MetadataRequest(
            topics=topics,
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=of_cluster,
            include_topic_authorized_operations=of_topics,
        )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("rules", "principal"),
    [(OPEN_ACCESS, ALICE), (PARTLY, ALICE), (PARTLY, ADMIN), (access(), ALICE)],
    ids=["open", "partly", "super user", "denied"],
)
def test_responses_equal_those_of_the_plain_encoder_while_the_cluster_changes(seed: int, rules: Access, principal: Principal) -> None:
    node = Node(made(seed), rules, principal)
    changes: list[list[MetadataRecord]] = [
        [],
        [PartitionChangeRecord(partition_id=0, topic_id=uuid(2), leader=3, isr=[3])],
        [RemoveTopicRecord(topic_id=uuid(3)), *topic(30, Random(seed))],
        [FenceBrokerRecord(id=each, epoch=each) for each in (1, 4)],
        [UnfenceBrokerRecord(id=each, epoch=each) for each in range(1, 6)],
    ]
    for change in changes:
        node.change(*change)
        for version in VERSIONS:
            for listener, request in product(LISTENERS, requests(version)):
                node.check(version, listener, request)


def test_all_brokers_fenced_are_listed_as_the_plain_response_lists_them() -> None:
    node = Node(made(1))
    node.change(*(FenceBrokerRecord(id=each, epoch=each) for each in range(1, 6)))
    for version, listener in product(VERSIONS, LISTENERS):
        node.check(version, listener, MetadataRequest(topics=[] if version == 0 else None))


def test_an_unchanged_topic_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    encoding = TopicsOnListener.encoding

    def listed(self: TopicsOnListener, topic: TopicImage, image: MetadataImage) -> Steps[EncodedTopic]:
        encoded.append(topic.name)
        return encoding(self, topic, image)

    monkeypatch.setattr(TopicsOnListener, "encoding", listed)
    node = Node(made(1))
    everything = MetadataRequest(topics=None)
    for _ in range(3):
        node.check(12, "PLAINTEXT", everything)
    assert sorted(encoded) == sorted(node.broker.metadata.image.topics.by_name)
    encoded.clear()
    node.change(PartitionChangeRecord(partition_id=0, topic_id=uuid(2), leader=3, isr=[3]))
    node.check(12, "PLAINTEXT", everything)
    assert encoded == ["topic-2"]


@pytest.mark.parametrize("room", [0, 900, 4000])
def test_kept_bytes_have_a_limit(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described_topics, "KEPT_BYTES_MAX", room)
    node = Node(made(1))
    for _ in range(2):
        for version, listener in product((1, 8, 12), LISTENERS):
            node.check(version, listener, MetadataRequest(topics=None))
            assert node.broker.described_topics.size_bytes <= room


def test_deleted_topics_make_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described_topics, "KEPT_BYTES_MAX", 2 * (described_topics.ENTRY_BYTES + 200))
    node = Node(made(1, topics=1))
    for number in range(10, 20):
        node.change(*topic(number, Random(2)))
        for _ in range(2):
            node.check(12, "PLAINTEXT", MetadataRequest(topics=named(f"topic-{number}"), allow_auto_topic_creation=False))
        image = node.broker.metadata.image
        described = node.broker.described_topics.on("PLAINTEXT", 12, image, 1)
        assert described.kept(image.topics.by_name[f"topic-{number}"]) is not None
        node.change(RemoveTopicRecord(topic_id=uuid(number)))


# -- several turns of the loop ---------------------------------------------------------------------


@pytest.fixture
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliced_answers, "SLICE_US", 1)
    monkeypatch.setattr(sliced_answers, "SLICE_BESIDE_OTHERS_US", 1)


@pytest.mark.usefixtures("_short_slices")
def test_a_response_of_several_turns_is_of_one_image() -> None:
    async def scenario() -> None:
        node = Node(made(1))
        node.broker.loop = asyncio.get_running_loop()
        caller, request = node.caller(12), MetadataRequest(topics=None)
        answers = []
        for number in range(8):
            answers.append((node.plain(caller, request), metadata.handle(node.broker, caller, request)))
            # Two turns of each response pass between the changes.
            for _ in range(2 * len(answers)):
                await asyncio.sleep(0)
            broker_id = 1 + number % 5
            change: MetadataRecord = FenceBrokerRecord(id=broker_id, epoch=broker_id)
            if node.broker.metadata.image.cluster.brokers[broker_id].fenced:
                change = UnfenceBrokerRecord(id=broker_id, epoch=broker_id)
            node.change(PartitionChangeRecord(partition_id=0, topic_id=uuid(number % TOPICS), leader=broker_id), change)
        assert any(isinstance(answer, Promise) and not answer.done for _, answer in answers)
        for plain, answer in answers:
            response = await awaited(answer) if isinstance(answer, Promise) else answer
            assert encode(response, 12) == encode(plain, 12)

    simulated.run(scenario())


@pytest.mark.usefixtures("_short_slices")
@pytest.mark.parametrize("changes", [1, 10])
def test_a_response_of_several_turns_is_of_one_state_of_the_access_rules(changes: int) -> None:
    async def scenario() -> None:
        rules = access(acl("topic-2", Permission.ALLOW))
        node = Node(made(1), rules)
        node.broker.loop = asyncio.get_running_loop()
        caller, request = node.caller(12), MetadataRequest(topics=None, include_topic_authorized_operations=True)
        answer = metadata.handle(node.broker, caller, request)
        assert isinstance(answer, Promise)
        possible = []
        for number in range(changes):
            for _ in range(3):
                await asyncio.sleep(0)
            # The topic in the middle is allowed before, one at each end is allowed after.
            allowed = ["topic-0", "topic-5"] if number % 2 == 0 else ["topic-2"]
            rules.change([(Uuid(bytes([each]) * 16), None) for each in range(3)])
            rules.change([(Uuid(bytes([each]) * 16), acl(name, Permission.ALLOW)) for each, name in enumerate(allowed)])
            possible.append(encode(node.plain(caller, request), 12))
            if answer.done:
                break
        assert encode(await awaited(answer), 12) in possible

    simulated.run(scenario())


@pytest.mark.usefixtures("_short_slices")
def test_a_response_that_no_client_waits_for_is_not_made() -> None:
    async def scenario() -> None:
        node = Node(made(1))
        node.broker.loop = asyncio.get_running_loop()
        answer = metadata.handle(node.broker, node.caller(12), MetadataRequest(topics=None))
        assert isinstance(answer, Promise)
        answer.abandon()
        kept = node.broker.metadata.image
        await asyncio.sleep(1)
        assert not answer.done
        described = node.broker.described_topics.on("PLAINTEXT", 12, kept, 1)
        assert not all(described.kept(each) for each in kept.topics.by_name.values())

    simulated.run(scenario())


@pytest.mark.usefixtures("_short_slices")
def test_a_failure_in_a_later_turn_closes_its_connection_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        node = Node(made(1))
        node.broker.loop = asyncio.get_running_loop()
        node.broker.log = EventLog("FATAL")
        closed: list[str] = []
        failing, healthy = node.caller(12), node.caller(11)
        failing.connection.close = lambda: closed.append("failing")  # type: ignore[method-assign]
        healthy.connection.close = lambda: closed.append("healthy")  # type: ignore[method-assign]
        request = MetadataRequest(topics=None)
        plain = node.plain(healthy, request)
        bad = metadata.handle(node.broker, failing, request)
        good = metadata.handle(node.broker, healthy, request)
        assert isinstance(bad, Promise)
        assert isinstance(good, Promise)

        def fail(*_: object) -> None:
            raise RuntimeError("a bug")

        described = node.broker.described_topics.on("PLAINTEXT", 12, node.broker.metadata.image, 1)
        monkeypatch.setattr(described, "_encode_partition", fail)
        assert encode(await awaited(good), 11) == encode(plain, 11)
        assert closed == ["failing"]
        assert not bad.done

    simulated.run(scenario())


@pytest.mark.usefixtures("_short_slices")
def test_a_client_that_asks_again_at_once_gets_every_answer() -> None:
    """The next request of a connection may be handled while its last answer is sent."""

    async def scenario() -> None:
        node = Node(made(1))
        node.broker.loop = asyncio.get_running_loop()
        answered: Promise[int] = Promise()

        def ask(number: int) -> None:
            if number == len(versions):
                answered.resolve(number)
                return
            answer = metadata.handle(node.broker, node.caller(versions[number]), MetadataRequest(topics=None))
            assert isinstance(answer, Promise)
            answer.then(lambda _: ask(number + 1))

        versions = [9, 10, 11, 12]
        ask(0)
        assert await awaited(answered) == len(versions)

    simulated.run(scenario())
