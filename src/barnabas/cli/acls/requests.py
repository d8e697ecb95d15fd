"""The requests for rules. librdkafka has them too, but without delegation tokens and users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from barnabas.cli.cluster.admin_request import error_words
from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.acl_filter import AclFilter
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

# The rules of one command line are a few; a removal by filter may find thousands, and each batch is
# one write to the metadata log.
RULES_PER_REQUEST_MAX: Final = 500
_NO_AUTHORIZER: Final = "the brokers have no authorizer: set authorizer.class.name"


def describe_acls(brokers: Brokers, filters: Iterable[AclFilter]) -> list[Acl]:
    """The rules that one of the filters accepts, sorted, each once."""
    found: set[Acl] = set()
    for each in filters:
        request = DescribeAclsRequest(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.resource_name,
            pattern_type_filter=each.pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission,
        )
        response: DescribeAclsResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
        _refuse(response.error_code, response.error_message, "Cannot list the rules")
        found |= {
            Acl(
                ResourceType(resource.resource_type),
                resource.resource_name,
                PatternType(resource.pattern_type),
                acl.principal,
                acl.host,
                Operation(acl.operation),
                Permission(acl.permission_type),
            )
            for resource in response.resources
            for acl in resource.acls
        }
    return sorted(found)


def create_acls(brokers: Brokers, acls: Sequence[Acl]) -> None:
    for some in _portions(acls):
        request = CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                    resource_pattern_type=each.pattern_type,
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in some
            ]
        )
        response: CreateAclsResponse = brokers.ask_controller(
            request, codes=lambda response: [each.error_code for each in response.results]
        )
        for result in response.results:
            _refuse(result.error_code, result.error_message, "Cannot add a rule")


def delete_acls(brokers: Brokers, acls: Sequence[Acl]) -> int:
    """How many of these rules were there and are removed."""
    removed = 0
    for some in _portions(acls):
        request = DeleteAclsRequest(
            filters=[
                DeleteAclsFilter(
                    resource_type_filter=each.resource_type,
                    resource_name_filter=each.resource_name,
                    pattern_type_filter=each.pattern_type,
                    principal_filter=each.principal,
                    host_filter=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in some
            ]
        )
        response: DeleteAclsResponse = brokers.ask_controller(
            request, codes=lambda response: [each.error_code for each in response.filter_results]
        )
        for result in response.filter_results:
            _refuse(result.error_code, result.error_message, "Cannot remove a rule")
            for match in result.matching_acls:
                _refuse(match.error_code, match.error_message, "Cannot remove a rule")
                removed += 1
    return removed


def _portions(acls: Sequence[Acl]) -> Iterable[Sequence[Acl]]:
    return (acls[first : first + RULES_PER_REQUEST_MAX] for first in range(0, len(acls), RULES_PER_REQUEST_MAX))


def _refuse(code: int, message: str | None, doing: str) -> None:
    if code == ErrorCode.SECURITY_DISABLED:
        raise Refused(f"{doing}: {_NO_AUTHORIZER}.")
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise Refused(f"{doing}: {error_words(code)}.")
    refuse_error(code, message, doing)
