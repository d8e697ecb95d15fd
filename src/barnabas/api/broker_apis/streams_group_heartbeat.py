"""StreamsGroupHeartbeat (key 88): the whole protocol of a member of a streams group (KIP-1071).

Behaviour:
- member epoch 0 joins and brings the topology, -1 leaves. Any other epoch must be the member's own,
  or the member is fenced;
- a field that the request leaves out has not changed. The response carries tasks only if they
  changed or if the member joins;
- ``status`` reports missing or wrongly partitioned topics, a delayed assignment, an outdated
  topology, and that a member asked the whole application to shut down;
- this broker creates missing internal topics on behalf of the client, which needs CREATE on the
  cluster or on the topics. The response does not wait for them. ``status`` of later responses tells
  why a topic could not be created, and the broker tries again after two heartbeat intervals;
- STREAMS_INVALID_TOPOLOGY for a topology with illegal or internal topic names, and for one that
  cannot be resolved; TOPIC_AUTHORIZATION_FAILED if it names a topic that the caller may not
  describe;
- GROUP_ID_NOT_FOUND for a group of another protocol, unless it is an empty classic group;
- UNSUPPORTED_VERSION from a cluster that does not serve this protocol.

Version notes: there is one version.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC, READ_GROUP, checked
from barnabas.api.streams_protocol import streams_protocol_is_served
from barnabas.coordinators.group.streams.heartbeat_response import error_response
from barnabas.coordinators.group.streams.statuses import StatusCode
from barnabas.coordinators.group.streams.streams_groups import HeartbeatAnswer
from barnabas.coordinators.group.streams.topology import InternalTopic
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from barnabas.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)

NEEDS = checked(READ_GROUP, DESCRIBE_TOPIC, CREATE_CLUSTER, CREATE_TOPIC)

_BY_DEFAULT = -1
_FAILURES_SHOWN_MAX = 3
_INTERVALS_BETWEEN_CREATIONS = 2


def handle(broker: Broker, caller: Caller, request: StreamsGroupHeartbeatRequest) -> Answer[StreamsGroupHeartbeatResponse]:
    if not streams_protocol_is_served(broker):
        return error_response(ErrorCode.UNSUPPORTED_VERSION)
    if not broker.access.may(caller, READ_GROUP, request.group_id):
        return error_response(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if request.topology is not None:
        refused = _refused_topology(broker, caller, request.topology)
        if refused is not None:
            return refused
    answer = broker.groups.run(
        request.group_id,
        lambda machine, now_ms: machine.streams.heartbeat(
            request, client_id=caller.client_id or "", client_host=caller.host, now_ms=now_ms
        ),
    )
    # Without other replicas the records are committed already, and no second promise is needed.
    return _respond(broker, caller, answer.value) if answer.done else answer.map(lambda found: _respond(broker, caller, found))


def _refused_topology(broker: Broker, caller: Caller, topology: Topology) -> StreamsGroupHeartbeatResponse | None:
    names: dict[str, None] = {}
    for each in topology.subtopologies:
        names |= dict.fromkeys(each.source_topics) | dict.fromkeys(each.repartition_sink_topics)
        names |= dict.fromkeys(topic.name for topic in (*each.repartition_source_topics, *each.state_changelog_topics))
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        message = f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        return error_response(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
    illegal = [name for name in names if why_illegal(name) is not None]
    if illegal:
        return error_response(ErrorCode.STREAMS_INVALID_TOPOLOGY, f"Topic names {','.join(illegal)} are not valid topic names.")
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, names)
    if any(name not in may_describe for name in names):
        return error_response(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None


def _respond(broker: Broker, caller: Caller, found: HeartbeatAnswer | ErrorCode) -> StreamsGroupHeartbeatResponse:
    if isinstance(found, ErrorCode):
        return error_response(client_error(found))
    if found.missing:
        _create(broker, caller, found.missing, found.response)
    return found.response


def _create(broker: Broker, caller: Caller, missing: Mapping[str, InternalTopic], response: StreamsGroupHeartbeatResponse) -> None:
    access = broker.access
    if not access.may(caller, CREATE_CLUSTER, filters=True):
        may_create = access.allowed(caller, CREATE_TOPIC, missing)
        denied = [name for name in missing if name not in may_create]
        if denied:
            _explain(response, f"; Unauthorized to CREATE on topics {', '.join(denied)}.")
            return
    topics = [_creatable(topic) for topic in missing.values()]
    broker.streams_topics.create(topics, caller, retry_after_ms=_INTERVALS_BETWEEN_CREATIONS * response.heartbeat_interval_ms)
    failures = broker.streams_topics.failures(missing)
    if failures:
        shown = ", ".join(f"{name} ({why})" for name, why in list(failures.items())[:_FAILURES_SHOWN_MAX])
        more = len(failures) - _FAILURES_SHOWN_MAX
        _explain(response, f"; Creation failed: {shown}{f' and {more} more' if more > 0 else ''}.")


def _explain(response: StreamsGroupHeartbeatResponse, why: str) -> None:
    for status in response.status or ():
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += why


def _creatable(topic: InternalTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or _BY_DEFAULT,
        assignments=[],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs],
    )
