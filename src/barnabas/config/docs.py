"""The page ``docs/configuration.md``, printed from the tables.

Regenerate it with ``python -m barnabas.config.docs > docs/configuration.md``.

A test compares the page with the output of this module, so the page cannot go stale.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS, SUBJECTS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.environment import START_SCRIPT_VARIABLES
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigKey, Effect, EffectKind, Required
from barnabas.config.quota_keys import CLIENT_QUOTA_KEYS, IP_QUOTA_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS, Synonym
from barnabas.config.validators import Between, ListOf, OneOf
from barnabas.config.values import INT_MAX, LONG_MAX

_INTRODUCTION: Final = """\
# Configuration

<!-- Printed by `python -m barnabas.config.docs`; edit the tables in src/barnabas/config instead. -->

Barnabas is configured with Apache Kafka 4.3's own settings: the same names, types, defaults and bounds, in the same \
`server.properties`.
A name that is not a setting is refused with the closest one that is, where Kafka would silently ignore it.
The environment can set them too: see [below](#settings-in-the-environment).

Each entry gives the type of the setting, its default, its update mode and its effect.

**Update mode** says whether a setting can change while nodes run: *read-only* needs a restart, *per-broker* can be set on one \
running broker, *cluster-wide* on one or on all.

**Effect** is one of:

- *served*: the node behaves as the setting says.
- *no effect*: the setting is accepted and shown, and changes nothing; the reason follows.
- *refused*: any value but the default stops the node with an error, because ignoring it would weaken security or change semantics.
"""

_ENVIRONMENT: Final = """\
## Settings in the environment

`barnabas server` also takes settings from environment variables, as the container images of Kafka do: `KAFKA_LOG_DIRS` is \
`log.dirs`.
An underscore stands for a dot, two for a dash, three for an underscore.
A variable overrides the file, and `--override` overrides a variable.

Programs share their environment, so a variable that begins with `KAFKA_` need not be meant for this node:

| variable | what `barnabas server` does |
| --- | --- |
| names a setting | uses it; an invalid value stops the node with an error that names the variable |
| {service_link} | ignores it |
| belongs to Kafka's start scripts and images (listed below) | logs once, at level INFO, that it has no effect |
| any other name | warns once, with all such names and the closest setting where one looks misspelt, and starts |

The variables of Kafka's start scripts and images are {start_script}.

With `--no-environment` the node ignores all variables.
The nodes of `barnabas up`, which has `--override`, and the brokers of tests (`EmbeddedBroker` and the fixture `kafka`), which have \
`config`, always ignore them.
`barnabas storage` reads the file and `--override`, and the variables only with `--environment`.
"""

_SERVICE_LINK: Final = (
    "injected by Kubernetes for a Service named `kafka` or `kafka-...`, such as `KAFKA_PORT=tcp://...` or `KAFKA_SERVICE_HOST`"
)

_LISTENERS: Final = """\
## Settings of one listener

Settings of TLS and SASL, `max.connections`, `max.connection.creation.rate`, `num.network.threads` and `principal.builder.class` may \
be set for one listener, as `listener.name.<listener>.<setting>` with the listener's name in lower case.
Of the SASL settings, `sasl.jaas.config`, `sasl.login.class`, `sasl.login.callback.handler.class`, \
`sasl.server.callback.handler.class` and `connections.max.reauth.ms` may also be set for one mechanism, as \
`listener.name.<listener>.<mechanism>.<setting>`.
"""

_REMOTE_STORE: Final = """\
## Settings of the remote store

The store that `remote.log.storage.url` names takes options as `remote.log.storage.config.<option>`: those of \
[obstore](https://developmentseed.org/obstore/) for that kind of store.
For S3 these are for example `region`, `endpoint`, `access_key_id` and `secret_access_key`; for Azure `account_name` and \
`account_key`; for Google Cloud Storage `service_account`.
An option that is not set comes from the same place as for the cloud's own tools: `AWS_...`, `AZURE_...` and `GOOGLE_...` in the \
environment, or the machine's role.
A directory has no options.

The topic `__remote_log_metadata` is configured as in Kafka: `rlmm.config.remote.log.metadata.topic.num.partitions`, \
`...topic.replication.factor`, `...topic.min.isr` and `...topic.retention.ms`.
"""

_KIND_WORDS: Final = {
    EffectKind.SERVED: "served",
    EffectKind.NO_EFFECT: "without effect",
    EffectKind.REFUSED: "refused unless they keep their default",
}
_TIMES: Final = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def page() -> str:
    parts = [_INTRODUCTION, _summary()]
    parts += [_broker_section(f"## {title}", keys) for title, keys in SUBJECTS.items()]
    parts.append(
        _broker_section(
            "## On a running broker only\n\nA configuration file cannot have these; `kafka-configs` sets them on one broker or on all.",
            DYNAMIC_ONLY_KEYS.values(),
        )
    )
    start_script = ", ".join(f"`{name}`" for name in sorted(START_SCRIPT_VARIABLES))
    parts += [
        _ENVIRONMENT.format(start_script=start_script, service_link=_SERVICE_LINK),
        _LISTENERS,
        _REMOTE_STORE,
        _topic_section(),
        _group_section(),
        _client_metrics_section(),
        _quota_section(),
    ]
    return "\n".join(parts)


def _summary() -> str:
    kinds = Counter(key.effect.kind for key in BROKER_KEYS.values())
    counts = ", ".join(f"{kinds[kind]} are {_KIND_WORDS[kind]}" for kind in EffectKind)
    return f"Of {len(BROKER_KEYS)} settings of a node, {counts}.\n"


def _broker_section(heading: str, keys: Iterable[ConfigKey]) -> str:
    return _section(heading, (_entry(key, key.scope.value) for key in keys))


def _topic_section() -> str:
    heading = (
        "## Topics\n\nA topic that does not set one of these takes it from the broker: from the first of the listed settings that"
        " has a value."
    )
    return _section(heading, (_entry(key, _inherited(map(_one_synonym, key.synonyms))) for key in TOPIC_KEYS.values()))


def _group_section() -> str:
    heading = "## Groups\n\nA group that does not set one of these takes it from the broker."
    return _section(heading, (_entry(key, _inherited([f"`{key.synonym}`"] if key.synonym else [])) for key in GROUP_KEYS.values()))


def _client_metrics_section() -> str:
    return _plain_section("## Client metrics\n\nThe settings of a subscription to clients' metrics.", CLIENT_METRICS_KEYS)


def _quota_section() -> str:
    heading = "## Quotas of users, clients and addresses\n\nSet with `kafka-configs` on users, clients or ips; unset means no limit."
    return _plain_section(heading, {**CLIENT_QUOTA_KEYS, **IP_QUOTA_KEYS})


def _plain_section(heading: str, keys: Mapping[str, ConfigKey]) -> str:
    return _section(heading, (_entry(key, "") for key in keys.values()))


def _section(heading: str, entries: Iterable[str]) -> str:
    return "\n".join([heading, "", *entries]) + "\n"


def _entry(key: ConfigKey, more: str) -> str:
    """Two lines: a table would have rows of 250 columns and more."""
    facts = [_type(key), _default(key), more, _effect(key.effect)]
    return f"- `{key.name}`: {'; '.join(filter(None, facts))}.\n  {_doc(key)}"


def _type(key: ConfigKey) -> str:
    name = key.type.name.lower()
    match key.valid:
        case Between():
            return f"{name} {key.valid.words}"
        case OneOf():
            return key.valid.words
        case ListOf(choices=(_, *_)):
            return f"list of {', '.join(key.valid.choices)}"
        case _:
            return name


def _default(key: ConfigKey) -> str:
    if isinstance(key.default, Required):
        return "required"
    shown = key.render(key.default)
    if shown is None:
        return "default unset"
    if shown == "":
        return "default empty"
    hint = _hint(key.name, key.default) if isinstance(key.default, int) else ""
    return f"default `{shown}` ({hint})" if hint else f"default `{shown}`"


def _hint(name: str, number: int) -> str:
    """A large number in larger units: 604800000 milliseconds are 7 days, for example."""
    if number in (INT_MAX, LONG_MAX):
        return "no limit"
    units = _TIMES if name.endswith((".ms", ".millis")) else _SIZES if "bytes" in name or name.endswith(".size") else ()
    for size, unit in units:
        if number >= size and number % size == 0:
            count = number // size
            plural = "s" if units is _TIMES and count > 1 else ""
            return f"{count} {unit}{plural}"
    return ""


def _effect(effect: Effect) -> str:
    return f"{effect.kind.value}: {effect.reason}" if effect.reason else effect.kind.value


def _doc(key: ConfigKey) -> str:
    return f"{key.doc} *Internal.*" if key.internal else key.doc


def _inherited(broker_keys: Iterable[str]) -> str:
    names = ", else ".join(broker_keys)
    return f"from {names}" if names else ""


def _one_synonym(synonym: Synonym) -> str:
    return f"`{synonym.broker_key}`{f' x {synonym.multiplier}' if synonym.multiplier > 1 else ''}"


if __name__ == "__main__":
    print(page(), end="")
