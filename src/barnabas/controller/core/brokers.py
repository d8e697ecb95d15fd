"""Brokers and controllers register, and operators unregister brokers.

A broker's epoch is the offset of its registration record, so a later registration always has a
larger epoch, and the controller can recognise the requests of a zombie.

An id belongs to one process at a time. While the registered process sends heartbeats, another
process (another *incarnation*) with its id is refused, and may try again when the session is over.
So the id of a lost machine can be taken over, and that of a running one cannot. There is one
exception to Kafka's rule: a process that brings a directory of the registered process holds the
lock on that directory, so the registered process is gone, and a restart need not wait for its
session.

A clean stop leaves the broker's epoch on its disk, and the next registration brings it as the
previous epoch: it proves that nothing was lost. Without it the broker may have lost the records
that it acknowledged last, so it leaves the eligible replicas as well (KIP-966).
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.controller.core.broker_sessions import BrokerSessions
from barnabas.controller.core.features import SUPPORTED_FEATURES
from barnabas.controller.core.membership import without_broker, without_directories, without_tail
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partitions import Partitions
from barnabas.metadata.cluster import BrokerImage, ControllerImage, Endpoint, FeatureRange, reserved_directory
from barnabas.metadata.features import METADATA_VERSION
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from barnabas.wire.metadata_records import MetadataRecord, UnregisterBrokerRecord


def register_broker(
    partitions: Partitions,
    sessions: BrokerSessions,
    request: BrokerRegistrationRequest,
    *,
    cluster_id: str,
    next_offset: int,
    now_ms: int,
) -> Outcome:
    image = partitions.image
    error = _refusal(image, sessions, request, cluster_id=cluster_id, now_ms=now_ms)
    if error is not ErrorCode.NONE:
        return Outcome(BrokerRegistrationResponse(throttle_time_ms=0, error_code=error, broker_epoch=-1))
    known = image.cluster.brokers.get(request.broker_id)
    records: list[MetadataRecord] = []
    if known is not None and known.incarnation_id == request.incarnation_id:
        # The same process registers again: the response to its first request was lost, or its
        # registration has changed.
        broker = replace(
            _registration(request, epoch=known.epoch),
            fenced=known.fenced,
            in_controlled_shutdown=known.in_controlled_shutdown,
            cordoned_directories=known.cordoned_directories,
        )
        if broker != known:
            without_directories(partitions, request.broker_id, set(known.directories) - set(broker.directories))
            records = [*partitions.records, broker.record()]
    else:
        if known is not None and request.previous_broker_epoch == known.epoch:
            without_broker(partitions, request.broker_id)
        else:
            without_tail(partitions, request.broker_id)
        records.extend(partitions.records)
        broker = _registration(request, epoch=next_offset + len(records))
        records.append(broker.record())
        sessions.end(request.broker_id)
    return Outcome(BrokerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, broker_epoch=broker.epoch), records)


def _registration(request: BrokerRegistrationRequest, *, epoch: int) -> BrokerImage:
    return BrokerImage(
        broker_id=request.broker_id,
        epoch=epoch,
        incarnation_id=request.incarnation_id,
        endpoints=tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners),
        features=tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features),
        rack=request.rack,
        directories=tuple(request.log_dirs),
    )


def _refusal(
    image: MetadataImage, sessions: BrokerSessions, request: BrokerRegistrationRequest, *, cluster_id: str, now_ms: int
) -> ErrorCode:
    if request.cluster_id != cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    known = image.cluster.brokers.get(request.broker_id)
    if (
        known is not None
        and known.incarnation_id != request.incarnation_id
        and sessions.alive(request.broker_id, known.epoch, now_ms=now_ms)
        and not set(known.directories) & set(request.log_dirs)
    ):
        return ErrorCode.DUPLICATE_BROKER_REGISTRATION
    if request.is_migrating_zk_broker:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    if request.broker_id < 0 or not _directories_valid(image, request):
        return ErrorCode.INVALID_REGISTRATION
    return _features_refusal(image, request)


def _directories_valid(image: MetadataImage, request: BrokerRegistrationRequest) -> bool:
    directories = set(request.log_dirs)
    if not directories or len(directories) < len(request.log_dirs) or any(map(reserved_directory, directories)):
        return False
    others = (broker for broker in image.cluster.brokers.values() if broker.broker_id != request.broker_id)
    return not any(directories & set(broker.directories) for broker in others)


def _features_refusal(image: MetadataImage, request: BrokerRegistrationRequest) -> ErrorCode:
    """A broker must support the level of every feature that the cluster uses and this controller
    knows."""
    offered = {feature.name: feature for feature in request.features}
    for name, feature in offered.items():
        if name in SUPPORTED_FEATURES and not feature.min_supported_version <= image.features.level(name) <= feature.max_supported_version:
            return ErrorCode.UNSUPPORTED_VERSION
    if METADATA_VERSION not in offered:
        return ErrorCode.INVALID_REGISTRATION
    missing = [name for name in image.features.levels if name in SUPPORTED_FEATURES and name not in offered]
    return ErrorCode.UNSUPPORTED_VERSION if missing else ErrorCode.NONE


def unregister_broker(partitions: Partitions, sessions: BrokerSessions, request: UnregisterBrokerRequest) -> Outcome:
    """An operator states that a broker will not come back, so it leaves the in-sync and the
    eligible replicas."""
    broker = partitions.image.cluster.brokers.get(request.broker_id)
    if broker is None:
        message = f"Broker ID {request.broker_id} is not currently registered"
        return Outcome(UnregisterBrokerResponse(throttle_time_ms=0, error_code=ErrorCode.BROKER_ID_NOT_REGISTERED, error_message=message))
    without_tail(partitions, broker.broker_id)
    sessions.end(broker.broker_id)
    records: list[MetadataRecord] = [*partitions.records]
    records.append(UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.epoch))
    return Outcome(UnregisterBrokerResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None), records)


def register_controller(request: ControllerRegistrationRequest) -> Outcome:
    controller = ControllerImage(
        request.controller_id,
        request.incarnation_id,
        tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners),
        tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features),
    )
    response = ControllerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None)
    return Outcome(response, [controller.record()])
