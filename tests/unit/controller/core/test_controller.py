"""The controller as a whole: uncommitted decisions, unique producer ids, and its requests."""

from __future__ import annotations

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.controller.core.bootstrap import as_transaction, bootstrap_records
from barnabas.controller.core.controller import Controller
from barnabas.controller.core.features import METADATA_VERSION_4_3, SUPPORTED_FEATURES
from barnabas.controller.core.producer_ids import BLOCK_SIZE
from barnabas.devcluster.development import development_properties
from barnabas.metadata.cluster import ControllerImage, FeatureRange
from barnabas.metadata.configs import CLUSTER_DEFAULT
from barnabas.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION as ELIGIBLE, METADATA_VERSION
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, NodeId
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, DirectoryData, PartitionData, TopicData
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.wire.metadata_records import ConfigRecord, FeatureLevelRecord, NoOpRecord, PartitionChangeRecord, ProducerIdsRecord
from barnabas.wire.metadata_records.register_broker import BrokerFeature
from tests.unit.controller.core.deciding import CLUSTER_ID, NOW_MS, WALL_MS, Dice, Office
from tests.unit.metadata.made import WHEN, after, registered, topic, uuid


def new_controller() -> Controller:
    return Controller(NodeId(1), CLUSTER_ID, parse_broker_config(development_properties(data_dir="/d")), Dice())


def wanted(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])])


# -- becoming active --------------------------------------------------------------------------


def test_the_first_controller_of_a_cluster_writes_its_feature_levels_as_one_transaction() -> None:
    controller = new_controller()
    written = controller.activate(MetadataImage(), bootstrap_records(), next_offset=1, now_ms=NOW_MS)
    kinds = [type(record).__name__ for record in written]
    assert kinds == ["BeginTransactionRecord", *["FeatureLevelRecord"] * len(SUPPORTED_FEATURES), "ConfigRecord", "EndTransactionRecord"]
    assert controller.image.features.level(METADATA_VERSION) == METADATA_VERSION_4_3
    assert controller.image.provenance.offset == len(written)
    # The ELR depends on it, so all brokers must agree about it from the first day.
    assert controller.image.configs.by_resource[CLUSTER_DEFAULT] == {"min.insync.replicas": "1"}


def test_a_cluster_without_the_elr_gets_no_min_insync_replicas_for_all() -> None:
    bootstrap = [FeatureLevelRecord(name=METADATA_VERSION, feature_level=METADATA_VERSION_4_3)]
    assert new_controller().activate(MetadataImage(), bootstrap, next_offset=1, now_ms=NOW_MS) == as_transaction(bootstrap)


def test_a_later_controller_writes_nothing_and_has_everything() -> None:
    image = after([*bootstrap_records(), *topic(1, "t", [1])])
    controller = new_controller()
    assert controller.activate(image, bootstrap_records(), next_offset=100, now_ms=NOW_MS) == []
    assert controller.image is image


def test_a_controller_elected_again_forgets_uncommitted_changes() -> None:
    office = Office([registered(1)])
    office.ask(wanted("uncommitted"))
    assert "uncommitted" in office.image.topics.by_name
    office.controller.activate(after(bootstrap_records()), [], next_offset=100, now_ms=NOW_MS)
    assert office.image.topics.by_name == {}


# -- deciding ---------------------------------------------------------------------------------


def test_the_next_decision_builds_on_the_last_whether_or_not_it_is_committed() -> None:
    office = Office([registered(1)])
    assert office.ask(wanted("t")).topics[0].error_code == 0
    assert office.ask(wanted("t")).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_the_image_is_at_the_offset_of_the_last_record_written() -> None:
    office = Office([registered(1)])
    records = office.decide(wanted("t")).records
    assert office.image.provenance.offset == 99 + len(records)
    office.controller.note(99 + len(records) + 1)
    assert office.image.provenance.offset == 99 + len(records) + 1


def test_a_decision_without_records_moves_nothing() -> None:
    office = Office([registered(1)])
    before = office.image
    office.decide(wanted("a/b"))
    assert office.image is before


def test_a_request_that_is_not_the_controllers_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="does not decide MetadataRequest"):
        new_controller().step(MetadataRequest(topics=None), next_offset=0, now_ms=NOW_MS, wall_ms=WALL_MS)


def test_the_same_seed_decides_the_same() -> None:
    first, second = (Office([registered(1), registered(2)], seed=4) for _ in range(2))
    assert first.decide(wanted("t")).records == second.decide(wanted("t")).records


# -- producer ids -----------------------------------------------------------------------------


def allocate(broker_id: int = 1, epoch: int = 101) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)


