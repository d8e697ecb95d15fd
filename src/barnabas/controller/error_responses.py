"""A response that carries nothing but an error, for any request to the controller.

Most responses have an error code of their own. The others have one for each item of the request, so
every topic, resource or user gets the same code. A request without items gets a response without
errors, as with Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.declare import ArrayOf, StructOf, declaration_of

# The response's field with the outcomes, and a function that gives, for each outcome, the fields
# that name its item.
_Outcomes = tuple[str, Callable[[Any], Iterable[dict[str, Any]]]]

_BY_ITEM: dict[ApiKey, _Outcomes] = {
    ApiKey.CREATE_TOPICS: ("topics", lambda request: ({"name": topic.name} for topic in request.topics)),
    ApiKey.DELETE_TOPICS: ("responses", lambda request: _deleted(request)),
    ApiKey.CREATE_PARTITIONS: ("results", lambda request: ({"name": topic.name} for topic in request.topics)),
    ApiKey.ALTER_CONFIGS: ("responses", lambda request: _resources(request)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ("responses", lambda request: _resources(request)),
    ApiKey.DESCRIBE_CONFIGS: ("results", lambda request: _resources(request)),
    ApiKey.CREATE_ACLS: ("results", lambda request: ({} for _ in request.creations)),
    ApiKey.DELETE_ACLS: ("filter_results", lambda request: ({"matching_acls": []} for _ in request.filters)),
    ApiKey.ALTER_CLIENT_QUOTAS: ("entries", lambda request: ({"entity": _entity(entry.entity)} for entry in request.entries)),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ("results", lambda request: ({"user": user} for user in _users(request))),
}

# From this version on a Fetch response has an error code of its own that clients look at.
_FETCH_VERSION_WITH_ERROR = 13


def error_response(request: Any, code: ErrorCode, message: str | None = None, *, version: int | None = None) -> Any:
    """``version`` is the version in which the response is sent, where it is known: the
    responses of ElectLeaders and Fetch have an error code of their own only in later versions."""
    key = declaration_of(type(request)).key
    assert key is not None
    response = messages(ApiKey(key))[1]
    fields: dict[str, Any] = {each.name: each.default() for each in declaration_of(response).fields}
    outcomes = _BY_ITEM.get(ApiKey(key))
    if outcomes is not None:
        name, items_of = outcomes
        fields[name] = [_outcome(_element(response, name), code, message, each) for each in items_of(request)]
    else:
        fields |= {"error_code": code}
        if "error_message" in fields:
            fields["error_message"] = message
    if key == ApiKey.DESCRIBE_CLIENT_QUOTAS:
        # Null and not empty, as in Kafka.
        fields["entries"] = fields["error_message"] = None
    outcome = {"error_code": code, "error_message": message}
    # These responses carry the error twice: for the request, and for every item in it.
    if key == ApiKey.ALTER_PARTITION_REASSIGNMENTS:
        asked = [(topic.name, [each.partition_index for each in topic.partitions]) for topic in request.topics]
        fields["responses"] = _by_partition(response, "responses", "name", "partitions", "partition_index", asked, **outcome)
    elif key == ApiKey.ELECT_LEADERS:
        asked = [(topic.topic, topic.partitions) for topic in request.topic_partitions or ()]
        name = "replica_election_results"
        fields[name] = _by_partition(response, name, "topic", "partition_result", "partition_id", asked, **outcome)
        if version == 0:
            fields["error_code"] = ErrorCode.NONE
    elif key == ApiKey.LIST_PARTITION_REASSIGNMENTS:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics or ()]
        fields["topics"] = _by_partition(response, "topics", "name", "partitions", "partition_index", asked)
    elif key == ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
        fields["error_message"] = None
        result = _element(response, "results")
        fields["results"] = [result(error_code=code, error_message=None) for _ in request.users or ()]
    elif key == ApiKey.FETCH:
        fields["session_id"] = request.session_id
        if version is not None and version < _FETCH_VERSION_WITH_ERROR:
            asked = [(topic.topic, [each.partition for each in topic.partitions]) for topic in request.topics]
            fields["responses"] = _by_partition(
                response, "responses", "topic", "partitions", "partition_index", asked, error_code=code, high_watermark=-1, records=b""
            )
    return response(**fields)


def carries(response: Any, *codes: ErrorCode) -> bool:
    """Whether a response has one of these codes, for the request as a whole or for any item in
    it."""
    if getattr(response, "error_code", ErrorCode.NONE) in codes:
        return True
    key = declaration_of(type(response)).key
    assert key is not None
    if key == ApiKey.ELECT_LEADERS:
        return any(each.error_code in codes for topic in response.replica_election_results for each in topic.partition_result)
    outcomes = _BY_ITEM.get(ApiKey(key))
    return outcomes is not None and any(each.error_code in codes for each in getattr(response, outcomes[0]))


def _element(cls: type[Any], name: str) -> type[Any]:
    """The struct of which a field holds a list."""
    kind = next(each.type for each in declaration_of(cls).fields if each.name == name)
    assert isinstance(kind, ArrayOf)
    assert isinstance(kind.element, StructOf)
    return kind.element.cls


def _outcome(struct: type[Any], code: ErrorCode, message: str | None, item: dict[str, Any]) -> Any:
    return struct(error_code=code, error_message=message, **item)


def _by_partition(
    response: type[Any],
    topics: str,
    topic_name: str,
    partitions: str,
    partition_index: str,
    asked: list[tuple[str, list[int]]],
    **outcome: Any,
) -> list[Any]:
    by_topic = _element(response, topics)
    by_partition = _element(by_topic, partitions)
    return [
        by_topic(**{topic_name: name, partitions: [by_partition(**{partition_index: each}, **outcome) for each in indexes]})
        for name, indexes in asked
    ]


def _deleted(request: Any) -> Iterable[dict[str, Any]]:
    """Topics are named by name before version 6, and by name or id from then on. Only one of the
    two lists is filled."""
    yield from ({"name": topic.name, "topic_id": topic.topic_id} for topic in request.topics)
    yield from ({"name": name} for name in request.topic_names)


def _resources(request: Any) -> Iterable[dict[str, Any]]:
    return ({"resource_type": each.resource_type, "resource_name": each.resource_name} for each in request.resources)


def _entity(parts: Iterable[Any]) -> list[Any]:
    part = _element(_element(messages(ApiKey.ALTER_CLIENT_QUOTAS)[1], "entries"), "entity")
    return [part(entity_type=each.entity_type, entity_name=each.entity_name) for each in parts]


def _users(request: Any) -> Iterable[str]:
    return dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
