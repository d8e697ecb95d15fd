"""ShareFetch (key 78): acquire records for a limited time, and acknowledge earlier ones.

Behaviour:
- UNSUPPORTED_VERSION while the feature ``share.version`` is 0; GROUP_AUTHORIZATION_FAILED without
  READ on the group; INVALID_REQUEST for a member id that is empty or longer than a UUID;
- the request belongs to the member's share session (:mod:`~barnabas.sharing.core.sessions`). A
  request that opens a session acknowledges nothing, or is INVALID_REQUEST. Epoch -1 acknowledges,
  fetches nothing, and ends the session, which releases everything that the member still holds. So
  does the end of the connection. SHARE_SESSION_LIMIT_REACHED comes after ``max_wait_ms``, so that
  the member does not ask again at once;
- acknowledgements are performed first, each partition for itself; the response waits for them and
  for the fetch. Their errors are separate: ``acknowledge_error_code``;
- a request that renews locks fetches nothing, and all its limits are 0, or it is INVALID_REQUEST;
- the response is sent when records were acquired, or after ``max_wait_ms``. If it has
  acknowledgements to confirm, it waits for records only for a moment after they were written. Kafka
  waits until ``max_wait_ms`` then, and its member learns later that a record is done;
- partitions take turns, share ``max_bytes``, and together deliver about ``max_records``: whole
  batches, or exactly as many with the acquire mode 1;
- the records of a response may include some that the member did not acquire: ``acquired_records``
  says which it may use. The broker does not open batches: the response carries file regions;
- a broker that is not the leader names the leader;
- a partition whose state cannot be read, because the share coordinator is away for longer than the
  retries last, has REPLICA_NOT_AVAILABLE. Kafka has COORDINATOR_NOT_AVAILABLE there, which the Java
  client and librdkafka do not expect: they throw it at their application instead of asking again;
- a client over its quota gets its records and waits afterwards. Kafka withholds them, although they
  are locked already and no member could get them.

Version notes: acquire modes and renewals from 2 (KIP-1206, KIP-1222).
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import HINTED, LeaderHints, topic_name
from barnabas.api.needs import READ_GROUP, READ_TOPIC, checked
from barnabas.api.share_requests import ReadableTopics, Verdicts, acknowledge, refuse_member
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise
from barnabas.network.caller import Caller
from barnabas.sharing.core.sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey, SharedPartition, ShareSession
from barnabas.sharing.local_share_partition import ACCEPTED, Verdict
from barnabas.sharing.share_fetch import FetchedShare, FetchLimits, ShareFetch, Target
from barnabas.wire.declare import default_struct
from barnabas.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

NEEDS = checked(READ_GROUP, READ_TOPIC)

_RENEW_VERSION_MIN = 2
# The size of a partition in a response, without its records; quotas count it.
_PARTITION_BYTES = 40

_NO_LEADER = default_struct(LeaderIdAndEpoch)

# Errors that clients of share groups take for a reason to ask again.
_AS_CLIENTS_KNOW = {ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.REPLICA_NOT_AVAILABLE}


def handle(broker: Broker, caller: Caller, request: ShareFetchRequest) -> Answer[ShareFetchResponse]:
    error = refuse_member(broker, caller, request.group_id, request.member_id)
    if not error and _renews(caller, request) and (request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms):
        error = ErrorCode.INVALID_REQUEST
    if error:
        return _refused(error)
    assert request.group_id is not None
    assert request.member_id is not None
    key = SessionKey(request.group_id, request.member_id)
    session = _session(broker, caller, request, key)
    if session is ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
        return _refused_later(broker, session, request.max_wait_ms)
    if isinstance(session, ErrorCode):
        return _refused(session)
    return _ShareFetchCall(broker, caller, request, session).answer()


def _renews(caller: Caller, request: ShareFetchRequest) -> bool:
    return caller.version >= _RENEW_VERSION_MIN and request.is_renew_ack


def _session(broker: Broker, caller: Caller, request: ShareFetchRequest, key: SessionKey) -> ShareSession | ErrorCode:
    sessions, epoch = broker.shares.sessions, request.share_session_epoch
    named = [SharedPartition(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions]
    if epoch == INITIAL_EPOCH:
        if any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions):
            return ErrorCode.INVALID_REQUEST
        return broker.shares.open_session(key, named, caller.connection)
    session = sessions.continue_with(key, epoch)
    if isinstance(session, ShareSession) and epoch != FINAL_EPOCH:
        forgotten = [SharedPartition(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
        if named or forgotten:
            session.update(named, forgotten)
    return session


def _refused(error: ErrorCode) -> ShareFetchResponse:
    return ShareFetchResponse(throttle_time_ms=0, error_code=error, acquisition_lock_timeout_ms=0, responses=[], node_endpoints=[])


def _refused_later(broker: Broker, error: ErrorCode, wait_ms: int) -> Promise[ShareFetchResponse]:
    answer: Promise[ShareFetchResponse] = Promise()
    timer = broker.loop.call_later(wait_ms / 1000, lambda: answer.resolve(_refused(error)))
    answer.if_abandoned(timer.cancel)
    return answer


class _ShareFetchCall:
    """One request in its session: acknowledgements and fetch run side by side."""

    __slots__ = ("_answer", "_broker", "_caller", "_fetch", "_fetched", "_request", "_session", "_topics", "_verdicts")

    def __init__(self, broker: Broker, caller: Caller, request: ShareFetchRequest, session: ShareSession) -> None:
        self._broker = broker
        self._caller = caller
        self._request = request
        self._session = session
        self._topics = ReadableTopics(broker, caller)
        self._answer: Promise[ShareFetchResponse] = Promise()
        self._verdicts: Verdicts | None = None
        self._fetch: ShareFetch | None = None
        self._fetched: list[FetchedShare] | None = None

    def answer(self) -> Promise[ShareFetchResponse]:
        request = self._request
        acknowledged = [
            (SharedPartition(topic.topic_id, each.partition_index), each.acknowledgement_batches)
            for topic in request.topics
            for each in topic.partitions
            if each.acknowledgement_batches
        ]
        if acknowledged:
            acknowledge(
                self._broker,
                *self._session.key,
                acknowledged,
                self._topics,
                version=self._caller.version,
                renews=request.is_renew_ack,
                then=self._acknowledged,
            )
        else:
            self._verdicts = {}
        if request.share_session_epoch == FINAL_EPOCH or _renews(self._caller, request):
            self._came([])
            return self._answer
        fetched = self._start_fetch()
        if isinstance(fetched, Promise):
            self._answer.if_abandoned(fetched.abandon)
            fetched.then(self._came)
            if acknowledged and self._verdicts is not None:
                self._shorten_wait()
        else:
            self._came(fetched)
        return self._answer

    def _start_fetch(self) -> Answer[list[FetchedShare]]:
        broker, request, session = self._broker, self._request, self._session
        shares, group_id = broker.shares, session.key.group_id
        targets: list[Target] = []
        refused: list[FetchedShare] = []
        for partition in session.in_turn(request.share_session_epoch):
            error = self._topics.refuse(partition)
            if error:
                refused.append(FetchedShare(partition, error))
            else:
                targets.append(shares.target(group_id, partition))
        if not targets or request.max_records <= 0 or request.max_bytes <= 0:
            return refused
        max_bytes = min(request.max_bytes, broker.settings.integer("fetch.max.bytes"))
        if self._caller.meter is not None:
            max_bytes = min(max_bytes, self._caller.meter.fetch_bytes_max())
        remote_wait_ms = broker.metadata.effective.broker["remote.fetch.max.wait.ms"]
        assert isinstance(remote_wait_ms, int)
        limits = FetchLimits(
            min_bytes=min(request.min_bytes, max_bytes),
            max_bytes=max_bytes,
            max_records=request.max_records,
            max_wait_ms=request.max_wait_ms,
            batch_size=request.batch_size,
            mode=request.share_acquire_mode,
            remote_wait_ms=remote_wait_ms,
        )
        self._fetch = ShareFetch(session.key.member_id, targets, limits, shares.ports)
        fetched = self._fetch.start()
        if not refused:
            return fetched
        return fetched.map(lambda found: [*found, *refused]) if isinstance(fetched, Promise) else [*fetched, *refused]

    def _acknowledged(self, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._shorten_wait()
        self._respond_if_complete()

    def _shorten_wait(self) -> None:
        if self._fetch is not None and self._fetched is None:
            self._fetch.shorten_wait()

    def _came(self, fetched: list[FetchedShare]) -> None:
        self._fetched = fetched
        self._respond_if_complete()

    def _respond_if_complete(self) -> None:
        if self._fetched is not None and self._verdicts is not None:
            if self._request.share_session_epoch == FINAL_EPOCH:
                self._broker.shares.close_session(self._session.key)
            self._answer.resolve(self._respond(self._fetched, self._verdicts))

    def _respond(self, fetched: list[FetchedShare], verdicts: Verdicts) -> ShareFetchResponse:
        broker, caller, session = self._broker, self._caller, self._session
        incremental = self._request.share_session_epoch != INITIAL_EPOCH
        topics: dict[bytes, ShareFetchableTopicResponse] = {}
        hints: LeaderHints | None = None
        size_bytes = 0
        for partition, found, records, acquired in fetched:
            error = _AS_CLIENTS_KNOW.get(found, found)
            acknowledged = partition in verdicts
            news = session.has_news(partition, records=bool(acquired), error=bool(error)) if incremental else True
            if not news and not acknowledged:
                continue
            verdict = verdicts.pop(partition) if acknowledged else ACCEPTED
            leader = _NO_LEADER
            if error in HINTED:
                hints = hints or LeaderHints(broker, caller.listener)
                hint = hints.leader_of(topic_name(broker, partition.topic_id), partition.partition)
                if hint is not None:
                    leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
            if records is not None:
                size_bytes += len(records)
                replica = broker.replicas.by_id(*partition)
                if replica is not None:
                    replica.counters.bytes_out.value += len(records)
            _add(
                topics,
                partition,
                PartitionData(
                    partition_index=partition.partition,
                    error_code=error,
                    acknowledge_error_code=verdict.error,
                    acknowledge_error_message=verdict.message,
                    current_leader=leader,
                    records=records if records is not None else b"",
                    acquired_records=[
                        AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count) for first, last, count in acquired
                    ],
                ),
            )
        for partition, verdict in verdicts.items():
            _add(topics, partition, _only_acknowledged(partition, verdict))
        if caller.meter is not None:
            caller.meter.delivered(size_bytes + _PARTITION_BYTES * len(topics))
        addresses = hints.addresses() if hints is not None else ()
        return ShareFetchResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            acquisition_lock_timeout_ms=broker.shares.settings_of(session.key.group_id).lock_duration_ms,
            responses=list(topics.values()),
            node_endpoints=[NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack) for each in addresses],
        )


def _only_acknowledged(partition: SharedPartition, verdict: Verdict) -> PartitionData:
    return PartitionData(
        partition_index=partition.partition,
        error_code=ErrorCode.NONE,
        acknowledge_error_code=verdict.error,
        acknowledge_error_message=verdict.message,
        current_leader=_NO_LEADER,
        records=b"",
        acquired_records=[],
    )


def _add(topics: dict[bytes, ShareFetchableTopicResponse], partition: SharedPartition, data: PartitionData) -> None:
    topic = topics.get(partition.topic_id)
    if topic is None:
        topic = topics[partition.topic_id] = ShareFetchableTopicResponse(topic_id=partition.topic_id, partitions=[])
    topic.partitions.append(data)
