"""Hostile groups: extreme names, numbers and bytes, too many members and groups, and patterns that
are slow to match.
"""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.varint import write_uvarint
from tests.hostile.conftest import Victim
from tests.hostile.test_resources import BYSTANDER_SECONDS_MAX, Bystander
from tests.scenarios.client import Client, frame_of, newest
from tests.waiting import until

# The newest versions in which topics go by name.
COMMIT_BY_NAME, FETCH_BY_NAME = 9, 9
# The last version in which a member without an id joins at once.
JOIN_WITHOUT_ID = 3
SESSION_TIMEOUT_MS = 6_000
LONG = "x" * 32_000
SEED = "grows from here"
IDS = ["", LONG, "nul\x00", "\N{SNOWMAN}" * 10_000, "../..", "\n"]


@pytest.fixture(autouse=True)
def coordinator(victim: Victim) -> None:
    """Makes sure that there is a coordinator: the first FindCoordinator makes the broker create its
    topic.
    """
    with victim.client() as client:
        await_coordinator(client)


_NOT_YET = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def await_coordinator(client: Client) -> None:
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["anybody"]))
    until(lambda: client.ask(describe(["anybody"])).groups[0].error_code not in _NOT_YET, "groups are served")


def join(group: str, member: str = "", *, metadata: bytes = b"", protocol_type: str = "test", **options: Any) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=options.pop("session_timeout_ms", SESSION_TIMEOUT_MS),
        rebalance_timeout_ms=options.pop("rebalance_timeout_ms", 10_000),
        member_id=member,
        protocol_type=protocol_type,
        protocols=options.pop("protocols", [JoinGroupRequestProtocol(name="p", metadata=metadata)]),
        **options,
    )


def sync(group: str, joined: JoinGroupResponse, assignments: dict[str, bytes], protocol_type: str = "test") -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type=protocol_type,
        protocol_name="p",
        assignments=[SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in assignments.items()],
    )


def describe(groups: list[str]) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=groups)


def commit(group: str, topics: list[tuple[str, list[int]]], *, metadata: str | None = "", **options: Any) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        member_id=options.pop("member_id", ""),
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata=metadata)
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ],
        **options,
    )


def fetch_offsets(groups: list[str], topics: list[tuple[str, list[int]]] | None = None) -> OffsetFetchRequest:
    asked = None if topics is None else [OffsetFetchRequestTopics(name=name, partition_indexes=indexes) for name, indexes in topics]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=asked) for group in groups])


def beat(group: str, member: str = "m", epoch: int = 0, **options: Any) -> ConsumerGroupHeartbeatRequest:
    if epoch == 0:
        options = {"rebalance_timeout_ms": 10_000, "subscribed_topic_names": ["t"], "topic_partitions": [], **options}
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **options)


def leave(client: Client, group: str, *members: str) -> None:
    client.ask(LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=each) for each in members]))


# -- names and numbers at their ends


@pytest.mark.parametrize("name", IDS, ids=["empty", "long", "nul", "snowmen", "path", "line"])
def test_any_name_of_a_group_is_answered_by_every_api(victim: Victim, name: str) -> None:
    group = f"{name}" if len(name.encode()) <= 32_767 else name[:10_000]
    with victim.client() as client:
        for request, version in (
            (FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), None),
            (join(group), None),
            (join(group, LONG, group_instance_id=LONG), None),
            (HeartbeatRequest(group_id=group, generation_id=1, member_id=name), None),
            (SyncGroupRequest(group_id=group, generation_id=1, member_id=name, assignments=[]), None),
            (LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=name, group_instance_id=name)]), None),
            (commit(group, [("t", [0])]), COMMIT_BY_NAME),
            (fetch_offsets([group]), FETCH_BY_NAME),
            (describe([group]), None),
            (ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False), None),
            (beat(group, "m"), None),
            (OffsetDeleteRequest(group_id=group, topics=[]), None),
            (DeleteGroupsRequest(groups_names=[group]), None),
        ):
            client.ask(request, version)


@pytest.mark.parametrize("size", [32_768, 70_000, 1_000_000])
def test_a_string_that_a_log_could_not_hold_ends_the_connection(victim: Victim, size: int) -> None:
    """Compact strings may be longer than Kafka allows, and the keys of coordinators' records are
    not compact.
    """
    requests = (join(SEED), join("g", group_instance_id=SEED), commit(SEED, [("t", [0])]), beat(SEED), beat("g", SEED), describe([SEED]))
    for request in requests:
        version = COMMIT_BY_NAME if isinstance(request, OffsetCommitRequest) else newest(request)
        with victim.client() as client:
            client.send_bytes(grown(frame_of(request, version), size))
            assert client.hung_up()


