"""``barnabas quotas``: list, set and remove limits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.quotas.entities import DEFAULT, entity_of
from barnabas.cli.quotas.requests import Match, Quota, alter_quotas, describe_quotas
from barnabas.cli.quotas.values import check_limit, parse_value
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.security.quotas.entities import CLIENT_ID, IP, USER, Entity, entity_text
from barnabas.security.quotas.limits import LIMITS, OF_ADDRESSES, value_text

_MISSING = "-"


def _complete_limits(incomplete: str) -> list[str]:
    return [f"{name}=" for name in LIMITS if name.startswith(incomplete)]


def _complete_names(incomplete: str) -> list[str]:
    return [name for name in LIMITS if name.startswith(incomplete)]


User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="A user: the name of a principal, without User: before it.")]
UserDefault = Annotated[bool, typer.Option("--user-default", help="Every user without a limit of its own.")]
ClientId = Annotated[str | None, typer.Option("--client-id", metavar="ID", help="A client id; with --user, this client of that user.")]
ClientDefault = Annotated[bool, typer.Option("--client-default", help="Every client id without a limit of its own.")]
Ip = Annotated[str | None, typer.Option("--ip", metavar="ADDRESS", help="An address, for connection_creation_rate.")]
IpDefault = Annotated[bool, typer.Option("--ip-default", help="Every address without a limit of its own.")]


def register(app: typer.Typer) -> None:
    quotas = typer.Typer(help="Limits of users, client ids and addresses: list, set and remove them.", no_args_is_help=True)
    quotas.command("list")(list_quotas)
    quotas.command("set")(set_quotas)
    quotas.command("remove")(remove)
    app.add_typer(quotas, name="quotas")


def list_quotas(
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    ip: Ip = None,
    ip_default: IpDefault = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the limits: all of them, or those of a user, a client id or an address."""
    entity = entity_of(
        user=user, user_default=user_default, client_id=client_id, client_default=client_default, ip=ip, ip_default=ip_default
    )
    brokers = Brokers(reach(bootstrap, config_file))
    parts = [(part.type, Match.DEFAULT if part.name is None else Match.EXACT, part.name) for part in entity]
    found = describe_quotas(brokers, parts, strict=False)
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    rows = [
        (*(_name(quota, kind) for kind in (USER, CLIENT_ID, IP)), limit, value_text(limit, quota.values[limit]))
        for quota in found
        for limit in sorted(quota.values, key=_position)
    ]
    # Most clusters limit users and client ids alone.
    shown = [index for index in range(5) if index > 2 or any(row[index] != _MISSING for row in rows)]
    columns = ("User", "Client id", "Address", "Limit", "Value")
    print_table(
        [columns[index] for index in shown],
        [[row[index] for index in shown] for row in rows],
        empty="There are no such quotas." if entity else "There are no quotas.",
    )


def set_quotas(
    limits: Annotated[
        list[str], typer.Argument(metavar="LIMIT=VALUE...", autocompletion=_complete_limits, help="producer_byte_rate=1MB, ...")
    ],
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    ip: Ip = None,
    ip_default: IpDefault = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Set limits of a user, a client id, both together, or an address; others stay as they are.

    producer_byte_rate and consumer_byte_rate are bytes per second (1MB, 512KiB), request_percentage
    is a share of a thread's time (50%), controller_mutation_rate counts new and deleted partitions
    per second, and connection_creation_rate counts connections per second of an address."""
    values = {name: parse_value(name, text) for name, text in parse_pairs("quotas set", limits)}
    entity = _named(
        entity_of(user=user, user_default=user_default, client_id=client_id, client_default=client_default, ip=ip, ip_default=ip_default)
    )
    _check_kind(entity, list(values))
    alter_quotas(Brokers(reach(bootstrap, config_file)), entity, values)
    for name, value in values.items():
        typer.echo(f"{name} of {entity_text(entity)} is {value_text(name, value)} now.")


def remove(
    limits: Annotated[
        list[str] | None, typer.Argument(metavar="[LIMIT]...", autocompletion=_complete_names, help="Default: all limits of it.")
    ] = None,
    user: User = None,
    user_default: UserDefault = False,
    client_id: ClientId = None,
    client_default: ClientDefault = False,
    ip: Ip = None,
    ip_default: IpDefault = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Remove limits of a user, a client id, both together, or an address."""
    entity = _named(
        entity_of(user=user, user_default=user_default, client_id=client_id, client_default=client_default, ip=ip, ip_default=ip_default)
    )
    wanted = [check_limit(each) for each in limits or []]
    brokers = Brokers(reach(bootstrap, config_file))
    parts = [(part.type, Match.DEFAULT if part.name is None else Match.EXACT, part.name) for part in entity]
    there = next((quota.values for quota in describe_quotas(brokers, parts, strict=True) if quota.entity == entity), {})
    names = wanted or sorted(there, key=_position)
    if missing := [name for name in names if name not in there] or ([] if names else ["limit"]):
        raise Refused(f"There is no {missing[0]} of {entity_text(entity)}.")
    alter_quotas(brokers, entity, dict.fromkeys(names))
    for name in names:
        typer.echo(f"Removed {name} of {entity_text(entity)}.")


def _named(entity: Entity) -> Entity:
    if not entity:
        raise Refused("Name the clients: --user, --client-id or both, their defaults, or --ip.")
    return entity


def _check_kind(entity: Entity, names: list[str]) -> None:
    """Apache Kafka refuses these too, with a sentence about configs."""
    of_address = entity[0].type == IP
    for name in names:
        if (name in OF_ADDRESSES) != of_address:
            proper = "an address: --ip" if name in OF_ADDRESSES else "a user or a client id: --user, --client-id"
            raise Refused(f"{name} is a limit of {proper}.")


def _position(name: str) -> tuple[int, str]:
    return (list(LIMITS).index(name) if name in LIMITS else len(LIMITS), name)


def _name(quota: Quota, kind: str) -> str:
    for part in quota.entity:
        if part.type == kind:
            return DEFAULT if part.name is None else part.name
    return _MISSING


def _as_json(quota: Quota) -> dict[str, Any]:
    return {
        "entity": [{"type": part.type, "name": part.name} for part in quota.entity],
        "limits": {name: quota.values[name] for name in sorted(quota.values, key=_position)},
    }
