"""``barnabas client-metrics``: which metrics clients push to brokers, and how often."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from barnabas.cli.client_metrics.requests import (
    INTERVAL_MS,
    MATCH,
    METRICS,
    Subscription,
    alter_subscription,
    describe_subscriptions,
    receives_metrics,
    subscription_names,
)
from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.durations import parse_duration_ms
from barnabas.cli.terminal.output import AsJson, duration_text, print_json, print_table
from barnabas.config.client_metrics_keys import MATCHES

_NO_RECEIVER = (
    "No broker keeps clients' metrics yet, so clients push none: set barnabas.prometheus.listener or "
    "barnabas.client.metrics.otlp.endpoint; Apache Kafka needs a metrics reporter that exports them."
)
_ALL_CLIENTS = "all clients"


def _complete_match(incomplete: str) -> list[str]:
    return [f"{name}=" for name in MATCHES if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a subscription.")]


def register(app: typer.Typer) -> None:
    commands = typer.Typer(help="Metrics that clients push to brokers: list, describe, set and delete subscriptions.", no_args_is_help=True)
    commands.command("list")(list_all)
    commands.command("describe")(describe)
    commands.command("set")(set_subscription)
    commands.command("delete")(delete)
    app.add_typer(commands, name="client-metrics")


def list_all(as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """List the subscriptions."""
    brokers = Brokers(reach(bootstrap, config_file))
    found = describe_subscriptions(brokers, subscription_names(brokers))
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    print_table(
        ("Name", "Metrics", "Interval", "Clients"),
        [(each.name, ", ".join(each.metrics), duration_text(each.interval_ms), ", ".join(each.match) or _ALL_CLIENTS) for each in found],
        empty="There are no subscriptions.",
    )


def describe(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """Show one subscription, one line for each prefix and each match."""
    brokers = Brokers(reach(bootstrap, config_file))
    found = _existing(brokers, name)
    if as_json:
        print_json(_as_json(found))
        return
    print_table(
        ("Setting", "Value", "Source"),
        [
            *((METRICS, prefix, _source(found, METRICS)) for prefix in found.metrics or ("none",)),
            (INTERVAL_MS, f"{found.interval_ms} ({duration_text(found.interval_ms)})", _source(found, INTERVAL_MS)),
            *((MATCH, entry, _source(found, MATCH)) for entry in found.match or (_ALL_CLIENTS,)),
        ],
    )


def set_subscription(
    name: Name,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", metavar="PREFIX", help="Metrics whose names begin so; * for all. May be repeated.")
    ] = None,
    interval: Annotated[str | None, typer.Option("--interval", metavar="30s|5m|...", help="How often clients push.")] = None,
    match: Annotated[
        list[str] | None,
        typer.Option("--match", metavar="LABEL=REGEX", autocompletion=_complete_match, help="Only clients like this. May be repeated."),
    ] = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Make or change a subscription; settings that are not given stay as they are.

    The labels of a client are client_instance_id, client_id, client_software_name,
    client_software_version, client_source_address and client_source_port. An expression must match
    the whole label, and a client must match all of them."""
    changes: dict[str, str | None] = {}
    if metrics:
        changes[METRICS] = ",".join(metrics)
    if interval is not None:
        changes[INTERVAL_MS] = str(parse_duration_ms("--interval", interval))
    if match:
        changes[MATCH] = ",".join(_checked_match(each) for each in match)
    if not changes:
        raise Refused("Nothing to set: give --metrics, --interval or --match.")
    brokers = Brokers(reach(bootstrap, config_file))
    alter_subscription(brokers, name, changes)
    typer.echo(f"Set {', '.join(changes)} of the subscription {name}.")
    if not receives_metrics(brokers):
        typer.echo(_NO_RECEIVER, err=True)


def delete(name: Name, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """Delete a subscription. Clients stop to push its metrics when they push the next time."""
    brokers = Brokers(reach(bootstrap, config_file))
    alter_subscription(brokers, name, dict.fromkeys(_existing(brokers, name).own))
    typer.echo(f"Deleted the subscription {name}.")


def _existing(brokers: Brokers, name: str) -> Subscription:
    # Brokers describe a subscription that does not exist with its defaults.
    if name not in subscription_names(brokers):
        raise Refused(f"There is no subscription {name}.")
    (found,) = describe_subscriptions(brokers, [name])
    return found


def _checked_match(text: str) -> str:
    """Brokers split the setting at commas, so they would read the rest as another entry."""
    label, equals, expression = text.partition("=")
    if not equals or label.strip() not in MATCHES or not expression:
        raise Refused(f"--match takes LABEL=REGEX with one of {', '.join(MATCHES)}, but was given {text!r}.")
    if "," in expression:
        raise Refused(f"An expression of --match cannot contain a comma, but was given {expression!r}.")
    return text


def _source(subscription: Subscription, setting: str) -> str:
    return "own" if setting in subscription.own else "default"


def _as_json(subscription: Subscription) -> dict[str, Any]:
    return {
        "name": subscription.name,
        "metrics": list(subscription.metrics),
        "interval_ms": subscription.interval_ms,
        "match": list(subscription.match),
    }