def grown(frame: bytes, size: int) -> bytes:
    """With :data:`SEED` so long that our own encoder would refuse it."""
    compact = compact_string(SEED.encode())
    assert frame.count(compact) == 1
    body = frame[4:].replace(compact, compact_string(b"y" * size))
    return struct.pack(">i", len(body)) + body


def compact_string(text: bytes) -> bytes:
    out = bytearray()
    write_uvarint(out, len(text) + 1)
    return bytes(out) + text


@pytest.mark.parametrize("timeout_ms", [0, -1, 1, 2**31 - 1, -(2**31)])
def test_session_timeouts_outside_the_bounds_are_refused(victim: Victim, timeout_ms: int) -> None:
    with victim.client() as client:
        for version in (0, 5, newest(join("g"))):
            assert client.ask(join("sessions", session_timeout_ms=timeout_ms), version).error_code == ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1, -(2**31)])
def test_extreme_rebalance_timeouts_do_not_block_the_broker(victim: Victim, timeout_ms: int) -> None:
    """A static member stays through a rebalance without taking part. With a timeout of zero, the
    rebalance must not repeat in a busy loop.
    """
    group = f"rebalances {timeout_ms}"
    with victim.client() as static, victim.client() as dynamic, Bystander(victim) as seen:
        first = static.ask(join(group, group_instance_id="i"))
        static.ask(sync(group, first, {}))
        dynamic.send(join(group), JOIN_WITHOUT_ID)
        until(lambda: _with_members(static, group, 2), "both are there")
        second = static.ask(join(group, first.member_id, group_instance_id="i", rebalance_timeout_ms=timeout_ms))
        assert second.error_code == 0
        leaving = dynamic.receive(join(group), JOIN_WITHOUT_ID)[1].member_id
        syncing = sync(group, second, {})
        syncing.group_instance_id = "i"
        assert static.ask(syncing).error_code == 0
        leave(dynamic, group, leaving)
        time.sleep(0.2)
        leave(dynamic, group, first.member_id)
    assert seen.worst < 1


@pytest.mark.parametrize("generation", [-1, -2, 0, 1, 2, 2**31 - 1, -(2**31)])
def test_requests_with_a_wrong_generation_are_refused(victim: Victim, generation: int) -> None:
    with victim.client() as client:
        joined = client.ask(join("generations"), JOIN_WITHOUT_ID)
        assert client.ask(sync("generations", joined, {joined.member_id: b"mine"})).assignment == b"mine"
        expected = 0 if generation == joined.generation_id else ErrorCode.ILLEGAL_GENERATION
        heartbeat = HeartbeatRequest(group_id="generations", generation_id=generation, member_id=joined.member_id)
        assert client.ask(heartbeat).error_code == expected
        syncing = sync("generations", joined, {joined.member_id: b"another's"})
        syncing.generation_id = generation
        assert client.ask(syncing).error_code == expected
        committing = commit("generations", [("t", [0])], member_id=joined.member_id, generation_id_or_member_epoch=generation)
        assert client.ask(committing, COMMIT_BY_NAME).topics[0].partitions[0].error_code == expected
        leave(client, "generations", joined.member_id)


@pytest.mark.parametrize("epoch", [-3, -2, -1, 1, 7, 2**31 - 1, -(2**31)])
def test_requests_with_a_wrong_epoch_are_refused(victim: Victim, epoch: int) -> None:
    with victim.client() as client:
        assert client.ask(beat("epochs", "honest")).error_code == 0
        assert client.ask(beat("epochs", "liar", epoch)).error_code != 0
        assert client.ask(beat("epochs", "liar", epoch, instance_id="nobody")).error_code != 0
        owned = [TopicPartitions(topic_id=Uuid(b"?" * 16), partitions=[0, -1, 2**31 - 1])]
        assert client.ask(beat("epochs", "honest", 2**31 - 1, topic_partitions=owned)).error_code != 0
        client.ask(beat("epochs", "honest", -1))


# -- bytes that are not for the broker


