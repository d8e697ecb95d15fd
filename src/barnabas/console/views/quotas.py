"""Quotas: limits of users, client ids and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.quotas import Quota, alter_quota, list_quotas
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.errors import BadValue
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter
from barnabas.security.quotas.entities import CLIENT_ID, IP, USER, Entity, Part, entity_text
from barnabas.security.quotas.limits import LIMITS, OF_ADDRESSES, InvalidLimit, parse_value, value_text

# The word for every user, client id or address without a limit of its own. Kafka's tools write it
# like this.
DEFAULT: Final = "<default>"


@dataclass(frozen=True, slots=True)
class QuotaRow:
    user: str | None
    """``<default>`` for users without a limit of their own."""
    client_id: str | None
    ip: str | None
    entity: str
    """In words."""
    limits: dict[str, float]
    texts: dict[str, str]


@dataclass(frozen=True, slots=True)
class QuotaList:
    search: str
    page: Page[QuotaRow]
    names: dict[str, str]
    """The limits, and their units."""


async def show_quotas(call: Call) -> QuotaList:
    rows = [_row(each) for each in await list_quotas(call.cluster)]
    found = matching(rows, call.text("search"), lambda each: each.entity)
    page = page_of(found, call.number("page"), call.number("size"))
    return QuotaList(call.text("search"), page, {name: unit.value for name, unit in LIMITS.items()})


async def set_quota(call: Call) -> Changed:
    entity, name = _entity(call), call.text("name")
    if (name in OF_ADDRESSES) != (entity[0].type == IP):
        raise BadValue(f"{name} is a limit of {'addresses' if name in OF_ADDRESSES else 'users and client ids'}.", "name")
    try:
        value = None if call.flag("remove") else parse_value(name, call.text("value"))
    except InvalidLimit as error:
        raise BadValue(str(error), "value") from None
    await alter_quota(call.cluster, entity, {name: value})
    done = f"{name} of {entity_text(entity)} is {'removed' if value is None else value_text(name, value)}."
    return Changed(done, call.url("security", "quotas"))


def _entity(call: Call) -> Entity:
    given = ((USER, call.text("user")), (CLIENT_ID, call.text("client_id")), (IP, call.text("ip")))
    parts = tuple(Part(kind, None if name == DEFAULT else name) for kind, name in given if name)
    if not parts:
        raise BadValue("Name a user, a client id or an address.", "user")
    if len(parts) > 1 and parts[-1].type == IP:
        raise BadValue("A limit is for an address, or for a user and a client id.", "ip")
    return parts


def _row(quota: Quota) -> QuotaRow:
    names = {part.type: DEFAULT if part.name is None else part.name for part in quota.entity}
    texts = {name: value_text(name, value) for name, value in quota.limits.items()}
    return QuotaRow(names.get(USER), names.get(CLIENT_ID), names.get(IP), entity_text(quota.entity), quota.limits, texts)


OPERATIONS: Final = (
    view(
        "list_quotas",
        "/clusters/{cluster}/security/quotas",
        show_quotas,
        summary="Quotas of users, client ids and addresses.",
        page="security/quotas.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    change(
        "set_quota",
        "/clusters/{cluster}/security/quotas",
        set_quota,
        summary="Set or remove a quota.",
        parameters=(
            Parameter("user", f"The user; {DEFAULT} for users without a limit of their own.", default=""),
            Parameter("client_id", f"The client id; {DEFAULT} for others.", default=""),
            Parameter("ip", f"The address; {DEFAULT} for others.", default=""),
            Parameter("name", "The limit.", required=True, choices=tuple(LIMITS)),
            Parameter("value", "A number, such as 1MB for a rate of bytes.", default=""),
            Parameter("remove", "Remove the limit.", bool, False),
        ),
    ),
)
