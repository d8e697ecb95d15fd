"""Delegation tokens: the list, creation, renewal and expiry. The password of a token is shown once,
to the person that creates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.tokens import DEFAULT, NOW, NoTokens, Token, create_token, expire_token, list_tokens, renew_token
from barnabas.console.core.paging import Page, page_of
from barnabas.console.errors import BadValue
from barnabas.console.views.topics import PAGE, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import CONFIRMATION, Changed, Operation, change, view
from barnabas.console.web.pages import moment
from barnabas.console.web.parameters import Parameter
from barnabas.security.principal import Principal, parse_principal

_HOUR_MS: Final = 3_600_000
_HOURS_MAX: Final = 24 * 366


@dataclass(frozen=True, slots=True)
class TokenList:
    page: Page[Token]
    missing: str | None
    """Why there are no tokens here."""


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """The only answer that has the password of the token."""

    token: Token
    password: str


async def show_tokens(call: Call) -> TokenList:
    try:
        found, missing = await list_tokens(call.cluster), None
    except NoTokens as error:
        found, missing = [], error.sentence
    return TokenList(page_of(found, call.number("page"), call.number("size")), missing)


async def create(call: Call) -> CreatedToken:
    owner = _principal(call.text("owner"), "owner") if call.text("owner") else None
    renewers = [_principal(each, "renewers") for each in call.text("renewers").split()]
    made = await create_token(call.cluster, owner, renewers, _milliseconds(call))
    return CreatedToken(made, made.password)


async def renew(call: Call) -> Changed:
    token = call.text("token")
    expiry = await renew_token(call.cluster, token, _milliseconds(call))
    return Changed(f"The token {token} is valid until {moment(expiry)}.", call.url("security", "tokens"))


async def expire(call: Call) -> Changed:
    token = call.text("token")
    await expire_token(call.cluster, token, NOW)
    return Changed(f"The token {token} is expired and removed.", call.url("security", "tokens"))


def _milliseconds(call: Call) -> int:
    hours = call.optional_number("hours")
    return DEFAULT if hours is None else hours * _HOUR_MS


def _principal(text: str, parameter: str) -> Principal:
    try:
        return parse_principal(text)
    except ValueError:
        raise BadValue(f"A principal is written as Type:name, such as User:alice, and not {text[:80]!r}.", parameter) from None


_TOKEN: Final = Parameter("token", "The id of the token.", required=True)
_HOURS: Final = Parameter("hours", "Hours; the brokers' default if empty.", int, minimum=1, maximum=_HOURS_MAX)

OPERATIONS: Final = (
    view(
        "list_tokens",
        "/clusters/{cluster}/security/tokens",
        show_tokens,
        summary="Delegation tokens that the principal may see; never their passwords.",
        page="security/tokens.html",
        parameters=(PAGE, SIZE),
    ),
    # Not a change() that leads to another page: its own answer is the only place with the password.
    Operation(
        "create_token",
        "POST",
        "/clusters/{cluster}/security/tokens",
        create,
        "Create a delegation token; the answer has its password, once.",
        "security/token_created.html",
        (
            Parameter("owner", "The owner, such as User:alice; the principal itself if empty.", default=""),
            Parameter("renewers", "Principals that may renew it, separated by spaces.", default=""),
            _HOURS,
            CONFIRMATION,
        ),
        changes=True,
    ),
    change("renew_token", "/clusters/{cluster}/security/tokens/renew", renew, summary="Renew a token.", parameters=(_TOKEN, _HOURS)),
    change("expire_token", "/clusters/{cluster}/security/tokens/expire", expire, summary="Expire a token now.", parameters=(_TOKEN,)),
)
