"""Cases that transcripts do not show: subscribed topics, groups that only have offsets, and groups
that change their protocol.
"""

from __future__ import annotations

import struct

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.compiler import encode
from barnabas.wire.coordinator_records.consumer_group_metadata import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolSubscription
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupRequest
from tests.unit.coordinators.desk import NOW_MS, Desk

GROUP = "g"
INITIAL_DELAY_MS = 3_000


def subscription(*topics: str, version: int = 3) -> bytes:
    return struct.pack(">h", version) + encode(ConsumerProtocolSubscription(topics=list(topics)), min(version, 3))


def join(desk: Desk, metadata: bytes, *, protocol_type: str = "consumer", instance_id: str | None = "i", **more: str) -> JoinGroupResponse:
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=more.get("member_id", ""),
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    answer = desk.run(
        lambda machine, now_ms: machine.classic.join(
            request, version=9, client_id=more.get("client_id", "c"), client_host="/h", now_ms=now_ms
        )
    )
    desk.wait(INITIAL_DELAY_MS)
    response = answer.value
    assert isinstance(response, JoinGroupResponse)
    return response


def stable_group(desk: Desk, metadata: bytes, *, protocol_type: str = "consumer") -> ClassicGroup:
    joined = join(desk, metadata, protocol_type=protocol_type)
    request = SyncGroupRequest(group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[])
    desk.ask(lambda machine, now_ms: machine.classic.sync(request, now_ms=now_ms))
    return group_of(desk)


def group_of(desk: Desk) -> ClassicGroup:
    group = desk.machine.shard.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    return group


def test_the_topics_that_consumers_read_are_known_also_after_a_restart() -> None:
    desk = Desk()
    group = stable_group(desk, subscription("t", "u"))
    assert [group.subscribed_to(topic) for topic in "tuv"] == [True, True, False]
    desk.restart()
    assert [group_of(desk).subscribed_to(topic) for topic in "tuv"] == [True, True, False]


def test_a_returning_static_member_replaces_its_subscription() -> None:
    desk = Desk()
    stable_group(desk, subscription("t"))
    join(desk, subscription("u"))
    assert [group_of(desk).subscribed_to(topic) for topic in "tu"] == [False, True]


def test_a_subscription_of_the_future_begins_like_those_of_today() -> None:
    assert stable_group(Desk(), subscription("t", version=9) + b"more").subscribed_to("t")


def test_an_unreadable_subscription_counts_as_all_topics() -> None:
    assert stable_group(Desk(), b"\x00\x00garbage").subscribed_to("anything")
    assert stable_group(Desk(), subscription("t"), protocol_type="connect").subscribed_to("anything")


def test_an_empty_group_reads_nothing_and_grows_old_also_after_a_restart() -> None:
    desk = Desk()
    assert stable_group(desk, subscription("t")).empty_since_ms is None
    desk.wait(10_000)
    for _ in range(2):
        assert not group_of(desk).subscribed_to("t")
        assert group_of(desk).empty_since_ms == NOW_MS + INITIAL_DELAY_MS + 10_000
        desk.restart()


def test_a_simple_group_is_made_once_and_takes_commits_without_a_member() -> None:
    desk = Desk()
    group = desk.machine.classic.simple_group(GROUP)
    assert desk.machine.classic.simple_group(GROUP) is group
    assert (group.kind, group.state_name, group.protocol_type) == (GroupKind.CLASSIC, "Empty", "")
    assert group.check_commit(member_id="", instance_id=None, epoch=-1, transactional=False) is ErrorCode.NONE
    assert group.check_commit(member_id="m", instance_id=None, epoch=1, transactional=False) is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_may_join_a_group_that_only_had_offsets() -> None:
    desk = Desk()
    desk.machine.classic.simple_group(GROUP)
    assert stable_group(desk, subscription("t")).state_name == "Stable"


def test_a_client_with_a_long_name_gets_an_id_that_fits_the_protocol() -> None:
    desk = Desk()
    named = join(desk, b"", instance_id=None, client_id="ö" * 20_000)
    assert named.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert encode(named, 9)


def _consumer_group_without_members(desk: Desk) -> Group:
    value = ConsumerGroupMetadataValue(epoch=7)
    record = CoordinatorRecord(ConsumerGroupMetadataKey(group_id=GROUP), value)
    desk.ask(lambda *_: Outcome(None, [record]))
    return desk.machine.shard.groups[GROUP]


def test_an_empty_group_of_the_new_protocol_gives_way_to_classic_members() -> None:
    desk = Desk()
    emptied = _consumer_group_without_members(desk)
    assert emptied.kind is GroupKind.CONSUMER
    assert stable_group(desk, subscription("t")).state_name == "Stable"
    desk.restart()
    assert group_of(desk).state_name == "Stable"


def test_an_empty_group_of_the_new_protocol_stays_when_the_log_refuses_its_successor() -> None:
    desk = Desk()
    emptied = _consumer_group_without_members(desk)
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    answer = desk.ask(lambda machine, now_ms: machine.classic.join(request, version=9, client_id="c", client_host="/h", now_ms=now_ms))
    assert answer is ErrorCode.NOT_ENOUGH_REPLICAS
    assert desk.machine.shard.groups[GROUP] is emptied


def begin_join(desk: Desk, member_id: str) -> Promise[JoinGroupResponse | ErrorCode]:
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    )
    return desk.run(lambda machine, now_ms: machine.classic.join(request, version=9, client_id="c", client_host="/h", now_ms=now_ms))


def given_id(desk: Desk) -> str:
    answer = begin_join(desk, "").value
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    return answer.member_id


def test_a_group_without_initial_delay_waits_for_members_with_new_ids() -> None:
    desk = Desk(GroupSettings(initial_rebalance_delay_ms=0))
    ids = [given_id(desk) for _ in range(3)]
    answers = []
    for member_id in ids:
        answers.append(begin_join(desk, member_id))
        desk.wait(3)
    assert [answer.value.generation_id for answer in answers if isinstance(answer.value, JoinGroupResponse)] == [1, 1, 1]


def test_a_group_without_initial_delay_soon_gives_up_on_members_that_do_not_return() -> None:
    desk = Desk(GroupSettings(initial_rebalance_delay_ms=0))
    here, _ = given_id(desk), given_id(desk)
    answer = begin_join(desk, here)
    desk.wait(9)
    assert not answer.done
    desk.wait(1)
    assert isinstance(answer.value, JoinGroupResponse)
    assert answer.value.generation_id == 1


def test_a_lone_member_of_a_group_without_initial_delay_joins_at_once() -> None:
    desk = Desk(GroupSettings(initial_rebalance_delay_ms=0))
    answer = begin_join(desk, given_id(desk))
    desk.wait(0)
    assert answer.done
