"""The page ``docs/configuration.md``, printed from the tables: ``python -m barnabas.config.docs > docs/configuration.md``.

A test compares the page with what this prints, so a changed declaration without its page does not pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS, SUBJECTS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.environment import START_SCRIPT_VARIABLES
from barnabas.config.group_keys import GROUP_KEYS, GroupKey
from barnabas.config.keys import ConfigKey, Effect, EffectKind, Required
from barnabas.config.quota_keys import CLIENT_QUOTA_KEYS, IP_QUOTA_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS, Synonym, TopicKey
from barnabas.config.validators import Between, ListOf, OneOf
from barnabas.config.values import INT_MAX, LONG_MAX

_INTRODUCTION: Final = """\
# Configuration

<!-- Printed by `python -m barnabas.config.docs`; edit the tables in src/barnabas/config instead. -->

Barnabas has Apache Kafka 4.3's own settings: the same names, types, defaults and bounds, in the same `server.properties`.
A node refuses a name that is not a setting and suggests the closest one, where Kafka would silently ignore it.
The environment can set them too: see [below](#settings-in-the-environment).

**Who may change it** says whether a setting can change while nodes run.
A *read-only* setting needs a restart.
A *per-broker* setting can be set on one running broker, a *cluster-wide* setting on one or on all.

**What it does here** tells the truth about each setting:

- *served*: the node behaves as the setting says.
- *no effect*: the node accepts and shows the setting, and it changes nothing.
  The reason says why, or which feature is missing.
- *refused*: any value but the default stops the node with a sentence, because ignoring it would weaken security or change meaning.
"""

_ENVIRONMENT: Final = """\
## Settings in the environment

`barnabas server` also takes settings from environment variables, as Kafka's container images do: `KAFKA_LOG_DIRS` is `log.dirs`.
An underscore stands for a dot, two for a dash, three for an underscore.
A variable overrides the file, and `--override` overrides a variable.

Programs share their environment, so a variable that begins with `KAFKA_` need not be meant for this node:

| variable | what `barnabas server` does |
| --- | --- |
| names a setting | takes it; a value that cannot be used stops the node with a sentence that names the variable |
| belongs to Kafka's start scripts and images | says once, at level INFO, that it has no effect |
| injected by Kubernetes for a Service named `kafka` or `kafka-...` | ignores it |
| any other name | warns once, with all such names and the closest setting where one looks misspelt, and goes on |

These variables belong to Kafka's start scripts and images:

{start_script}

Kubernetes injects {service_link}.

With `--no-environment` no variable counts, whatever its name.
The nodes of `barnabas up` and the brokers of tests (`EmbeddedBroker` and the fixture `kafka`) always run so.
`barnabas up` has `--override` instead, and the brokers of tests have `config`.
`barnabas storage` reads the file and `--override` only.
"""

_SERVICE_LINK: Final = "`KAFKA_PORT=tcp://...`, `KAFKA_SERVICE_HOST`, `KAFKA_SERVICE_PORT`, `KAFKA_PORT_9092_TCP_ADDR` and so on"

_LISTENERS: Final = """\
## Settings of one listener

Some settings can be set for one listener, as `listener.name.<listener>.<setting>` with the listener's name in lower case.
These are all settings of TLS and SASL, and four others:
`max.connections`, `max.connection.creation.rate`, `num.network.threads` and `principal.builder.class`.
Some settings of SASL can also be set for one mechanism, as `listener.name.<listener>.<mechanism>.<setting>`:

- `sasl.jaas.config`
- `sasl.login.class`
- `sasl.login.callback.handler.class`
- `sasl.server.callback.handler.class`
- `connections.max.reauth.ms`
"""

_REMOTE_STORE: Final = """\
## Settings of the remote store

The store of `remote.log.storage.url` may need options: `remote.log.storage.config.<option>`.
The options are those of [obstore](https://developmentseed.org/obstore/) for that kind of store.
For S3 these are for example `region`, `endpoint`, `access_key_id` and `secret_access_key`.
For Azure they are `account_name` and `account_key`, and for Google Cloud Storage `service_account`.
A missing option comes from where the cloud's own tools take it: `AWS_...`, `AZURE_...` and `GOOGLE_...` variables, or the machine's role.
A directory has no options.

The settings of the topic `__remote_log_metadata` are Kafka's:

- `rlmm.config.remote.log.metadata.topic.num.partitions`
- `rlmm.config.remote.log.metadata.topic.replication.factor`
- `rlmm.config.remote.log.metadata.topic.min.isr`
- `rlmm.config.remote.log.metadata.topic.retention.ms`
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
    parts += [_broker_table(f"## {title}", keys) for title, keys in SUBJECTS.items()]
    parts.append(
        _broker_table(
            "## On a running broker only\n\nA file cannot have these; set them with `kafka-configs` on a broker or on all.",
            DYNAMIC_ONLY_KEYS.values(),
        )
    )
    start_script = "\n".join(f"- `{name}`" for name in sorted(START_SCRIPT_VARIABLES))
    parts += [
        _ENVIRONMENT.format(start_script=start_script, service_link=_SERVICE_LINK),
        _LISTENERS,
        _REMOTE_STORE,
        _topic_table(),
        _group_table(),
        _client_metrics_table(),
        _quota_table(),
    ]
    return "\n".join(parts)


def _summary() -> str:
    kinds = Counter(key.effect.kind for key in BROKER_KEYS.values())
    counts = ", ".join(f"{kinds[kind]} are {_KIND_WORDS[kind]}" for kind in EffectKind)
    return f"Of {len(BROKER_KEYS)} settings of a node, {counts}.\n"


def _broker_table(heading: str, keys: Iterable[ConfigKey]) -> str:
    rows = ([*_first_cells(key), key.scope.value, _effect(key.effect), _doc(key)] for key in keys)
    return _table(heading, ["setting", "type", "default", "who may change it", "what it does here", "meaning"], rows)


def _topic_table() -> str:
    heading = (
        "## Topics\n\nA topic that does not set one of these takes it from the broker."
        "\nThe column *from the broker* lists the broker's settings; the first one with a value counts."
    )
    rows = ([*_first_cells(key), _effect(key.effect), _synonyms(key), _doc(key)] for key in TOPIC_KEYS.values())
    return _table(heading, ["setting", "type", "default", "what it does here", "from the broker", "meaning"], rows)


def _group_table() -> str:
    heading = "## Groups\n\nA group that does not set one of these takes it from the broker."
    rows = ([*_first_cells(key), _effect(key.effect), _synonym(key), _doc(key)] for key in GROUP_KEYS.values())
    return _table(heading, ["setting", "type", "default", "what it does here", "from the broker", "meaning"], rows)


def _client_metrics_table() -> str:
    return _plain_table("## Client metrics\n\nThe settings of a subscription to clients' metrics.", CLIENT_METRICS_KEYS)


def _quota_table() -> str:
    heading = "## Quotas of users, clients and addresses\n\nSet with `kafka-configs` on users, clients or ips; unset means no limit."
    return _plain_table(heading, {**CLIENT_QUOTA_KEYS, **IP_QUOTA_KEYS})


def _plain_table(heading: str, keys: Mapping[str, ConfigKey]) -> str:
    rows = ([*_first_cells(key), _effect(key.effect), _doc(key)] for key in keys.values())
    return _table(heading, ["setting", "type", "default", "what it does here", "meaning"], rows)


def _table(heading: str, columns: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heading, "", _row(columns), _row(["---"] * len(columns)), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _first_cells(key: ConfigKey) -> list[str]:
    return [f"`{key.name}`", _type(key), _default(key)]


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
        return "*required*"
    shown = key.render(key.default)
    if shown is None:
        return "*unset*"
    if shown == "":
        return "*empty*"
    hint = _hint(key.name, key.default) if isinstance(key.default, int) else ""
    return f"`{shown}` ({hint})" if hint else f"`{shown}`"


def _hint(name: str, number: int) -> str:
    """What a large number means to a person: 604800000 milliseconds are a week, 1073741824 bytes a GiB."""
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


def _synonyms(key: TopicKey) -> str:
    return ", ".join(map(_one_synonym, key.synonyms)) or "-"


def _one_synonym(synonym: Synonym) -> str:
    return f"`{synonym.broker_key}`{f' x {synonym.multiplier}' if synonym.multiplier > 1 else ''}"


def _synonym(key: GroupKey) -> str:
    return f"`{key.synonym}`" if key.synonym else "-"


if __name__ == "__main__":
    print(page(), end="")
