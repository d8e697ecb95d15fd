"""Rules of the authorizer: listed, added, removed; and the settings that decide beside them."""

from __future__ import annotations

from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ResourceType as ConfigResource, describe_configs
from barnabas.console.access.refusals import refuse_error
from barnabas.console.errors import ClusterRefused, ConsoleError
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.explanation import Settings
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_SETTINGS: Final = ("super.users", "allow.everyone.if.no.acl.found")


class NoAuthorizer(ClusterRefused):
    def __init__(self) -> None:
        super().__init__("The brokers have no authorizer, so everyone may do everything: set authorizer.class.name.")


async def all_acls(client: ClusterClient) -> list[Acl]:
    """Raises :class:`NoAuthorizer`."""
    request = DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    response: DescribeAclsResponse = await client.ask_any(request)
    _refuse(response.error_code, response.error_message, "Cannot list the rules")
    return sorted(
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
    )


async def create_acl(client: ClusterClient, acl: Acl) -> None:
    creation = AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
    response: CreateAclsResponse = await client.ask_any(CreateAclsRequest(creations=[creation]), is_change=True)
    _refuse(response.results[0].error_code, response.results[0].error_message, "Cannot add the rule")


async def delete_acl(client: ClusterClient, acl: Acl) -> int:
    """How many rules are removed: one, or none if it was not there."""
    only = DeleteAclsFilter(
        resource_type_filter=acl.resource_type,
        resource_name_filter=acl.resource_name,
        pattern_type_filter=acl.pattern_type,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
    response: DeleteAclsResponse = await client.ask_any(DeleteAclsRequest(filters=[only]), is_change=True)
    result = response.filter_results[0]
    _refuse(result.error_code, result.error_message, "Cannot remove the rule")
    for each in result.matching_acls:
        _refuse(each.error_code, each.error_message, "Cannot remove the rule")
    return len(result.matching_acls)


async def authorizer_settings(client: ClusterClient) -> Settings:
    """Apache Kafka hides settings of its authorizer, and a principal may lack the right to read
    settings. Both mean: unknown."""
    broker = (await client.brokers()).brokers[0].id
    try:
        values = await describe_configs(client, ConfigResource.BROKER, str(broker))
    except ConsoleError:
        return Settings()
    return Settings.of_broker({each.name: each.value for each in values if each.name in _SETTINGS})


def _refuse(code: int, message: str | None, doing: str) -> None:
    if code == ErrorCode.SECURITY_DISABLED:
        raise NoAuthorizer
    refuse_error(code, message, doing)