def garbage() -> Iterator[bytes]:
    chance = random.Random(4)
    yield from (b"", b"\x00", b"\x00\x00", b"\xff" * 8, b"\x00\x03" + struct.pack(">i", 2**31 - 1), b"\x00\x01" + struct.pack(">i", -2))
    yield b"\x00\x00" + struct.pack(">ih", 1, 32_767) + b"short"
    yield b"\x7f\xff" + struct.pack(">i", 0)
    yield from (chance.randbytes(chance.randrange(1, 60)) for _ in range(40))


def test_garbage_in_subscriptions_does_not_break_the_group(victim: Victim) -> None:
    """Subscriptions and assignments are for the members, and the broker passes them on; when it
    reads them, it may find any bytes.
    """
    with victim.client() as client:
        for number, data in enumerate(garbage()):
            group = f"garbage {number}"
            joined = client.ask(join(group, metadata=data, protocol_type="consumer"), JOIN_WITHOUT_ID)
            assert [member.metadata for member in joined.members] == [data]
            assert client.ask(sync(group, joined, {joined.member_id: data}, "consumer")).assignment == data
            assert client.ask(describe([group])).groups[0].members[0].member_metadata == data
            topics = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
            client.ask(OffsetDeleteRequest(group_id=group, topics=topics))
            # A member of the new protocol would convert the group, which requires that the broker
            # understands the subscription.
            client.ask(beat(group))
            client.ask(beat(group, epoch=-1))
            heartbeat = HeartbeatRequest(group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)
            client.ask(heartbeat)
            leave(client, group, joined.member_id)


def test_garbage_from_a_classic_member_does_not_break_a_consumer_group(victim: Victim) -> None:
    with victim.client() as client:
        for number, data in enumerate(garbage()):
            group = f"guests {number}"
            assert client.ask(beat(group, "host")).error_code == 0
            joined = client.ask(join(group, metadata=data, protocol_type="consumer"), JOIN_WITHOUT_ID)
            if not joined.error_code:
                client.ask(sync(group, joined, {joined.member_id: data}, "consumer"))
                leave(client, group, joined.member_id)
            client.ask(beat(group, "host", -1))


def test_assignments_for_unknown_members_are_ignored(victim: Victim) -> None:
    with victim.client() as client:
        joined = client.ask(join("strangers"), JOIN_WITHOUT_ID)
        given = {f"stranger {number}": b"x" for number in range(10_000)}
        assert client.ask(sync("strangers", joined, {**given, joined.member_id: b"mine"})).assignment == b"mine"
        described = client.ask(describe(["strangers"])).groups[0]
        assert [member.member_id for member in described.members] == [joined.member_id]
        leave(client, "strangers", joined.member_id)


def test_records_too_large_for_the_log_are_refused_and_the_group_survives(victim: Victim) -> None:
    with victim.client() as client:
        huge = client.ask(join("huge", metadata=bytes(5_000_000)), JOIN_WITHOUT_ID)
        assert huge.error_code == 0
        assert client.ask(sync("huge", huge, {})).error_code != 0
        leave(client, "huge", huge.member_id)
        joined = client.ask(join("huge"), JOIN_WITHOUT_ID)
        assert client.ask(sync("huge", joined, {joined.member_id: bytes(5_000_000)})).error_code != 0
        leave(client, "huge", joined.member_id)
        joined = client.ask(join("huge"), JOIN_WITHOUT_ID)
        assert client.ask(sync("huge", joined, {joined.member_id: b"small"})).assignment == b"small"
        leave(client, "huge", joined.member_id)


# -- too many


def test_a_thousand_members_that_disconnected_cost_bounded_memory(victim: Victim) -> None:
    """A coordinator does not learn that a connection is closed: it waits for these members, and
    they cost memory.
    """
    with Bystander(victim) as seen:
        for _ in range(1_000):
            with victim.client() as client:
                ghost = join("ghosts", metadata=bytes(1_000), session_timeout_ms=300_000, rebalance_timeout_ms=300_000)
                client.send(ghost, JOIN_WITHOUT_ID)
        with victim.client() as client:
            described = until(lambda: _with_members(client, "ghosts", 1_000), "all have joined")
            leave(client, "ghosts", *described)
    assert seen.worst < BYSTANDER_SECONDS_MAX


def _with_members(client: Client, group: str, count: int) -> list[str] | None:
    members = [member.member_id for member in client.ask(describe([group])).groups[0].members]
    return members if len(members) >= count else None


def test_unused_member_ids_cost_bounded_memory(victim: Victim) -> None:
    request = join("undecided")
    with victim.client() as client, Bystander(victim) as seen:
        for _ in range(50):
            for _ in range(100):
                client.send(request)
            for _ in range(100):
                assert client.receive(request)[1].error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert seen.worst < 1


