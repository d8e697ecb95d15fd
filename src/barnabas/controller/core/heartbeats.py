"""Heartbeats: how brokers become active, stay active, and leave.

    fenced     --caught up with its own registration-->           active
    active     --asks for it, or its session expires-->           fenced
    active     --wants to stop, leads partitions-->               in controlled shutdown:
                                                                  its partitions go to others
    in controlled
    shutdown   --leads nothing, all brokers have seen that-->     fenced, may stop

A broker that leads nothing, or is fenced, may stop at once. With the permission to stop its session
ends, so that its successor need not wait.
"""

from __future__ import annotations

from barnabas.controller.core.broker_sessions import NOT_STOPPING, BrokerSessions
from barnabas.controller.core.membership import with_broker, without_broker, without_directories
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partitions import Partitions
from barnabas.metadata.cluster import ENTER_CONTROLLED_SHUTDOWN, FENCE, UNFENCE, BrokerImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.metadata_records import BrokerRegistrationChangeRecord, MetadataRecord


def heartbeat(
    partitions: Partitions, sessions: BrokerSessions, request: BrokerHeartbeatRequest, *, next_offset: int, now_ms: int
) -> Outcome:
    broker = partitions.image.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        refused = BrokerHeartbeatResponse(throttle_time_ms=0, error_code=ErrorCode.STALE_BROKER_EPOCH, should_shut_down=False)
        return Outcome(refused)
    sessions.touch(broker.broker_id, broker.epoch, now_ms=now_ms, metadata_offset=request.current_metadata_offset)
    # A broker that has not yet seen its own registration would serve clients from older metadata.
    caught_up = request.current_metadata_offset >= broker.epoch
    # A broker without a working directory can serve nothing, so it is fenced in any case.
    want_fence = request.want_fence or (bool(broker.directories) and set(broker.directories) <= set(request.offline_log_dirs))
    fenced, may_stop = broker.fenced, False
    records: list[MetadataRecord] = []
    if broker.fenced:
        may_stop = request.want_shut_down
        # A broker in controlled shutdown stays fenced until it comes back as another process.
        if caught_up and not request.want_shut_down and not want_fence and not broker.in_controlled_shutdown:
            with_broker(partitions, broker.broker_id)
            records = [_change(broker, fenced=UNFENCE), *partitions.records]
            fenced = False
    elif want_fence or (request.want_shut_down and _may_stop(partitions, sessions, broker)):
        records = fence(partitions, broker)
        fenced, may_stop = True, request.want_shut_down
    elif request.want_shut_down and sessions.stop_offset(broker.broker_id) == NOT_STOPPING:
        without_broker(partitions, broker.broker_id)
        records = list(partitions.records)
        if not broker.in_controlled_shutdown:
            records.insert(0, _change(broker, in_controlled_shutdown=ENTER_CONTROLLED_SHUTDOWN))
        sessions.stop(broker.broker_id, offset=next_offset + len(records) - 1)
    records += _directory_records(partitions, broker, request)
    if may_stop:
        sessions.end(broker.broker_id)
    response = BrokerHeartbeatResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, is_caught_up=caught_up, is_fenced=fenced, should_shut_down=may_stop
    )
    return Outcome(response, records)


def fence(partitions: Partitions, broker: BrokerImage) -> list[MetadataRecord]:
    without_broker(partitions, broker.broker_id)
    return [*partitions.records, _change(broker, fenced=FENCE)]


def _may_stop(partitions: Partitions, sessions: BrokerSessions, broker: BrokerImage) -> bool:
    """Whether other brokers lead all of its partitions, and every active broker has seen the
    change."""
    if partitions.led_by(broker.broker_id):
        return False
    stop_offset = sessions.stop_offset(broker.broker_id)
    others = (each.broker_id for each in partitions.image.cluster.active_brokers() if each.broker_id != broker.broker_id)
    return all(sessions.seen_by(each) >= stop_offset for each in (*others, broker.broker_id))


def _directory_records(partitions: Partitions, broker: BrokerImage, request: BrokerHeartbeatRequest) -> list[MetadataRecord]:
    records: list[MetadataRecord] = []
    offline = set(request.offline_log_dirs) & set(broker.directories)
    # An empty list in the record would mean that nothing changed.
    if offline and offline < set(broker.directories):
        before = len(partitions.records)
        without_directories(partitions, broker.broker_id, offline)
        records.extend(partitions.records[before:])
        records.append(_change(broker, directories=[each for each in broker.directories if each not in offline]))
    # The field is None until the broker has read its own settings.
    if request.cordoned_log_dirs is not None and set(request.cordoned_log_dirs) != set(broker.cordoned_directories):
        records.append(_change(broker, cordoned=list(request.cordoned_log_dirs)))
    return records


def _change(
    broker: BrokerImage,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    directories: list[Uuid] | None = None,
    cordoned: list[Uuid] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=directories or [],
        cordoned_log_dirs=cordoned,
    )
