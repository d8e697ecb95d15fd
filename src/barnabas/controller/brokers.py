"""Brokers announce themselves, stay alive, and leave.

    registered (fenced)  --heartbeat, caught up-->       active
    active               --heartbeat, wants to stop-->   in controlled shutdown: it leads nothing and may stop

A broker's epoch is the offset of its registration, so a later one is always larger and a zombie's requests can be told apart.
Registering again means that the process was restarted: whatever it led before is taken from it first.
"""

from __future__ import annotations

from barnabas.controller.elections import with_broker, without_broker
from barnabas.controller.features import SUPPORTED_FEATURES
from barnabas.controller.outcome import Outcome
from barnabas.metadata.cluster import ENTER_CONTROLLED_SHUTDOWN, FENCE, UNFENCE, BrokerImage, ControllerImage, Endpoint, FeatureRange
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest, ControllerRegistrationResponse
from barnabas.wire.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
)


def register_broker(image: MetadataImage, request: BrokerRegistrationRequest, *, cluster_id: str, next_offset: int) -> Outcome:
    if request.cluster_id != cluster_id:
        return Outcome(_registration_refused(ErrorCode.INCONSISTENT_CLUSTER_ID))
    if len(set(request.log_dirs)) < len(request.log_dirs) or ZERO_UUID in request.log_dirs:
        return Outcome(_registration_refused(ErrorCode.INVALID_REGISTRATION))
    offered = {feature.name: feature for feature in request.features}
    for name, level in image.features.levels.items():
        feature = offered.get(name)
        if name in SUPPORTED_FEATURES and (feature is None or not feature.min_supported_version <= level <= feature.max_supported_version):
            return Outcome(_registration_refused(ErrorCode.UNSUPPORTED_VERSION))
    records: list[MetadataRecord] = []
    known = image.cluster.brokers.get(request.broker_id)
    if known is not None and known.incarnation_id != request.incarnation_id:
        records.extend(without_broker(image, request.broker_id))
    if known is not None and known.incarnation_id == request.incarnation_id:
        # The same process asks again: the answer to its first request was lost.
        return Outcome(BrokerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, broker_epoch=known.epoch))
    broker = BrokerImage(
        broker_id=request.broker_id,
        epoch=next_offset + len(records),
        incarnation_id=request.incarnation_id,
        endpoints=tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners),
        features=tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features),
        rack=request.rack,
        directories=tuple(request.log_dirs),
    )
    records.append(broker.record())
    return Outcome(BrokerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, broker_epoch=broker.epoch), records)


def _registration_refused(error: ErrorCode) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(throttle_time_ms=0, error_code=error, broker_epoch=-1)


def heartbeat(image: MetadataImage, request: BrokerHeartbeatRequest) -> Outcome:
    broker = image.cluster.brokers.get(request.broker_id)
    if broker is None:
        return Outcome(_heartbeat_refused(ErrorCode.BROKER_ID_NOT_REGISTERED))
    if broker.epoch != request.broker_epoch:
        return Outcome(_heartbeat_refused(ErrorCode.STALE_BROKER_EPOCH))
    # A broker that has not yet seen its own registration would answer clients from an older world.
    caught_up = request.current_metadata_offset >= broker.epoch
    records: list[MetadataRecord] = []
    fenced, stopping = broker.fenced, broker.in_controlled_shutdown
    if request.want_shut_down and not broker.fenced:
        records.extend(without_broker(image, request.broker_id))
        if not broker.in_controlled_shutdown:
            records.append(_registration_change(broker, in_controlled_shutdown=ENTER_CONTROLLED_SHUTDOWN))
            stopping = True
    elif request.want_fence and not broker.fenced:
        records.extend(without_broker(image, request.broker_id))
        records.append(_registration_change(broker, fenced=FENCE))
        fenced = True
    elif broker.fenced and not request.want_fence and caught_up:
        records.extend(with_broker(image, request.broker_id))
        records.append(_registration_change(broker, fenced=UNFENCE))
        fenced = False
    response = BrokerHeartbeatResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        is_caught_up=caught_up,
        is_fenced=fenced,
        should_shut_down=request.want_shut_down and (stopping or broker.fenced),
    )
    return Outcome(response, records)


def _registration_change(broker: BrokerImage, *, fenced: int = 0, in_controlled_shutdown: int = 0) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id, broker_epoch=broker.epoch, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown
    )


def _heartbeat_refused(error: ErrorCode) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(throttle_time_ms=0, error_code=error, should_shut_down=False)


def register_controller(request: ControllerRegistrationRequest) -> Outcome:
    controller = ControllerImage(
        request.controller_id,
        request.incarnation_id,
        tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in request.listeners),
        tuple(FeatureRange(each.name, each.min_supported_version, each.max_supported_version) for each in request.features),
    )
    response = ControllerRegistrationResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None)
    return Outcome(response, [controller.record()])