def test_a_group_has_no_more_members_than_its_limit() -> None:
    with EmbeddedBroker(process=True, config={"group.max.size": "3", "group.initial.rebalance.delay.ms": "60000"}) as kafka:
        clients = [Client(kafka.bootstrap) for _ in range(4)]
        await_coordinator(clients[0])
        for client in clients[:3]:
            client.send(join("g", rebalance_timeout_ms=60_000), JOIN_WITHOUT_ID)
        until(lambda: _with_members(clients[3], "g", 3), "three have joined")
        assert clients[3].ask(join("g"), JOIN_WITHOUT_ID).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        for client in clients:
            client.close()
        assert kafka.complaints == ""


def test_thousands_of_groups_are_served(victim: Victim) -> None:
    names = [f"many {number}" for number in range(5_000)]
    with victim.client() as client, Bystander(victim) as seen:
        for start in range(0, len(names), 100):
            requests = [commit(name, [("t", [0])]) for name in names[start : start + 100]]
            for request in requests:
                client.send(request, COMMIT_BY_NAME)
            for request in requests:
                assert client.receive(request, COMMIT_BY_NAME)[1].topics[0].partitions[0].error_code == 0
        assert {group.group_id for group in client.ask(ListGroupsRequest()).groups} >= set(names)
        assert all(group.error_code == 0 for group in client.ask(DeleteGroupsRequest(groups_names=names)).results)
        assert not {group.group_id for group in client.ask(ListGroupsRequest()).groups} & set(names)
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_commits_of_thousands_of_partitions_are_answered(victim: Victim) -> None:
    missing = commit("wide", [("missing", list(range(20_000)))])
    topics = commit("wide", [(f"missing-{number}", [0]) for number in range(10_000)])
    repeated = commit("wide", [("t", [0] * 20_000)])
    with victim.client() as client, Bystander(victim) as seen:
        (answer,) = client.ask(missing, COMMIT_BY_NAME).topics
        assert {partition.error_code for partition in answer.partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert len(client.ask(topics, COMMIT_BY_NAME).topics) == 10_000
        # Whatever its outcome, no other client waits for it.
        client.ask(repeated, COMMIT_BY_NAME)
        client.ask(fetch_offsets(["wide"], [("t", [0] * 20_000)]), FETCH_BY_NAME)
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_offset_metadata_beyond_its_limit_is_refused(victim: Victim) -> None:
    with victim.client() as client:
        for metadata, expected in ((LONG, ErrorCode.OFFSET_METADATA_TOO_LARGE), ("x" * 4096, 0), (None, 0)):
            request = commit("notes", [("t", [0])], metadata=metadata)
            assert client.ask(request, COMMIT_BY_NAME).topics[0].partitions[0].error_code == expected
        nonsense = commit("notes", [("t", [0])])
        nonsense.topics[0].partitions[0].committed_offset = -(2**63)
        client.ask(nonsense, COMMIT_BY_NAME)


@pytest.mark.parametrize("retention_ms", [0, -2, 2**63 - 1, -(2**63)])
def test_extreme_offset_retention_is_accepted(victim: Victim, retention_ms: int) -> None:
    with victim.client() as client:
        for version in (2, 3, 4):
            request = commit("retained", [("t", [0])], retention_time_ms=retention_ms)
            assert client.ask(request, version).topics[0].partitions[0].error_code == 0


def test_results_of_long_lists_take_turns_with_other_clients(victim: Victim) -> None:
    """Half of this processor time goes into decoding the request, which is one step."""
    names = [f"g{number}" for number in range(100_000)]
    requests = [
        FindCoordinatorRequest(key_type=0, coordinator_keys=names),
        describe(names),
        ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False),
        DeleteGroupsRequest(groups_names=names),
        DescribeTransactionsRequest(transactional_ids=names),
    ]
    with victim.client() as client:
        for request in requests:
            with Bystander(victim) as seen:
                client.send(request)
                client.receive_frame()
            assert seen.worst < 0.3, type(request)


