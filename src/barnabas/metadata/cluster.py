"""Brokers and controllers, as they registered themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import NamedTuple

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.metadata_records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from barnabas.wire.metadata_records.register_broker import BrokerEndpoint, BrokerFeature
from barnabas.wire.metadata_records.register_controller import ControllerEndpoint, ControllerFeature

FENCE, UNFENCE = 1, -1
ENTER_CONTROLLED_SHUTDOWN = 1

# Reserved ids that are no directories (KIP-858). A replica without a known directory is UNASSIGNED,
# the zero id, and counts as online.
UNASSIGNED_DIRECTORY = ZERO_UUID
LOST_DIRECTORY = Uuid(bytes(15) + b"\x01")
MIGRATING_DIRECTORY = Uuid(bytes(15) + b"\x02")
_RESERVED_DIRECTORIES_MAX = 100


def reserved_directory(directory: Uuid) -> bool:
    return int.from_bytes(directory, "big") < _RESERVED_DIRECTORIES_MAX


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: int


class FeatureRange(NamedTuple):
    name: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    broker_id: int
    epoch: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned_directories: tuple[Uuid, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it may lead partitions, and its replicas count."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_new_replicas(self) -> bool:
        """Whether it has a directory that is not cordoned; true for a broker that never reported
        its directories.
        """
        return not self.directories or not set(self.directories) <= set(self.cordoned_directories)

    @property
    def default_directory(self) -> Uuid:
        """The directory of a new replica. A broker with several directories chooses one itself and
        reports it.
        """
        if not self.directories:
            return MIGRATING_DIRECTORY
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED_DIRECTORY

    def has_online(self, directory: Uuid) -> bool:
        """Whether a replica in ``directory`` can be served."""
        return directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY) or not self.directories or directory in self.directories

    def endpoint(self, listener: str) -> Endpoint | None:
        return next((each for each in self.endpoints if each.name == listener), None)

    def record(self) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.broker_id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=[
                BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
                for each in self.endpoints
            ],
            features=[
                BrokerFeature(name=each.name, min_supported_version=each.lowest, max_supported_version=each.highest)
                for each in self.features
            ],
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=list(self.directories),
            cordoned_log_dirs=list(self.cordoned_directories),
        )


def broker_from(record: RegisterBrokerRecord) -> BrokerImage:
    return BrokerImage(
        broker_id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        endpoints=tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in record.end_points),
        features=tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in record.features),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        cordoned_directories=tuple(record.cordoned_log_dirs or ()),
    )


@dataclass(frozen=True, slots=True)
class ControllerImage:
    controller_id: int
    incarnation_id: Uuid
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...] = ()

    def record(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=self.controller_id,
            incarnation_id=self.incarnation_id,
            zk_migration_ready=False,
            end_points=[
                ControllerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
                for each in self.endpoints
            ],
            features=[
                ControllerFeature(name=each.name, min_supported_version=each.lowest, max_supported_version=each.highest)
                for each in self.features
            ],
        )


@dataclass(frozen=True, slots=True)
class ClusterImage:
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    controllers: Mapping[int, ControllerImage] = field(default_factory=dict)

    def active(self, broker_id: int) -> bool:
        """Whether a broker is registered, unfenced and not in controlled shutdown."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.active

    def active_brokers(self) -> list[BrokerImage]:
        return [broker for _, broker in sorted(self.brokers.items()) if broker.active]

    def records(self) -> Iterator[MetadataRecord]:
        for controller in self.controllers.values():
            yield controller.record()
        for broker in self.brokers.values():
            yield broker.record()


class ClusterDelta:
    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.brokers: Draft[int, BrokerImage] = Draft(image.brokers)
        self.controllers: Draft[int, ControllerImage] = Draft(image.controllers)

    def replay_register(self, record: RegisterBrokerRecord) -> None:
        self.brokers.set(record.broker_id, broker_from(record))

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        self._known(record.broker_id, record.broker_epoch)
        self.brokers.remove(record.broker_id)

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.brokers.set(record.id, replace(self._known(record.id, record.epoch), fenced=True))

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.brokers.set(record.id, replace(self._known(record.id, record.epoch), fenced=False))

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._known(record.broker_id, record.broker_epoch)
        self.brokers.set(
            record.broker_id,
            replace(
                broker,
                fenced=broker.fenced if record.fenced == 0 else record.fenced == FENCE,
                in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown == ENTER_CONTROLLED_SHUTDOWN,
                directories=tuple(record.log_dirs) or broker.directories,
                cordoned_directories=(broker.cordoned_directories if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs)),
            ),
        )

    def replay_register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers.set(
            record.controller_id,
            ControllerImage(
                record.controller_id,
                record.incarnation_id,
                tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in record.end_points),
                tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in record.features),
            ),
        )

    def _known(self, broker_id: int, epoch: int) -> BrokerImage:
        broker = self.brokers.get(broker_id)
        assert broker is not None, f"broker {broker_id} changes before it is registered"
        assert broker.epoch == epoch, f"broker {broker_id} has epoch {broker.epoch}, a record says {epoch}"
        return broker

    def finish(self) -> ClusterImage:
        if not self.brokers.changed and not self.controllers.changed:
            return self.image
        return ClusterImage(self.brokers.finish(), self.controllers.finish())
