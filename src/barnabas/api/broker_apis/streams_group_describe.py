"""StreamsGroupDescribe (key 89): the state, the topology, the members and the tasks of streams
groups.

Behaviour: GROUP_ID_NOT_FOUND for a group that does not exist or is not a streams group. Internal
topics have their partition counts once all topics of the topology exist. A group with a topic that
the caller may not describe is TOPIC_AUTHORIZATION_FAILED as a whole.

Version notes: there is one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, DESCRIBE_TOPIC, checked
from barnabas.api.streams_protocol import streams_protocol_is_served
from barnabas.coordinators.group.streams.description import not_described
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.security.acls.operations import NOT_ASKED
from barnabas.wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: StreamsGroupDescribeRequest) -> Promise[StreamsGroupDescribeResponse]:
    served = streams_protocol_is_served(broker)
    may_describe = broker.access.allowed(caller, DESCRIBE_GROUP, request.group_ids)

    def described(group_id: str) -> Promise[DescribedGroup]:
        if not served:
            return Promise.kept(not_described(group_id, ErrorCode.UNSUPPORTED_VERSION))
        if group_id not in may_describe:
            return Promise.kept(not_described(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        if not group_id:
            return Promise.kept(not_described(group_id, ErrorCode.INVALID_GROUP_ID))
        found = broker.groups.run(group_id, lambda machine, _: machine.streams.describe(group_id))
        return found.map(lambda group: _answer(broker, caller, request, group_id, group))

    answers = all_of([described(group_id) for group_id in request.group_ids])
    return answers.map(lambda groups: StreamsGroupDescribeResponse(throttle_time_ms=0, groups=groups))


def _answer(
    broker: Broker, caller: Caller, request: StreamsGroupDescribeRequest, group_id: str, group: DescribedGroup | ErrorCode
) -> DescribedGroup:
    if isinstance(group, ErrorCode):
        return not_described(group_id, client_error(group))
    if group.error_code != ErrorCode.NONE:
        return group
    shown = _topics(group)
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, shown, filters=True)
    if any(name not in may_describe for name in shown):
        message = "The described group uses topics that the client is not authorized to describe."
        return not_described(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, message)
    asked = request.include_authorized_operations
    group.authorized_operations = broker.access.operations(caller, ResourceType.GROUP, group_id) if asked else NOT_ASKED
    return group


def _topics(group: DescribedGroup) -> set[str]:
    names: set[str] = set()
    for each in (group.topology.subtopologies or ()) if group.topology is not None else ():
        names.update(each.source_topics, each.repartition_sink_topics)
        names.update(topic.name for topic in (*each.repartition_source_topics, *each.state_changelog_topics))
    return names