def test_blocks_of_producer_ids_do_not_overlap() -> None:
    office = Office([registered(1), registered(2)])
    blocks = [office.ask(allocate()), office.ask(allocate(2, 102)), office.ask(allocate())]
    assert [(each.error_code, each.producer_id_start, each.producer_id_len) for each in blocks] == [
        (0, 0, BLOCK_SIZE),
        (0, BLOCK_SIZE, BLOCK_SIZE),
        (0, 2 * BLOCK_SIZE, BLOCK_SIZE),
    ]
    assert office.image.producer_ids.next_producer_id == 3 * BLOCK_SIZE


@pytest.mark.parametrize("request_", [allocate(9), allocate(epoch=100), allocate(epoch=102)])
def test_strangers_and_zombies_get_no_producer_ids(request_: AllocateProducerIdsRequest) -> None:
    outcome = Office([registered(1)]).decide(request_)
    assert (outcome.response.error_code, outcome.response.producer_id_len, outcome.records) == (ErrorCode.STALE_BROKER_EPOCH, 0, ())


def test_producer_ids_are_refused_when_they_run_out() -> None:
    office = Office([registered(1), ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2**63 - 10)])
    assert office.ask(allocate()).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


# -- features ---------------------------------------------------------------------------------


def update(feature: str, level: int, kind: int = 1, *, dry: bool = False, old_downgrade: bool = False) -> UpdateFeaturesRequest:
    key = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind, allow_downgrade=old_downgrade)
    return UpdateFeaturesRequest(feature_updates=[key], validate_only=dry)


def test_a_level_that_is_set_already_is_allowed_and_not_written() -> None:
    outcome = Office().decide(update(METADATA_VERSION, METADATA_VERSION_4_3))
    assert (outcome.response.error_code, outcome.records) == (0, [])


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("level", [METADATA_VERSION_4_3 + 1, METADATA_VERSION_4_3 - 1, 0, -1])
def test_levels_that_this_software_does_not_support_are_refused(level: int, kind: int) -> None:
    outcome = Office().decide(update(METADATA_VERSION, level, kind))
    assert (outcome.response.error_code, outcome.records) == (ErrorCode.INVALID_UPDATE_VERSION, ())
    assert outcome.response.error_message