def test_long_lists_are_answered_and_delay_no_client(victim: Victim) -> None:
    names = [f"nobody {number}" for number in range(20_000)]
    requests = [
        (FindCoordinatorRequest(key_type=0, coordinator_keys=names), None),
        (FindCoordinatorRequest(key_type=1, coordinator_keys=names), None),
        (describe(names), None),
        (ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False), None),
        (DeleteGroupsRequest(groups_names=names), None),
        (fetch_offsets(names), FETCH_BY_NAME),
        (LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=name, group_instance_id=name) for name in names]), None),
        (join("g", protocols=[JoinGroupRequestProtocol(name=name, metadata=b"") for name in names]), None),
        (beat("lists", subscribed_topic_names=names), None),
        (beat("lists", "m", 1, topic_partitions=[TopicPartitions(topic_id=Uuid(b"?" * 16), partitions=[0])] * 20_000), None),
    ]
    with victim.client() as client, Bystander(victim) as seen:
        for request, version in requests:
            client.ask(request, version)
        client.ask(beat("lists", epoch=-1))
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_a_large_group_that_is_named_hundreds_of_times_gets_a_small_response(victim: Victim) -> None:
    data = bytes(300_000)
    with victim.client() as client, Bystander(victim) as seen:
        joined = client.ask(join("large", metadata=data), JOIN_WITHOUT_ID)
        assert client.ask(sync("large", joined, {joined.member_id: data})).error_code == 0
        for version in (5, 6):
            request = describe(["large"] * 600)
            sent = client.send(request, version)
            frame = client.receive_frame()
            assert len(frame) < 3_000_000
            assert struct.unpack_from(">i", frame) == (sent,)
        answered = client.ask(describe(["large", "absent", "large"])).groups
        assert [len(each.members) for each in answered] == [1, 0, 1]
        assert answered[0] == answered[2]
        refused = client.ask(describe(["large"] * 600)).groups
        assert [each.error_code for each in refused[:2]] == [0, 0]
        assert {each.error_code for each in refused[10:]} == {ErrorCode.INVALID_REQUEST}
        leave(client, "large", joined.member_id)
    assert seen.worst < 0.5


# -- patterns


@pytest.fixture(scope="module")
def long_names(one_victim_for_all: Victim) -> None:
    """Topics that such patterns nearly match."""
    with one_victim_for_all.client() as client:
        for ending in ("", "b", "-"):
            client.create_topic("a" * 200 + ending)


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(a?){100}a{100}", "([a-z]+)*b", "(" * 500 + "a" + ")" * 500, "a{1000}{1000}", "(x+x+)+y"],
)
def test_slow_patterns_delay_no_client(victim: Victim, long_names: None, pattern: str) -> None:
    with victim.client() as client, Bystander(victim) as seen:
        for member in ("one", "two"):
            client.ask(beat("patterns", member, subscribed_topic_names=None, subscribed_topic_regex=pattern))
        for member in ("one", "two"):
            client.ask(beat("patterns", member, -1))
    assert seen.worst < BYSTANDER_SECONDS_MAX


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "(?<n>x)(?P=n)", "\\", "(?=a)", "x" * 30_000, ""])
def test_invalid_patterns_are_refused(victim: Victim, pattern: str) -> None:
    with victim.client() as client:
        answer = client.ask(beat("no patterns", subscribed_topic_names=None, subscribed_topic_regex=pattern))
        assert answer.error_code in ((0,) if not pattern else (ErrorCode.INVALID_REGULAR_EXPRESSION,))
        client.ask(beat("no patterns", epoch=-1))


def test_many_members_with_a_pattern_each_are_served(victim: Victim) -> None:
    with victim.client() as client, Bystander(victim) as seen:
        for number in range(200):
            request = beat("collectors", f"m{number}", subscribed_topic_names=None, subscribed_topic_regex=f"t|(a+)+{number}")
            assert client.ask(request).error_code == 0
        for number in range(200):
            client.ask(beat("collectors", f"m{number}", -1))
    assert seen.worst < BYSTANDER_SECONDS_MAX


def test_two_members_with_one_instance_id_delay_no_client(victim: Victim) -> None:
    """Each evicts the other, as fast as it can."""
    stop = threading.Event()

    def fight() -> None:
        with victim.client() as client:
            while not stop.is_set():
                joined = client.ask(join("fight", group_instance_id="place"))
                if not joined.error_code:
                    client.ask(sync("fight", joined, {joined.member_id: b"x"}))

    fighters = [threading.Thread(target=fight) for _ in range(2)]
    with Bystander(victim) as seen:
        for fighter in fighters:
            fighter.start()
        time.sleep(1)
        stop.set()
        for fighter in fighters:
            fighter.join()
    assert seen.worst < 1
