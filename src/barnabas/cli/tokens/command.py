"""``barnabas tokens``: delegation tokens, with which processes log in without a password."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.durations import DURATION, parse_duration_ms
from barnabas.cli.terminal.output import AsJson, print_json, print_table, time_text
from barnabas.cli.tokens.requests import (
    DEFAULT,
    NOW,
    Token,
    create_token,
    expire_token,
    find_token,
    list_tokens,
    renew_token,
)
from barnabas.security.principal import Principal, parse_principal

TokenId = Annotated[str, typer.Argument(metavar="TOKEN_ID", help="The token's id, as `barnabas tokens list` shows it.")]


def register(app: typer.Typer) -> None:
    tokens = typer.Typer(help="Delegation tokens: create, renew, expire and list them.", no_args_is_help=True)
    tokens.command("create")(create)
    tokens.command("renew")(renew)
    tokens.command("expire")(expire)
    tokens.command("list")(list_all)
    app.add_typer(tokens, name="tokens")


def create(
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="User:NAME", help="The user that the token stands for; default: yourself.")
    ] = None,
    renewer: Annotated[
        list[str],
        typer.Option("--renewer", metavar="User:NAME", help="A user that may renew and expire the token; may be given several times."),
    ] = [],  # noqa: B006
    max_lifetime: Annotated[
        str | None,
        typer.Option("--max-lifetime", metavar=DURATION, help="How long it can be renewed; at most delegation.token.max.lifetime.ms."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Create a token. The output has its secret, the HMAC."""
    lifetime_ms = DEFAULT if max_lifetime is None else parse_duration_ms("--max-lifetime", max_lifetime)
    of = None if owner is None else _principal("--owner", owner)
    renewers = [_principal("--renewer", each) for each in renewer]
    token = create_token(Brokers(reach(bootstrap, config_file)), of, renewers, lifetime_ms)
    if as_json:
        print_json({**_as_json(token), "hmac": token.password})
        return
    for name, value in (
        ("Token id", token.token_id),
        ("HMAC", token.password),
        ("Owner", token.owner),
        ("Renewers", ", ".join(token.renewers) or "-"),
        ("Expires", time_text(token.expiry_ms)),
        ("Renewable until", time_text(token.max_ms)),
    ):
        typer.echo(f"{name + ':':<17}{value}")


def renew(
    token_id: TokenId,
    period: Annotated[
        str | None, typer.Option("--for", metavar=DURATION, help="From now on; at most delegation.token.expiry.time.ms, the default.")
    ] = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Extend the life of a token."""
    period_ms = DEFAULT if period is None else parse_duration_ms("--for", period)
    brokers = Brokers(reach(bootstrap, config_file))
    expiry_ms = renew_token(brokers, find_token(brokers, token_id), period_ms)
    typer.echo(f"The token {token_id} expires at {time_text(expiry_ms)}.")


def expire(
    token_id: TokenId,
    period: Annotated[str | None, typer.Option("--in", metavar=DURATION, help="After this time; default: now.")] = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """End a token. Connections that logged in with it go on until they end."""
    period_ms = NOW if period is None else parse_duration_ms("--in", period)
    brokers = Brokers(reach(bootstrap, config_file))
    expiry_ms = expire_token(brokers, find_token(brokers, token_id), period_ms)
    typer.echo(f"Removed the token {token_id}." if period is None else f"The token {token_id} expires at {time_text(expiry_ms)}.")


def list_all(
    owner: Annotated[
        list[str],
        typer.Option("--owner", metavar="User:NAME", help="Only tokens of this owner, requester or renewer; may be given several times."),
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the tokens that you may see, without their secrets."""
    owners = [_principal("--owner", each) for each in owner] or None
    found = list_tokens(Brokers(reach(bootstrap, config_file)), owners)
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    print_table(
        ("Token id", "Owner", "Expires", "Renewers"),
        [(each.token_id, each.owner, time_text(each.expiry_ms), ",".join(each.renewers) or "-") for each in found],
        empty="There are no tokens.",
    )


def _principal(option: str, text: str) -> Principal:
    try:
        return parse_principal(text)
    except ValueError:
        raise Refused(f"{option} takes User:NAME, but was given {text!r}.") from None


def _as_json(token: Token) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": token.renewers,
        "issue_ms": token.issue_ms,
        "expiry_ms": token.expiry_ms,
        "max_ms": token.max_ms,
    }
