"""``barnabas configs``: settings that can be changed while the cluster runs, and the source of each
value.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from barnabas.cli.cluster.completion import complete_groups, complete_setting_values, complete_settings, complete_topics
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.configs.resources import Change, ConfigResource, Operation, ResourceKind, Setting, alter_settings, describe_settings
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.terminal.overrides import parse_pairs

_HIDDEN = "(hidden)"

Topic = Annotated[str | None, typer.Option("--topic", metavar="NAME", help="A topic.", autocompletion=complete_topics)]
Broker = Annotated[int | None, typer.Option("--broker", metavar="ID", help="One broker.")]
BrokerDefaults = Annotated[bool, typer.Option("--broker-defaults", help="The defaults of brokers without a value of their own.")]
BrokerLogger = Annotated[int | None, typer.Option("--broker-logger", metavar="ID", help="The log levels of one broker.")]
Group = Annotated[str | None, typer.Option("--group", metavar="NAME", help="A consumer or share group.", autocompletion=complete_groups)]
ClientMetrics = Annotated[str | None, typer.Option("--client-metrics", metavar="NAME", help="A subscription to clients' metrics.")]
Pairs = list[str]


TOPICS_OWN = "DYNAMIC_TOPIC_CONFIG"


def register(app: typer.Typer) -> None:
    configs = typer.Typer(help="Settings of topics, brokers, groups and more.", no_args_is_help=True)
    configs.command("describe")(describe)
    configs.command("alter")(alter)
    app.add_typer(configs, name="configs")


def describe(
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    broker_logger: BrokerLogger = None,
    group: Group = None,
    client_metrics: ClientMetrics = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show settings that have their default value.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show settings, their sources, and the values that would replace them."""
    resource = _resource(topic, broker, broker_defaults, broker_logger, group, client_metrics)
    admin = reach(bootstrap, config_file).admin()
    if resource.kind is ResourceKind.TOPIC:
        # A broker describes a missing topic with the defaults that it would have.
        admin.describe_topics([resource.name])
    settings = [each for each in describe_settings(admin, resource) if everything or _is_set(each, resource)]
    if as_json:
        print_json([_as_json(each) for each in settings])
        return
    # Kafka's names of sources are for programs: four such columns do not fit a terminal.
    people = sys.stdout.isatty()
    print_table(
        ("Setting", "Value", "Source", "Otherwise" if people else "Synonyms"),
        [
            (each.name, _value(each), _source_words(each.source), _weaker_values(each))
            if people
            else (each.name, _value(each), each.source, _synonyms(each))
            for each in settings
        ],
        empty=f"All settings of {resource} have their defaults; --all lists them.",
    )


def alter(
    topic: Topic = None,
    broker: Broker = None,
    broker_defaults: BrokerDefaults = False,
    broker_logger: BrokerLogger = None,
    group: Group = None,
    client_metrics: ClientMetrics = None,
    assign: Annotated[Pairs, typer.Option("--set", metavar="NAME=VALUE", help="Set a value.", autocompletion=complete_setting_values)] = [],  # noqa: B006
    delete: Annotated[
        Pairs,
        typer.Option("--delete", metavar="NAME", help="Remove a value, so that the default applies.", autocompletion=complete_settings),
    ] = [],  # noqa: B006
    append: Annotated[
        Pairs, typer.Option("--append", metavar="NAME=VALUE", help="Append to a list.", autocompletion=complete_setting_values)
    ] = [],  # noqa: B006
    subtract: Annotated[
        Pairs, typer.Option("--subtract", metavar="NAME=VALUE", help="Remove from a list.", autocompletion=complete_setting_values)
    ] = [],  # noqa: B006
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Change settings: all of them, or none if the broker refuses one."""
    resource = _resource(topic, broker, broker_defaults, broker_logger, group, client_metrics)
    changes = [
        *(Change(Operation.SET, name, value) for name, value in parse_pairs("--set", assign)),
        *(Change(Operation.DELETE, name, None) for name in delete),
        *(Change(Operation.APPEND, name, value) for name, value in parse_pairs("--append", append)),
        *(Change(Operation.SUBTRACT, name, value) for name, value in parse_pairs("--subtract", subtract)),
    ]
    if not changes:
        raise Refused("Nothing to alter: give --set, --delete, --append or --subtract.")
    alter_settings(reach(bootstrap, config_file).admin(), resource, changes)
    typer.echo(f"Altered {', '.join(dict.fromkeys(change.name for change in changes))} of {resource}.")


def _is_set(setting: Setting, resource: ConfigResource) -> bool:
    """Whether to show a setting by default. A topic shows only its own settings, as Kafka's tool
    does; the others belong to the brokers."""
    return setting.source == TOPICS_OWN if resource.kind is ResourceKind.TOPIC else not setting.is_default


def _resource(
    topic: str | None, broker: int | None, broker_defaults: bool, broker_logger: int | None, group: str | None, client_metrics: str | None
) -> ConfigResource:
    named = [
        ConfigResource(kind, str(name))
        for kind, name in (
            (ResourceKind.TOPIC, topic),
            (ResourceKind.BROKER, broker),
            (ResourceKind.BROKER, "" if broker_defaults else None),
            (ResourceKind.BROKER_LOGGER, broker_logger),
            (ResourceKind.GROUP, group),
            (ResourceKind.CLIENT_METRICS, client_metrics),
        )
        if name is not None
    ]
    if len(named) != 1:
        raise Refused("Name exactly one of --topic, --broker, --broker-defaults, --broker-logger, --group and --client-metrics.")
    if not named[0].name and not broker_defaults:
        raise Refused("The name of the resource cannot be empty.")
    return named[0]


def _value(setting: Setting) -> str | None:
    return _HIDDEN if setting.sensitive else setting.value


def _synonyms(setting: Setting) -> str:
    return ", ".join(f"{each.source}:{each.name}={'' if each.value is None else each.value}" for each in setting.synonyms)


def _source_words(source: str) -> str:
    return source.removesuffix("_CONFIG").replace("_", " ").lower()


def _weaker_values(setting: Setting) -> str:
    """The values that would replace the effective one, which is the first synonym."""
    return ", ".join(
        f"{each.value or 'empty'} ({_source_words(each.source)}{'' if each.name == setting.name else f': {each.name}'})"
        for each in setting.synonyms[1:]
    )


def _as_json(setting: Setting) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": setting.value,
        "source": setting.source,
        "read_only": setting.read_only,
        "sensitive": setting.sensitive,
        "synonyms": [each._asdict() for each in setting.synonyms],
    }
