"""Settings of brokers, of one or of all, and the levels of a broker's loggers.

In addresses the broker ``all`` stands for the settings of all brokers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ResourceType, alter_configs, describe_configs
from barnabas.console.access.registered_brokers import registered_broker
from barnabas.console.core.config_value import ConfigSource, ConfigValue
from barnabas.console.core.paging import matching
from barnabas.console.core.setting_change import SettingEffect, effects
from barnabas.console.errors import BadValue, ConsoleError, NotFound
from barnabas.console.views.topics import SEARCH
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

ALL: Final = "all"
LEVELS: Final = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
_RUN_TIME: Final = (ConfigSource.BROKER_DYNAMIC, ConfigSource.BROKERS_DYNAMIC)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    broker: str
    search: str
    changed_only: bool
    settings: list[ConfigValue]


@dataclass(frozen=True, slots=True)
class SettingChange:
    """What a change would do; nothing is changed yet."""

    broker: str
    name: str
    value: str | None
    """None unsets it."""
    is_sensitive: bool
    documentation: str
    effects: list[SettingEffect]
    refused: str | None
    """Why brokers would refuse the change."""
    missing: list[str]


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Loggers:
    broker: str
    search: str
    levels: list[str]
    loggers: list[LoggerLevel]


async def show_settings(call: Call) -> BrokerSettings:
    broker, search, changed_only = call.text("broker"), call.text("search"), call.flag("changed_only")
    values = await describe_configs(call.cluster, ResourceType.BROKER, await _resource(call.cluster, broker))
    shown = matching(values, search, lambda each: f"{each.name} {each.documentation}")
    return BrokerSettings(broker, search, changed_only, [each for each in shown if not changed_only or each.source in _RUN_TIME])


async def preview_setting(call: Call) -> SettingChange:
    client, broker, name = call.cluster, call.text("broker"), call.text("name")
    value = None if call.flag("unset") else call.text("value")
    resource = await _resource(client, broker)
    ids = [each.id for each in (await client.brokers()).brokers] if broker == ALL else [int(broker)]
    found: dict[int, ConfigValue] = {}
    missing: list[str] = []
    for each in ids:
        try:
            values = await describe_configs(client, ResourceType.BROKER, str(each))
        except ConsoleError as error:
            missing.append(error.sentence)
            continue
        found.update((each, one) for one in values if one.name == name)
    if not found:
        raise NotFound(f"Brokers do not have the setting {name}." if not missing else missing[0])
    one = next(iter(found.values()))
    if one.is_sensitive and value:
        raise BadValue(f"The value of {name} is a secret and must not be part of an address; send it with a POST.", "value")
    refused = None
    try:
        await alter_configs(client, ResourceType.BROKER, resource, {name: value}, validate_only=True)
    except ConsoleError as error:
        refused = error.sentence
    place = ConfigSource.BROKERS_DYNAMIC if broker == ALL else ConfigSource.BROKER_DYNAMIC
    return SettingChange(
        broker,
        name,
        value,
        one.is_sensitive,
        one.documentation,
        effects(found, place, value),
        refused,
        missing,
    )


async def set_setting(call: Call) -> Changed:
    client, broker, name = call.cluster, call.text("broker"), call.text("name")
    value = None if call.flag("unset") else call.text("value")
    await alter_configs(client, ResourceType.BROKER, await _resource(client, broker), {name: value})
    subject = "all brokers" if broker == ALL else f"broker {broker}"
    done = f"{name} of {subject} is {'unset' if value is None else 'changed'}."
    return Changed(done, call.url("brokers", broker, "settings", changed_only=True))


async def show_loggers(call: Call) -> Loggers:
    broker, search = call.text("broker"), call.text("search")
    await registered_broker(call.cluster, broker)
    values = await describe_configs(call.cluster, ResourceType.BROKER_LOGGER, broker)
    levels = [LoggerLevel(each.name, each.value or "") for each in values]
    return Loggers(broker, search, list(LEVELS), matching(levels, search, lambda each: each.name))


async def set_level(call: Call) -> Changed:
    broker, name = call.text("broker"), call.text("name")
    level = None if call.flag("unset") else call.text("level")
    if level == "":
        raise BadValue("level is missing.", "level")
    await registered_broker(call.cluster, broker)
    await alter_configs(call.cluster, ResourceType.BROKER_LOGGER, broker, {name: level})
    done = f"{name} of broker {broker} logs at {level} now." if level is not None else f"{name} of broker {broker} has the root's level."
    return Changed(done, call.url("brokers", broker, "loggers", search=call.text("search")))


async def _resource(client: ClusterClient, broker: str) -> str:
    """The name of the resource: Kafka's name for all brokers is empty."""
    if broker == ALL:
        return ""
    return str((await registered_broker(client, broker)).id)


_NAME: Final = Parameter("name", "The setting.", required=True)
_VALUE: Final = Parameter("value", "The new value.", default="", maximum=100_000)
_UNSET: Final = Parameter("unset", "Take the value of the next place: all brokers, the file, or the default.", bool, False)

OPERATIONS: Final = (
    view(
        "show_broker_settings",
        "/clusters/{cluster}/brokers/{broker}/settings",
        show_settings,
        summary="Settings of a broker, or those of all brokers: values, their sources and what they do.",
        page="brokers/settings.html",
        parameters=(SEARCH, Parameter("changed_only", "Only settings that were changed at run time.", bool, False)),
    ),
    view(
        "preview_broker_setting",
        "/clusters/{cluster}/brokers/{broker}/settings/change",
        preview_setting,
        summary="What a change of a setting would do at each broker, without making it.",
        page="brokers/change.html",
        parameters=(_NAME, _VALUE, _UNSET),
    ),
    change(
        "set_broker_setting",
        "/clusters/{cluster}/brokers/{broker}/settings",
        set_setting,
        summary="Set or unset a setting of a broker, or of all brokers, at run time.",
        parameters=(_NAME, _VALUE, _UNSET),
    ),
    view(
        "show_broker_loggers",
        "/clusters/{cluster}/brokers/{broker}/loggers",
        show_loggers,
        summary="Loggers of a broker and their levels.",
        page="brokers/loggers.html",
        parameters=(SEARCH,),
    ),
    change(
        "set_broker_logger",
        "/clusters/{cluster}/brokers/{broker}/loggers",
        set_level,
        summary="Set the level of a logger of a broker until it restarts.",
        parameters=(
            Parameter("name", "The logger.", required=True),
            Parameter("level", "The new level.", default="", choices=LEVELS),
            Parameter("unset", "Take the level of the root logger again.", bool, False),
            SEARCH,
        ),
    ),
)
