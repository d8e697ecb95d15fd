"""CreateAcls and DeleteAcls: access rules in the metadata log.

A rule is named by an id in the log and by its content in requests. The same content is never there
twice, so adding a rule again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.controller.core.outcome import Outcome
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.acls import AclImage, rule_of
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.acl_filter import read_filter
from barnabas.wire.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from barnabas.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from barnabas.wire.metadata_records import MetadataRecord, RemoveAccessControlEntryRecord

# A batch of the metadata log must stay small enough for every node to read. The number is Kafka's.
CHANGES_PER_REQUEST_MAX = 10_000

_TOO_MANY = f"A request may change at most {CHANGES_PER_REQUEST_MAX} ACLs."


def create_acls(image: MetadataImage, entropy: Entropy, request: CreateAclsRequest) -> Outcome:
    """Each rule has an outcome of its own; all good ones take effect together."""
    if len(request.creations) > CHANGES_PER_REQUEST_MAX:
        results = [_created(ErrorCode.INVALID_REQUEST, _TOO_MANY) for _ in request.creations]
        return Outcome(CreateAclsResponse(throttle_time_ms=0, results=results))
    existing = set(image.acls.by_id.values())
    records: list[MetadataRecord] = []
    results = []
    for creation in request.creations:
        problem = _why_invalid(creation)
        if problem is not None:
            results.append(_created(ErrorCode.INVALID_REQUEST, problem))
            continue
        acl = _image_of(creation)
        if acl not in existing:
            existing.add(acl)
            records.append(acl.record(Uuid(random_uuid(entropy))))
        results.append(_created(ErrorCode.NONE, ""))
    return Outcome(CreateAclsResponse(throttle_time_ms=0, results=results), records)


def delete_acls(image: MetadataImage, request: DeleteAclsRequest) -> Outcome:
    """A rule that several filters match is in the result of each, and removed once."""
    removed: dict[Uuid, None] = {}
    results = [_delete(image.acls.by_id, each, removed) for each in request.filters]
    if len(removed) > CHANGES_PER_REQUEST_MAX:
        refused = [_filtered(ErrorCode.INVALID_REQUEST, _TOO_MANY) for _ in request.filters]
        return Outcome(DeleteAclsResponse(throttle_time_ms=0, filter_results=refused))
    records = [RemoveAccessControlEntryRecord(id=each) for each in removed]
    return Outcome(DeleteAclsResponse(throttle_time_ms=0, filter_results=results), records)


def _delete(acls: Mapping[Uuid, AclImage], asked: DeleteAclsFilter, removed: dict[Uuid, None]) -> DeleteAclsFilterResult:
    wanted = read_filter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )
    if isinstance(wanted, str):
        return _filtered(ErrorCode.INVALID_REQUEST, wanted)
    result = _filtered(ErrorCode.NONE, None)
    for acl_id, acl in acls.items():
        if wanted.accepts(rule_of(acl)):
            removed[acl_id] = None
            result.matching_acls.append(_matching(acl))
    return result


def _why_invalid(creation: AclCreation) -> str | None:
    kind = _known(ResourceType, creation.resource_type)
    if kind in (None, ResourceType.UNKNOWN, ResourceType.ANY):
        return f"Invalid resourceType {_name(ResourceType, creation.resource_type)}"
    if _known(PatternType, creation.resource_pattern_type) not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"Invalid patternType {_name(PatternType, creation.resource_pattern_type)}"
    if _known(Operation, creation.operation) in (None, Operation.UNKNOWN, Operation.ANY):
        return f"Invalid operation {_name(Operation, creation.operation)}"
    if _known(Permission, creation.permission_type) not in (Permission.DENY, Permission.ALLOW):
        return f"Invalid permissionType {_name(Permission, creation.permission_type)}"
    if not creation.resource_name:
        return "Invalid empty resource name"
    if kind is ResourceType.CLUSTER and creation.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if ":" not in creation.principal:
        # The words are Kafka's.
        why = "no colon is present separating the principal type from the principal name"
        return f"Could not parse principal from `{creation.principal}` ({why})"
    return None


def _known(enum: type[ResourceType | PatternType | Operation | Permission], number: int) -> object:
    return next((each for each in enum if each == number), None)


def _name(enum: type[ResourceType | PatternType | Operation | Permission], number: int) -> str:
    return next((each.name for each in enum if each == number), "UNKNOWN")


def _image_of(creation: AclCreation) -> AclImage:
    return AclImage(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _matching(acl: AclImage) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _created(error: ErrorCode, message: str | None) -> AclCreationResult:
    return AclCreationResult(error_code=error, error_message=message)


def _filtered(error: ErrorCode, message: str | None) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error, error_message=message, matching_acls=[])
