"""Every metadata record, replayed: its changes to the image, and the delta for publishers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from barnabas.metadata.cluster import BrokerImage, Endpoint, FeatureRange
from barnabas.metadata.configs import CLUSTER_DEFAULT, ConfigResource, ResourceType
from barnabas.metadata.delta_between import delta_between
from barnabas.metadata.draft import Draft
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.metadata.scram import ScramUser
from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import ZERO_UUID, TopicPartition
from barnabas.wire.metadata_records import (
    RECORDS,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
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
from tests.unit.metadata.made import WHEN, after, delta_of, histories, partition, registered, topic, uuid
from tests.unit.records.made import repeatable

FRAMING: tuple[MetadataRecord, ...] = (BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord())


def test_every_record_but_those_that_frame_transactions_can_be_replayed() -> None:
    assert set(MetadataDelta(MetadataImage())._replay) == set(RECORDS.values()) - set(map(type, FRAMING))


@pytest.mark.parametrize("framing", FRAMING, ids=lambda record: type(record).__name__)
def test_records_that_frame_transactions_are_not_for_images(framing: MetadataRecord) -> None:
    with pytest.raises(KeyError):
        MetadataDelta(MetadataImage()).replay(framing)


def test_records_that_mean_nothing_change_nothing() -> None:
    image = after(topic(1, "t", [1]))
    same = after([NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=1)], image, Provenance(100, 3, 5))
    assert replace(same, provenance=image.provenance) == image
    # Unchanged parts are not copied either: publishers may compare by identity.
    assert same.topics is image.topics
    assert same.configs is image.configs


@repeatable
@given(histories())
def test_an_image_never_changes_once_it_is_made(history: list[MetadataRecord]) -> None:
    before = after(history)
    kept = list(before.records())
    after(
        [*topic(50, "zzz", [1], [2]), ConfigRecord(resource_type=2, resource_name="zzz", name="a", value="b"), registered(3, epoch=999)],
        before,
    )
    assert list(before.records()) == kept


# -- features --------------------------------------------------------------------------------------


def test_a_feature_level_of_zero_removes_the_feature() -> None:
    image = after([FeatureLevelRecord(name="a", feature_level=2), FeatureLevelRecord(name="b", feature_level=3)])
    image = after([FeatureLevelRecord(name="a", feature_level=0)], image)
    assert (image.features.level("a"), image.features.level("b"), image.features.level("never")) == (0, 3, 0)
    assert image == after([FeatureLevelRecord(name="b", feature_level=3)])


def test_the_metadata_version_comes_first_because_a_reader_may_need_it_for_the_rest() -> None:
    names = ["a.version", "metadata.version", "z.version"]
    image = after(FeatureLevelRecord(name=name, feature_level=1) for name in names)
    assert [record.name for record in image.features.records()] == ["metadata.version", "a.version", "z.version"]  # type: ignore[union-attr]


# -- brokers ---------------------------------------------------------------------------------------


def test_a_broker_registers_fences_unfences_and_leaves() -> None:
    image = after([registered(1, epoch=5, rack="r", fenced=True)])
    broker = image.cluster.brokers[1]
    assert (broker.epoch, broker.rack, broker.fenced, broker.active) == (5, "r", True, False)
    assert broker.endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "host1", 9092, 0)
    assert broker.endpoint("OTHER") is None
    assert broker.features == (FeatureRange("metadata.version", 30, 30),)
    image = after([UnfenceBrokerRecord(id=1, epoch=5)], image)
    assert [each.broker_id for each in image.cluster.active_brokers()] == [1]
    image = after([FenceBrokerRecord(id=1, epoch=5)], image)
    assert image.cluster.active_brokers() == []
    assert after([UnregisterBrokerRecord(broker_id=1, broker_epoch=5)], image).cluster.brokers == {}


@pytest.mark.parametrize(
    "record",
    [
        FenceBrokerRecord(id=1, epoch=4),
        UnfenceBrokerRecord(id=1, epoch=6),
        UnregisterBrokerRecord(broker_id=1, broker_epoch=4),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=4),
        FenceBrokerRecord(id=2, epoch=5),
    ],
)
def test_a_change_to_a_broker_of_another_epoch_is_our_mistake(record: MetadataRecord) -> None:
    with pytest.raises(AssertionError, match=r"broker \d"):
        after([registered(1, epoch=5), record])


def test_a_registration_change_changes_what_it_names() -> None:
    image = after([registered(1, epoch=5, directories=2)])
    before = image.cluster.brokers[1]

    def changed(**values: Any) -> BrokerImage:
        return after([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, **values)], image).cluster.brokers[1]

    assert changed() == before
    assert changed(fenced=1) == replace(before, fenced=True)
    assert changed(fenced=-1) == before
    assert changed(in_controlled_shutdown=1) == replace(before, in_controlled_shutdown=True)
    assert changed(log_dirs=[uuid(3)]) == replace(before, directories=(uuid(3),))
    assert changed(cordoned_log_dirs=[uuid(4)]) == replace(before, cordoned_directories=(uuid(4),))
    assert not replace(before, in_controlled_shutdown=True).active


def test_the_empty_list_of_cordoned_directories_lifts_the_cordon() -> None:
    image = after([registered(1, epoch=5), BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, cordoned_log_dirs=[uuid(4)])])
    image = after([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, cordoned_log_dirs=[])], image)
    assert image.cluster.brokers[1].cordoned_directories == ()


def test_a_broker_that_registers_again_replaces_itself() -> None:
    image = after([registered(1, epoch=5, rack="old"), registered(1, epoch=9, rack="new", fenced=True)])
    assert (image.cluster.brokers[1].epoch, image.cluster.brokers[1].rack) == (9, "new")


def test_controllers_are_known_by_id() -> None:
    def controller(incarnation: int) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=3, incarnation_id=uuid(incarnation), zk_migration_ready=False, end_points=[], features=[]
        )

    image = after([controller(1), controller(2)])
    assert image.cluster.controllers[3].incarnation_id == uuid(2)


# -- topics ----------------------------------------------------------------------------------------


def test_topics_are_found_by_name_and_by_id() -> None:
    image = after(topic(1, "t", [1, 2], [2, 1]))
    assert image.topics.by_name["t"] is image.topics.by_id[uuid(1)]
    found = image.topics.partition(TopicPartition("t", 1))
    assert found is not None
    assert (found.replicas, found.leader) == ((2, 1), 2)
    assert image.topics.partition(TopicPartition("t", 2)) is None
    assert image.topics.partition(TopicPartition("u", 0)) is None


def test_a_partition_changes_what_a_record_names_and_its_partition_epoch_always() -> None:
    image = after(topic(1, "t", [1, 2, 3]))
    before = image.topics.by_name["t"].partitions[0]

    def changed(**values: Any) -> PartitionImage:
        record = PartitionChangeRecord(partition_id=0, topic_id=uuid(1), **values)
        return after([record], image).topics.by_name["t"].partitions[0]

    once = replace(before, partition_epoch=1)
    assert changed() == once
    assert changed(isr=[2]) == replace(once, isr=(2,))
    assert changed(replicas=[4]) == replace(once, replicas=(4,))
    assert changed(adding_replicas=[4], removing_replicas=[1]) == replace(once, adding_replicas=(4,), removing_replicas=(1,))
    assert changed(directories=[uuid(5)]) == replace(once, directories=(uuid(5),))
    assert changed(leader_recovery_state=1) == replace(once, leader_recovery_state=1)
    assert changed(eligible_leader_replicas=[3], last_known_elr=[2]) == replace(once, eligible_leader_replicas=(3,), last_known_elr=(2,))


def test_the_leader_epoch_rises_with_every_election_even_of_the_same_leader_or_no_leader() -> None:
    image = after(topic(1, "t", [1, 2]))
    for leader, leader_epoch in ((2, 1), (2, 2), (-1, 3), (1, 4)):
        image = after([PartitionChangeRecord(partition_id=0, topic_id=uuid(1), leader=leader)], image)
        found = image.topics.by_name["t"].partitions[0]
        assert (found.leader, found.leader_epoch, found.partition_epoch) == (leader, leader_epoch, leader_epoch)


def test_a_change_before_its_partition_or_topic_is_our_mistake() -> None:
    for record in (
        PartitionChangeRecord(partition_id=1, topic_id=uuid(1)),
        PartitionChangeRecord(partition_id=0, topic_id=uuid(2)),
        partition(2, 0, [1]),
        RemoveTopicRecord(topic_id=uuid(2)),
    ):
        with pytest.raises(AssertionError, match=r"before|comes before"):
            after([*topic(1, "t", [1]), record])


def test_the_image_knows_the_directory_of_a_replica() -> None:
    image = after(
        [TopicRecord(name="t", topic_id=uuid(1)), partition(1, 0, [5, 6], directories=[uuid(50), uuid(60)]), partition(1, 1, [5])]
    )
    first, second = (image.topics.by_name["t"].partitions[index] for index in range(2))
    assert (first.directory_of(5), first.directory_of(6), first.directory_of(7)) == (uuid(50), uuid(60), ZERO_UUID)
    assert second.directory_of(5) == ZERO_UUID


def test_a_removed_topic_loses_its_settings_and_reaches_publishers() -> None:
    setting = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="a", value="b")
    image = after([*topic(1, "t", [1]), setting])
    delta = delta_of([RemoveTopicRecord(topic_id=uuid(1))], image)
    assert delta.finish(WHEN).topics.by_name == {}
    assert delta.finish(WHEN).configs.by_resource == {}
    assert delta.topics.deleted == {uuid(1): image.topics.by_name["t"]}
    assert list(delta.topics.changed_partitions()) == []


def test_a_topic_made_and_removed_between_two_images_never_was() -> None:
    delta = delta_of([*topic(1, "t", [1]), RemoveTopicRecord(topic_id=uuid(1))])
    assert delta.finish(WHEN).topics.by_id == {}
    assert delta.topics.deleted == {}
    assert list(delta.topics.changed_partitions()) == []


def test_settings_of_a_topic_made_and_removed_between_two_images_are_gone_too() -> None:
    setting = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="a", value="b")
    assert after([*topic(1, "t", [1]), setting, RemoveTopicRecord(topic_id=uuid(1))]).configs.by_resource == {}


def test_a_topic_removed_and_made_again_has_another_id_and_no_settings() -> None:
    image = after([*topic(1, "t", [1]), ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t", name="a", value="b")])
    delta = delta_of([RemoveTopicRecord(topic_id=uuid(1)), *topic(2, "t", [1], [1])], image)
    now = delta.finish(WHEN)
    assert now.topics.by_name["t"].topic_id == uuid(2)
    assert uuid(1) not in now.topics.by_id
    assert now.configs.of(ResourceType.TOPIC, "t") == {}
    assert set(delta.topics.deleted) == {uuid(1)}
    assert sorted(index for _, index in delta.topics.changed_partitions()) == [0, 1]


def test_publishers_receive_exactly_the_changed_partitions() -> None:
    image = after([*topic(1, "t", [1], [1], [1]), *topic(2, "u", [1])])
    delta = delta_of([PartitionChangeRecord(partition_id=1, topic_id=uuid(1), isr=[])], image)
    now = delta.finish(WHEN)
    assert [(each.name, index) for each, index in delta.topics.changed_partitions()] == [("t", 1)]
    assert now.topics.by_name["u"] is image.topics.by_name["u"]


def test_partitions_added_later_leave_the_others_as_they_are() -> None:
    image = after(topic(1, "t", [1]))
    now = after([partition(1, 1, [2])], image)
    assert sorted(now.topics.by_name["t"].partitions) == [0, 1]
    assert now.topics.by_name["t"].partitions[0] is image.topics.by_name["t"].partitions[0]


def test_eligible_leaders_are_forgotten_for_one_topic_or_for_all() -> None:
    def with_elr(number: int, name: str) -> list[MetadataRecord]:
        change = PartitionChangeRecord(partition_id=0, topic_id=uuid(number), eligible_leader_replicas=[2], last_known_elr=[3])
        return [*topic(number, name, [1]), change]

    image = after([*with_elr(1, "t"), *with_elr(2, "u")])

    def elr(image: MetadataImage) -> list[tuple[int, ...]]:
        found = (image.topics.by_name[name].partitions[0] for name in ("t", "u"))
        return [each.eligible_leader_replicas + each.last_known_elr for each in found]

    assert elr(image) == [(2, 3), (2, 3)]
    assert elr(after([ClearElrRecord(topic_name="t")], image)) == [(), (2, 3)]
    assert elr(after([ClearElrRecord(topic_name="")], image)) == [(), ()]
    assert elr(after([ClearElrRecord(topic_name="missing")], image)) == [(2, 3), (2, 3)]


# -- settings, quotas, rules, secrets --------------------------------------------------------------


def test_settings_are_set_changed_and_removed_one_by_one() -> None:
    def setting(name: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=name, value=value)

    image = after([setting("a", "1"), setting("b", "2"), setting("a", "3")])
    assert image.configs.by_resource[CLUSTER_DEFAULT] == {"a": "3", "b": "2"}
    delta = delta_of([setting("a", None), setting("never", None)], image)
    assert delta.finish(WHEN).configs.by_resource[CLUSTER_DEFAULT] == {"b": "2"}
    assert delta.configs.changed == {CLUSTER_DEFAULT}
    assert after([setting("a", None), setting("b", None)], image).configs.by_resource == {}
    assert image.configs.of(ResourceType.TOPIC, "never") == {}
    assert ConfigResource(4, "") == CLUSTER_DEFAULT


def test_quotas_belong_to_an_entity_whatever_the_order_of_its_parts() -> None:
    def quota(
        *parts: tuple[str, str | None], key: str = "producer_byte_rate", value: float = 1.0, remove: bool = False
    ) -> ClientQuotaRecord:
        entity = [EntityData(entity_type=kind, entity_name=name) for kind, name in parts]
        return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)

    image = after([quota(("user", "u"), ("client-id", None)), quota(("client-id", None), ("user", "u"), value=2.0), quota(("user", None))])
    assert image.quotas.by_entity == {
        frozenset({("user", "u"), ("client-id", None)}): {"producer_byte_rate": 2.0},
        frozenset({("user", None)}): {"producer_byte_rate": 1.0},
    }
    image = after([quota(("user", None), remove=True), quota(("user", "u"), ("client-id", None), key="other", remove=True)], image)
    assert set(image.quotas.by_entity) == {frozenset({("user", "u"), ("client-id", None)})}


def test_taking_one_access_rule_away_takes_no_other_with_it() -> None:
    """CVE-2024-27309: two ACLs of the same resource, one of them removed."""

    def rule(number: int) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(
            id=uuid(number),
            resource_type=2,
            resource_name="t",
            pattern_type=3,
            principal="User:a",
            host="*",
            operation=3,
            permission_type=3,
        )

    image = after([rule(1), rule(2), RemoveAccessControlEntryRecord(id=uuid(1))])
    assert set(image.acls.by_id) == {uuid(2)}
    with pytest.raises(AssertionError, match="removed before it exists"):
        after([RemoveAccessControlEntryRecord(id=uuid(1))], image)


def test_credentials_by_user_and_mechanism_and_never_shown() -> None:
    def credential(mechanism: int) -> UserScramCredentialRecord:
        return UserScramCredentialRecord(
            name="u", mechanism=mechanism, salt=b"SALT", stored_key=b"STORED", server_key=b"SERVER", iterations=4096
        )

    image = after([credential(1), credential(2), RemoveUserScramCredentialRecord(name="u", mechanism=1)])
    assert set(image.scram.by_user) == {ScramUser("u", 2)}
    assert "S" not in repr(image.scram.by_user[ScramUser("u", 2)]).replace("ScramCredential", "")


def test_tokens_by_id() -> None:
    def token(expiration: int) -> DelegationTokenRecord:
        return DelegationTokenRecord(
            owner="o", requester="r", renewers=[], issue_timestamp=0, max_timestamp=9, expiration_timestamp=expiration, token_id="x"
        )

    image = after([token(1), token(2)])
    assert image.delegation_tokens.by_id["x"].expiration_timestamp == 2
    assert after([RemoveDelegationTokenRecord(token_id="x")], image).delegation_tokens.by_id == {}


def test_the_next_producer_id_is_the_last_that_was_written() -> None:
    image = after([ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=1000)])
    assert image.producer_ids.next_producer_id == 1000
    assert list(MetadataImage().producer_ids.records()) == []


# -- as a whole ------------------------------------------------------------------------------------


@repeatable
@given(histories())
def test_an_image_written_as_records_reads_back_as_an_equal_image(history: list[MetadataRecord]) -> None:
    image = after(history)
    assert after(image.records()) == image


@repeatable
@given(histories(), st.integers(0, 80))
def test_the_boundaries_of_deltas_do_not_change_the_image(history: list[MetadataRecord], cut: int) -> None:
    assert after(history[cut:], after(history[:cut])) == after(history)


@repeatable
@given(histories())
def test_a_new_publisher_receives_everything_and_no_deletions(history: list[MetadataRecord]) -> None:
    image = after(history)
    delta = delta_between(MetadataImage(), image)
    assert {(each.name, index) for each, index in delta.topics.changed_partitions()} == {
        (each.name, index) for each in image.topics.by_id.values() for index in each.partitions
    }
    assert delta.topics.deleted == {}
    assert delta.configs.changed == set(image.configs.by_resource)
    assert delta.cluster.brokers.changed == set(image.cluster.brokers)


def test_an_image_is_empty_until_something_was_read() -> None:
    assert MetadataImage().empty
    assert not after([NoOpRecord()]).empty


def test_a_draft_copies_when_something_changes_and_not_before() -> None:
    original = {"a": 1}
    draft: Draft[str, int] = Draft(original)
    assert draft.finish() is original
    draft.set("b", 2)
    draft.remove("a")
    assert (original, dict(draft.finish()), draft.changed) == ({"a": 1}, {"b": 2}, {"a", "b"})
    assert draft.get("a") is None
