"""Random members that join, leave, crash and dawdle, while topics are created, grown and deleted,
and brokers take over.

Safety: no partition belongs to two members at once. A member holds the partitions of its last
response until it reports that it revoked them, leaves, or has had no response for a session
timeout. Liveness: when nothing changes any more, the group becomes stable and every partition has
an owner.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, settings, strategies as st

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.interests import Interests
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.unit.coordinators.consumer.desk import Desk

HEARTBEAT_MS = 5_000
SESSION_MS = 45_000
REBALANCE_TIMEOUT_MS = 120_000
ROUNDS_TO_CONVERGE = 40
TOPICS = ("a", "b", "c")


class Client:
    """A member that behaves like a real one: it owns its assignment, and revokes other partitions
    sooner or later.
    """

    def __init__(self, desk: Desk, name: str, topics: list[str], pattern: str | None, instance_id: str | None) -> None:
        self.desk, self.name, self.topics, self.pattern, self.instance_id = desk, name, topics, pattern, instance_id
        self.told: frozenset[IdPartition] = frozenset()
        self.owned: frozenset[IdPartition] = frozenset()
        self.epoch = 0
        self.uncertain = False  # Whether its last heartbeat arrived; if not, the next one is full.
        self.heard_ms = desk.now_ms
        # Since when it owns partitions that it should revoke.
        self.asked_back_ms: int | None = None

    def beat(self, *, dawdles: bool, answer_lost: bool) -> None:
        if not dawdles:
            self.owned &= self.told
            self.asked_back_ms = None
        if self.epoch == 0:
            response = self.desk.join(
                self.name, self.topics, pattern=self.pattern, instance_id=self.instance_id, timeout_ms=REBALANCE_TIMEOUT_MS
            )
        elif self.uncertain:
            response = self.desk.beat(
                self.name,
                epoch=self.epoch,
                owned=self.owned,
                topics=self.topics,
                pattern=self.pattern,
                instance_id=self.instance_id,
                timeout_ms=REBALANCE_TIMEOUT_MS,
            )
        else:
            response = self.desk.beat(self.name, epoch=self.epoch, owned=self.owned, instance_id=self.instance_id)
        self.uncertain = answer_lost
        if answer_lost:
            return
        assert not isinstance(response, ErrorCode)
        self.take(response)

    def take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.abandon()
            return
        if response.error_code == ErrorCode.UNRELEASED_INSTANCE_ID:
            return
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        self.epoch = response.member_epoch
        self.heard_ms = self.desk.now_ms
        if response.assignment is not None:
            self.told = frozenset((topic.topic_id, each) for topic in response.assignment.topic_partitions for each in topic.partitions)
        # A real client revokes before it takes, each in its own time; the partitions it takes were
        # free when the response was sent.
        if self.owned <= self.told:
            self.owned = self.told
        elif self.asked_back_ms is None:
            self.asked_back_ms = self.desk.now_ms

    def abandon(self) -> None:
        self.epoch = 0
        self.asked_back_ms = None
        self.told = self.owned = frozenset()

    @property
    def in_its_hands(self) -> frozenset[IdPartition]:
        """A client without a response for a session timeout, or that revoked too late, knows that
        another member may have replaced it.
        """
        silent = self.desk.now_ms - self.heard_ms >= SESSION_MS
        # The request to revoke may have been in an earlier, lost response, but not earlier than one
        # session ago.
        slow = self.asked_back_ms is not None and self.desk.now_ms - self.asked_back_ms >= REBALANCE_TIMEOUT_MS - SESSION_MS
        return frozenset() if silent or slow else self.owned


class World:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.desk = Desk(GroupSettings(consumer_assignment_interval_ms=self.chance.choice([0, 1_000])))
        self.desk.topic("a", 4)
        self.clients: list[Client] = []
        self.joined_count = 0

    def step(self) -> None:
        deed = self.chance.choice([self.beat] * 12 + [self.come, self.go, self.crash, self.change_topics, self.wait, self.reload])
        deed()
        self.check()

    def check(self) -> None:
        owners: dict[IdPartition, str] = {}
        for client in self.clients:
            for slot in client.in_its_hands:
                assert slot not in owners, f"{slot} is in the hands of {owners[slot]} and {client.name}"
                owners[slot] = client.name
        self.check_interests()

    def check_interests(self) -> None:
        group = self.desk.machine.shard.groups.get("g")
        if isinstance(group, ConsumerGroup):
            counted = Interests()
            for member in group.members.values():
                counted.change(None, member)
            assert group.interests == counted

    def beat(self) -> None:
        if self.clients:
            client = self.chance.choice(self.clients)
            client.beat(dawdles=self.chance.random() < 0.3, answer_lost=self.chance.random() < 0.1)

    def come(self) -> None:
        if len(self.clients) >= 5:
            return
        self.joined_count += 1
        topics = self.chance.sample(TOPICS, self.chance.randint(1, 3))
        pattern = self.chance.choice([None, None, "[ab]"])
        instance_id = f"i{self.chance.randint(1, 2)}" if self.chance.random() < 0.3 else None
        if any(client.instance_id == instance_id for client in self.clients) and instance_id is not None:
            return
        self.clients.append(Client(self.desk, f"m{self.joined_count}", topics, pattern, instance_id))

    def go(self) -> None:
        if self.clients:
            client = self.clients.pop(self.chance.randrange(len(self.clients)))
            client.abandon()
            for_a_while = client.instance_id is not None and self.chance.random() < 0.5
            self.desk.beat(client.name, epoch=-2 if for_a_while else -1, instance_id=client.instance_id)

    def crash(self) -> None:
        """Stop without leaving. The partitions have no owner until the session ends, which the
        broker must detect.
        """
        if self.clients:
            self.clients.pop(self.chance.randrange(len(self.clients)))

    def change_topics(self) -> None:
        name = self.chance.choice(TOPICS)
        known = self.desk.image.topics.by_name.get(name)
        if known is not None and self.chance.random() < 0.4:
            self.desk.delete(name)
        else:
            self.desk.topic(name, (len(known.partitions) if known is not None else 0) + self.chance.randint(1, 3))

    def wait(self) -> None:
        self.desk.wait(self.chance.choice([100, 1_000, HEARTBEAT_MS, 20_000]))

    def reload(self) -> None:
        self.desk.reload()

    def settle(self) -> None:
        """From now on all members behave, and nothing else happens."""
        for _ in range(ROUNDS_TO_CONVERGE):
            for client in self.clients:
                client.beat(dawdles=False, answer_lost=False)
                self.check()
            self.desk.wait(HEARTBEAT_MS)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_partition_has_two_owners_and_every_group_comes_to_rest(seed: int) -> None:
    world = World(seed)
    world.come()
    for _ in range(80):
        world.step()
    world.settle()
    if not world.clients:
        return
    assert world.desk.group.state_name == "Stable"
    topics = world.desk.image.topics.by_name
    read = {name for client in world.clients for name in client.topics} | {
        name for client in world.clients if client.pattern is not None for name in ("a", "b")
    }
    expected = {(topics[name].topic_id, each) for name in read if name in topics for each in range(len(topics[name].partitions))}
    assert {slot for client in world.clients for slot in client.owned} == expected
    assert sum(len(client.owned) for client in world.clients) == len(expected)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_group_read_from_the_log_equals_the_group_of_the_first_broker(seed: int) -> None:
    world = World(seed)
    world.come()
    for _ in range(60):
        world.step()
    if "g" not in world.desk.machine.shard.groups:
        return
    before = vars(world.desk.group).copy()
    world.desk.reload()
    now = vars(world.desk.group).copy()
    before.pop("metadata_seen")
    now.pop("metadata_seen")
    assert now == before
