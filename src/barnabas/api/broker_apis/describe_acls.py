"""DescribeAcls (key 29): the access rules that match a filter.

Behaviour: rules come together with others of the same resource pattern. SECURITY_DISABLED from a
node without an authorizer. INVALID_REQUEST for a filter with an unknown type, operation or
permission.

Version notes: the fields are the same in all versions; 2 is flexible. The resource type USER is
valid from 3.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.metadata.acls import rule_of
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.security.acls.acl_filter import AclFilter, read_filter
from barnabas.wire.messages.describe_acls import AclDescription, DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse

NEEDS = on_cluster(Operation.DESCRIBE)

SECURITY_DISABLED = "No Authorizer is configured."


def handle(broker: Broker, caller: Caller, request: DescribeAclsRequest) -> DescribeAclsResponse:
    if not broker.access.enabled:
        return _refused(ErrorCode.SECURITY_DISABLED, SECURITY_DISABLED)
    wanted = read_filter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    if isinstance(wanted, str):
        return _refused(ErrorCode.INVALID_REQUEST, wanted)
    return DescribeAclsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", resources=_resources(broker, wanted))


def _resources(broker: Broker, wanted: AclFilter) -> list[DescribeAclsResource]:
    found: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in broker.metadata.image.acls.by_id.values():
        if not wanted.accepts(rule_of(acl)):
            continue
        key = (acl.resource_type, acl.resource_name, acl.pattern_type)
        resource = found.get(key)
        if resource is None:
            resource = found[key] = DescribeAclsResource(
                resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type, acls=[]
            )
        resource.acls.append(
            AclDescription(principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission_type)
        )
    return list(found.values())


def _refused(error: ErrorCode, message: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(throttle_time_ms=0, error_code=error, error_message=message, resources=[])
