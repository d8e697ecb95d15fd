"""ACLs: the principals' operations on a resource as a matrix, all rules as a list, and changes of
rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.acls import NoAuthorizer, all_acls, authorizer_settings, create_acl, delete_acl
from barnabas.console.access.users import list_users
from barnabas.console.core.acl_matrix import MatrixRow, Rule, matrix, shown_rule
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.errors import BadValue, ConsoleError, NotFound
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter
from barnabas.security.acls.acl import CLUSTER_NAME, Acl, Operation, PatternType, Permission, Resource, ResourceType
from barnabas.security.acls.operations import OPERATIONS as OPERATIONS_OF
from barnabas.security.acls.words import name_of
from barnabas.security.principal import parse_principal

_TYPES: Final = {name_of(each): each for each in OPERATIONS_OF}
_OPERATIONS: Final = {name_of(each): each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)}
_PATTERNS: Final = {name_of(each): each for each in (PatternType.LITERAL, PatternType.PREFIXED)}
_PERMISSIONS: Final = {name_of(each): each for each in (Permission.ALLOW, Permission.DENY)}


@dataclass(frozen=True, slots=True)
class AclMatrix:
    resource_type: str
    resource_name: str
    operations: list[str]
    page: Page[MatrixRow]
    super_users_known: bool
    missing: list[str]
    """Sentences: no authorizer, or parts that the principal may not see."""
    resource_types: list[str]


@dataclass(frozen=True, slots=True)
class RuleList:
    search: str
    page: Page[Rule]
    missing: list[str]
    resource_types: list[str]
    operations: list[str]


async def show_matrix(call: Call) -> AclMatrix:
    client, kind = call.cluster, _TYPES[call.text("resource_type")]
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else call.text("name")
    operations = [name_of(each) for each in OPERATIONS_OF[kind]]
    missing: list[str] = []
    rows: list[MatrixRow] = []
    known = True
    if not name:
        missing.append(f"Choose a {name_of(kind).replace('-', ' ')}.")
    else:
        try:
            acls, settings = await asyncio.gather(all_acls(client), authorizer_settings(client))
            known = settings.super_users is not None
            rows = matrix(acls, Resource(kind, name), settings, await _users(call, missing))
        except NoAuthorizer as error:
            missing.append(error.sentence)
    found = matching(rows, call.text("search"), lambda each: each.principal)
    page = page_of(found, call.number("page"), call.number("size"))
    return AclMatrix(name_of(kind), name, operations, page, known, missing, list(_TYPES))


async def list_rules(call: Call) -> RuleList:
    missing: list[str] = []
    rules: list[Rule] = []
    try:
        rules = [shown_rule(each) for each in await all_acls(call.cluster)]
    except NoAuthorizer as error:
        missing.append(error.sentence)
    found = matching(rules, call.text("search"), lambda each: f"{each.sentence} {each.principal}")
    page = page_of(found, call.number("page"), call.number("size"))
    return RuleList(call.text("search"), page, missing, list(_TYPES), list(_OPERATIONS))


async def add_rule(call: Call) -> Changed:
    acl = _acl(call)
    await create_acl(call.cluster, acl)
    return Changed(f"The rule is added: {shown_rule(acl).sentence}.", call.url("security", "rules"))


async def remove_rule(call: Call) -> Changed:
    acl = _acl(call)
    if not await delete_acl(call.cluster, acl):
        raise NotFound("There is no such rule.")
    return Changed(f"The rule is removed: {shown_rule(acl).sentence}.", call.url("security", "rules"))


async def _users(call: Call, missing: list[str]) -> list[str]:
    """Users with SCRAM credentials have a row even if no rule names them."""
    try:
        return [f"User:{each.name}" for each in await list_users(call.cluster)]
    except ConsoleError as error:
        missing.append(error.sentence)
        return []


def _acl(call: Call) -> Acl:
    kind, operation = _TYPES[call.text("resource_type")], _OPERATIONS[call.text("operation")]
    if operation not in (*OPERATIONS_OF[kind], Operation.ALL):
        known = ", ".join(name_of(each) for each in OPERATIONS_OF[kind])
        raise BadValue(f"A {name_of(kind)} has no operation {name_of(operation)}; it has {known} and all.", "operation")
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else call.text("name")
    if not name:
        raise BadValue("name is missing.", "name")
    principal = call.text("principal")
    try:
        parsed = parse_principal(principal)
    except ValueError:
        raise BadValue(f"A principal is written as Type:name, such as User:{principal[:80] or 'alice'}.", "principal") from None
    if not parsed.name:
        raise BadValue("The principal has no name.", "principal")
    # The cluster is one resource, so a prefix of its name means nothing.
    pattern = PatternType.LITERAL if kind is ResourceType.CLUSTER else _PATTERNS[call.text("pattern")]
    return Acl(kind, name, pattern, principal, call.text("host"), operation, _PERMISSIONS[call.text("permission")])


_RULE: Final = (
    Parameter("permission", "allow or deny; a deny wins.", default="allow", choices=tuple(_PERMISSIONS)),
    Parameter("principal", "Such as User:alice, or User:* for everyone.", required=True),
    Parameter("operation", "The operation; all for every one.", required=True, choices=tuple(_OPERATIONS)),
    Parameter("resource_type", "The type of the resource.", default="topic", choices=tuple(_TYPES)),
    Parameter("name", "The name of the resource, * for all, or a prefix.", default=""),
    Parameter("pattern", "Whether the name is literal or a prefix.", default="literal", choices=tuple(_PATTERNS)),
    Parameter("host", "The address of the client; * for all.", default="*"),
)

OPERATIONS: Final = (
    view(
        "show_acl_matrix",
        "/clusters/{cluster}/security",
        show_matrix,
        summary="Principals and the operations that they may do on a resource, with the rule that decides.",
        page="security/matrix.html",
        parameters=(
            Parameter("resource_type", "The type of the resource.", default="topic", choices=tuple(_TYPES)),
            Parameter("name", "The name of the resource.", default=""),
            SEARCH,
            PAGE,
            SIZE,
        ),
    ),
    view(
        "list_acls",
        "/clusters/{cluster}/security/rules",
        list_rules,
        summary="All rules of the authorizer, a page at a time.",
        page="security/rules.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    change("add_acl", "/clusters/{cluster}/security/rules", add_rule, summary="Add a rule.", parameters=_RULE),
    change("remove_acl", "/clusters/{cluster}/security/rules/remove", remove_rule, summary="Remove a rule.", parameters=_RULE),
)
