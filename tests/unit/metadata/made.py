"""Images made by hand and by chance: every kind of metadata record, in orders that a controller
could write.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.ids import Uuid
from barnabas.wire.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from barnabas.wire.metadata_records.client_quota import EntityData
from barnabas.wire.metadata_records.register_broker import BrokerEndpoint, BrokerFeature
from barnabas.wire.metadata_records.register_controller import ControllerEndpoint, ControllerFeature

WHEN = Provenance(99, 3, 1_700_000_000_000)


def uuid(number: int) -> Uuid:
    return Uuid(b"\x01" * 8 + number.to_bytes(8, "big"))


def after(records: Iterable[MetadataRecord], image: MetadataImage | None = None, provenance: Provenance = WHEN) -> MetadataImage:
    """The image of these records."""
    return delta_of(records, image).finish(provenance)


def delta_of(records: Iterable[MetadataRecord], image: MetadataImage | None = None) -> MetadataDelta:
    delta = MetadataDelta(image or MetadataImage())
    for record in records:
        delta.replay(record)
    return delta


def registered(
    broker_id: int, *, epoch: int | None = None, rack: str | None = None, fenced: bool = False, directories: int = 1
) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=uuid(1000 + broker_id),
        broker_epoch=100 + broker_id if epoch is None else epoch,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host=f"host{broker_id}", port=9092, security_protocol=0)],
        features=[BrokerFeature(name="metadata.version", min_supported_version=30, max_supported_version=30)],
        rack=rack,
        fenced=fenced,
        log_dirs=[uuid(10 * broker_id + number) for number in range(directories)],
    )


def partition(
    topic: int,
    index: int,
    replicas: list[int],
    *,
    isr: list[int] | None = None,
    leader: int | None = None,
    directories: list[Uuid] | None = None,
) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=uuid(topic),
        replicas=replicas,
        isr=replicas if isr is None else isr,
        removing_replicas=[],
        adding_replicas=[],
        leader=replicas[0] if leader is None else leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=directories or [],
    )


def topic(number: int, name: str, *replicas: list[int]) -> list[MetadataRecord]:
    """A topic with one partition for each list of replicas."""
    return [TopicRecord(name=name, topic_id=uuid(number)), *(partition(number, index, each) for index, each in enumerate(replicas))]


# -- chance ----------------------------------------------------------------------------------------

_names = st.text("abc", min_size=1, max_size=3)
_ids = st.integers(0, 4)
_replicas = st.lists(_ids, unique=True, max_size=3)
_some_uuid = st.integers(1, 5).map(uuid)


@st.composite
def histories(draw: st.DrawFn) -> list[MetadataRecord]:
    """Records in an order that a controller could write: changes come after the things they
    change.
    """
    written: list[MetadataRecord] = []
    brokers: dict[int, int] = {}
    topics: dict[Uuid, tuple[str, int]] = {}
    acls: set[Uuid] = set()
    for step in range(draw(st.integers(0, 25))):
        written += _next(draw, step, brokers, topics, acls)
    return written


def _next(
    draw: st.DrawFn, step: int, brokers: dict[int, int], topics: dict[Uuid, tuple[str, int]], acls: set[Uuid]
) -> list[MetadataRecord]:
    match draw(st.integers(0, 17)):
        case 0:
            broker = draw(_ids)
            brokers[broker] = step
            return [_any_broker(draw, broker, step)]
        case 1 if brokers:
            broker = draw(st.sampled_from(sorted(brokers)))
            if draw(st.booleans()):
                return [FenceBrokerRecord(id=broker, epoch=brokers[broker])]
            return [UnfenceBrokerRecord(id=broker, epoch=brokers[broker])]
        case 2 if brokers:
            broker = draw(st.sampled_from(sorted(brokers)))
            return [
                BrokerRegistrationChangeRecord(
                    broker_id=broker,
                    broker_epoch=brokers[broker],
                    fenced=draw(st.integers(-1, 1)),
                    in_controlled_shutdown=draw(st.integers(0, 1)),
                    log_dirs=draw(st.lists(_some_uuid, max_size=2)),
                    cordoned_log_dirs=draw(st.none() | st.lists(_some_uuid, max_size=2)),
                )
            ]
        case 3 if brokers:
            broker = draw(st.sampled_from(sorted(brokers)))
            return [UnregisterBrokerRecord(broker_id=broker, broker_epoch=brokers.pop(broker))]
        case 4:
            return [
                RegisterControllerRecord(
                    controller_id=draw(_ids),
                    incarnation_id=draw(_some_uuid),
                    zk_migration_ready=False,
                    end_points=[ControllerEndpoint(name="C", host=draw(_names), port=draw(st.integers(0, 65535)), security_protocol=0)],
                    features=[ControllerFeature(name="f", min_supported_version=0, max_supported_version=draw(_ids))],
                )
            ]
        case 5 | 6:
            name, topic_id = draw(_names), uuid(100 + step)
            if name in {known for known, _ in topics.values()}:
                return []
            count = draw(st.integers(1, 3))
            topics[topic_id] = (name, count)
            return [TopicRecord(name=name, topic_id=topic_id), *(_any_partition(draw, topic_id, index) for index in range(count))]
        case 7 | 8 if topics:
            topic_id = draw(st.sampled_from(sorted(topics)))
            return [_any_partition_change(draw, topic_id, draw(st.integers(0, topics[topic_id][1] - 1)))]
        case 9 if topics:
            topic_id = draw(st.sampled_from(sorted(topics)))
            del topics[topic_id]
            return [RemoveTopicRecord(topic_id=topic_id)]
        case 10:
            kind, name = draw(st.sampled_from([(2, "a"), (2, "b"), (4, ""), (4, "1"), (32, "g"), (16, "m")]))
            return [ConfigRecord(resource_type=kind, resource_name=name, name=draw(_names), value=draw(st.none() | _names))]
        case 11:
            entity = [
                EntityData(entity_type=kind, entity_name=draw(st.none() | _names))
                for kind in draw(st.sampled_from([["user"], ["client-id", "user"], ["ip"]]))
            ]
            return [ClientQuotaRecord(entity=entity, key=draw(_names), value=draw(st.floats(0, 1e6)), remove=draw(st.booleans()))]
        case 12:
            acl = draw(_some_uuid)
            acls.add(acl)
            return [
                AccessControlEntryRecord(
                    id=acl,
                    resource_type=2,
                    resource_name=draw(_names),
                    pattern_type=3,
                    principal="User:a",
                    host="*",
                    operation=3,
                    permission_type=3,
                )
            ]
        case 13 if acls:
            acl = draw(st.sampled_from(sorted(acls)))
            acls.discard(acl)
            return [RemoveAccessControlEntryRecord(id=acl)]
        case 14:
            name, mechanism = draw(_names), draw(st.integers(1, 2))
            if draw(st.booleans()):
                return [RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)]
            return [UserScramCredentialRecord(name=name, mechanism=mechanism, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096)]
        case 15:
            token = draw(_names)
            if draw(st.booleans()):
                return [RemoveDelegationTokenRecord(token_id=token)]
            return [
                DelegationTokenRecord(
                    owner="User:o",
                    requester="User:r",
                    renewers=draw(st.lists(_names, max_size=2)),
                    issue_timestamp=1,
                    max_timestamp=2,
                    expiration_timestamp=draw(_ids),
                    token_id=token,
                )
            ]
        case 16:
            return [
                ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=draw(st.integers(0, 2**40))),
                FeatureLevelRecord(
                    name=draw(st.sampled_from(["metadata.version", "kraft.version", "x"])), feature_level=draw(st.integers(0, 30))
                ),
            ]
        case 17:
            cleared = [name for name, _ in topics.values()]
            return [
                ClearElrRecord(topic_name=draw(st.sampled_from(["", *cleared]))),
                NoOpRecord(),
                ZkMigrationStateRecord(zk_migration_state=0),
            ]
        case _:
            return []


def _any_broker(draw: st.DrawFn, broker: int, epoch: int) -> RegisterBrokerRecord:
    record = registered(broker, epoch=epoch, rack=draw(st.none() | _names), fenced=draw(st.booleans()), directories=draw(st.integers(0, 2)))
    record.in_controlled_shutdown = draw(st.booleans())
    record.cordoned_log_dirs = draw(st.none() | st.lists(_some_uuid, max_size=1))
    return record


def _any_partition(draw: st.DrawFn, topic_id: Uuid, index: int) -> PartitionRecord:
    replicas = draw(_replicas)
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas[:1],
        removing_replicas=draw(_replicas),
        adding_replicas=draw(_replicas),
        leader=draw(st.sampled_from([-1, *replicas])),
        leader_recovery_state=draw(st.integers(0, 1)),
        leader_epoch=draw(_ids),
        partition_epoch=draw(_ids),
        directories=[uuid(9) for _ in replicas],
        eligible_leader_replicas=draw(st.none() | _replicas),
        last_known_elr=draw(st.none() | _replicas),
    )


def _any_partition_change(draw: st.DrawFn, topic_id: Uuid, index: int) -> PartitionChangeRecord:
    maybe = st.none() | _replicas
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        isr=draw(maybe),
        leader=draw(st.integers(-2, 4)),
        replicas=draw(maybe),
        removing_replicas=draw(maybe),
        adding_replicas=draw(maybe),
        leader_recovery_state=draw(st.integers(-1, 1)),
        eligible_leader_replicas=draw(maybe),
        last_known_elr=draw(maybe),
    )