def test_unknown_features_and_unknown_upgrade_types_are_refused() -> None:
    office = Office()
    assert office.ask(update("no.such.feature", 1)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert office.ask(update(METADATA_VERSION, METADATA_VERSION_4_3, 9)).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_one_update_that_cannot_be_made_refuses_all() -> None:
    request = update(METADATA_VERSION, METADATA_VERSION_4_3)
    request.feature_updates += [FeatureUpdateKey(feature="no.such.feature", max_version_level=1)]
    outcome = Office().decide(request)
    assert (outcome.response.error_code, outcome.records) == (ErrorCode.INVALID_UPDATE_VERSION, ())


def test_a_new_cluster_starts_with_the_offered_features() -> None:
    levels = {record.name: record.feature_level for record in bootstrap_records() if isinstance(record, FeatureLevelRecord)}
    assert levels == {name: versions.highest for name, versions in SUPPORTED_FEATURES.items()}


def test_a_level_that_a_broker_or_controller_does_not_support_is_refused() -> None:
    broker, silent = registered(1), registered(2)
    broker.features.append(BrokerFeature(name=ELIGIBLE, min_supported_version=0, max_supported_version=1))
    off = FeatureLevelRecord(name=ELIGIBLE, feature_level=0)
    assert Office([broker, off]).ask(update(ELIGIBLE, 1)).error_code == 0
    refused = Office([broker, silent, off]).ask(update(ELIGIBLE, 1))
    assert (refused.error_code, "Broker 2 does not support" in refused.error_message) == (ErrorCode.INVALID_UPDATE_VERSION, True)
    controller = ControllerImage(3, uuid(3), (), (FeatureRange(ELIGIBLE, 0, 0),)).record()
    refused = Office([broker, controller, off]).ask(update(ELIGIBLE, 1))
    assert (refused.error_code, "Controller 3 does not support" in refused.error_message) == (ErrorCode.INVALID_UPDATE_VERSION, True)


def test_a_voter_that_never_registered_may_not_support_anything() -> None:
    voters = {"controller.quorum.voters": "1@localhost:9093,2@localhost:9094"}
    refused = Office(file=voters).ask(update(ELIGIBLE, 0, 2))
    assert (refused.error_code, "controller 2 has not registered" in refused.error_message) == (ErrorCode.INVALID_UPDATE_VERSION, True)


def test_a_feature_that_another_software_brought_can_only_be_switched_off() -> None:
    office = Office([FeatureLevelRecord(name="future.version", feature_level=1)])
    assert office.ask(update("future.version", 2)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert office.ask(update("future.version", 0, 2)).error_code == 0
    assert office.ask(update("future.version", 0, 2)).error_code == ErrorCode.INVALID_UPDATE_VERSION


class Quorum:
    """A cluster whose voters may change."""

    kraft_version = 0

    def kraft_upgrade_problem(self, version: int) -> str | None:
        return None if version == 1 else "It has its reasons."


def test_the_quorums_own_level_is_raised_by_the_quorum() -> None:
    settings = parse_broker_config(development_properties(data_dir="/d"))
    controller = Controller(NodeId(1), CLUSTER_ID, settings, Dice(), Quorum())
    controller.activate(after(bootstrap_records()), [], next_offset=100, now_ms=NOW_MS)
    dry = controller.step(update("kraft.version", 1, dry=True), next_offset=100, now_ms=NOW_MS, wall_ms=WALL_MS)
    assert (dry.response.error_code, dry.kraft_version, dry.records) == (0, None, ())
    raised = controller.step(update("kraft.version", 1), next_offset=100, now_ms=NOW_MS, wall_ms=WALL_MS)
    assert (raised.response.error_code, raised.kraft_version, raised.records) == (0, 1, [NoOpRecord()])
    assert "kraft.version" not in controller.image.features.levels


def test_the_quorum_may_refuse_its_own_level() -> None:
    refused = Office().decide(update("kraft.version", 1))
    assert (refused.response.error_code, refused.kraft_version) == (ErrorCode.INVALID_UPDATE_VERSION, None)
    same = Office().decide(update("kraft.version", 0))
    assert (same.response.error_code, same.kraft_version, same.records) == (0, None, [])


def test_a_downgrade_goes_down() -> None:
    office = Office()
    assert office.ask(update(ELIGIBLE, 0)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert office.ask(update(ELIGIBLE, 0, 2)).error_code == 0
    assert office.ask(update(ELIGIBLE, 1, 2)).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_brokers_agree_on_min_insync_replicas_before_the_elr_is_enabled() -> None:
    name = "min.insync.replicas"
    own = ConfigRecord(resource_type=4, resource_name="7", name=name, value="2")
    office = Office([FeatureLevelRecord(name=ELIGIBLE, feature_level=0), own], file={name: "3"})
    assert office.ask(update(ELIGIBLE, 1)).error_code == 0
    assert office.image.configs.by_resource == {CLUSTER_DEFAULT: {name: "3"}}


# -- directories ------------------------------------------------------------------------------


def report(*partitions: tuple[int, int], broker: int = 1, epoch: int = 101, directory: int = 10) -> AssignReplicasToDirsRequest:
    topics = [TopicData(topic_id=uuid(number), partitions=[PartitionData(partition_index=index)]) for number, index in partitions]
    return AssignReplicasToDirsRequest(broker_id=broker, broker_epoch=epoch, directories=[DirectoryData(id=uuid(directory), topics=topics)])


def errors_in(response: object) -> list[int]:
    directories = response.directories  # type: ignore[attr-defined]
    return [partition.error_code for each in directories for topic_ in each.topics for partition in topic_.partitions]


def test_a_broker_reports_the_directories_of_its_replicas() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [2, 1], [1])])
    assert errors_in(office.ask(report((1, 0), (1, 1)))) == [0, 0]
    partitions = office.image.topics.by_name["t"].partitions
    assert (partitions[0].directories, partitions[1].directories) == ((ZERO_UUID, uuid(10)), (uuid(10),))
    # The leader and its epoch stay.
    assert (partitions[0].leader, partitions[0].leader_epoch) == (2, 0)


def test_known_directories_are_not_written_again() -> None:
    office = Office([registered(1), *topic(1, "t", [1])])
    office.ask(report((1, 0)))
    outcome = office.decide(report((1, 0)))
    assert (errors_in(outcome.response), outcome.records) == ([0], [])


def test_a_replica_moves_from_one_directory_to_another() -> None:
    office = Office([registered(1, directories=2), *topic(1, "t", [1])])
    office.ask(report((1, 0)))
    (record,) = office.decide(report((1, 0), directory=11)).records
    assert isinstance(record, PartitionChangeRecord)
    assert record.directories == [uuid(11)]


def test_reports_of_unknown_partitions_and_of_stale_brokers_are_refused() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [2])])
    assert errors_in(office.ask(report((9, 0), (1, 7), (1, 0)))) == [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ]
    assert office.ask(report(broker=9)).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert office.ask(report(epoch=5)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_replica_in_a_directory_that_failed_meanwhile_is_out_of_sync() -> None:
    office = Office([registered(1), registered(2), *topic(1, "t", [1, 2])])
    outcome = office.decide(report((1, 0), directory=19))
    assert errors_in(outcome.response) == [0]
    state = office.image.topics.by_name["t"].partitions[0]
    assert (state.leader, state.isr, state.directories[0]) == (2, (2,), uuid(19))


def test_an_image_knows_the_last_record_it_contains() -> None:
    assert after([]).provenance == WHEN
    assert Provenance() == MetadataImage().provenance
