"""Settings in environment variables: ``KAFKA_LOG_DIRS`` is ``log.dirs``, as in Kafka's container
images.

An underscore stands for a dot, two for a dash, three for an underscore. Programs share an
environment: other programs, Kafka's own start scripts and Kubernetes also set variables that begin
with ``KAFKA_`` and are not meant for this node. So the name decides how a variable is treated, and
only settings can stop a node:

============  ===============================================================================
setting       the name belongs to a setting; an invalid value stops the node
start script  a variable of Kafka's start scripts or images, mostly for the JVM; no effect
service link  injected by Kubernetes and Docker for a Service or container kafka or kafka-ui;
              ignored
unknown       any other name, perhaps a misspelt setting; the node warns once and starts
============  ===============================================================================

An unknown name in a file or after ``--override`` still stops the node, because both are written for
this node alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.parse import is_of_kafka_3, names_a_setting
from barnabas.model.dataclass import dataclass

PREFIX: Final = "KAFKA_"

# Kafka's bin/*.sh read these, and the images apache/kafka and cp-kafka do not treat them as
# settings either.
START_SCRIPT_VARIABLES: Final = frozenset(
    {
        "KAFKA_DEBUG",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPT",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JARS",  # used by Barnabas's own tests
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_CMD_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
# For a Service ``kafka-ui`` in the namespace of a pod: KAFKA_UI_SERVICE_HOST,
# KAFKA_UI_SERVICE_PORT, KAFKA_UI_SERVICE_PORT_HTTP (one for each named port),
# KAFKA_UI_PORT=tcp://10.0.0.1:80 and KAFKA_UI_PORT_80_TCP with _PROTO, _PORT and _ADDR.
_SERVICE_LINK: Final = re.compile(
    r"KAFKA_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_SERVICE_PORT: Final = re.compile(r"KAFKA_(?:\w+_)?PORT")
_SERVICE_ADDRESS: Final = re.compile(r"(?:tcp|udp|sctp)://")
# Only a typing mistake deserves a suggestion. At difflib's usual 0.6, the suggestion for
# KAFKA_BOOTSTRAP_SERVERS would be a setting of the quorum.
_MISSPELT_RATIO_MIN: Final = 0.85


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """The contents of the variables that begin with ``KAFKA_``, sorted by kind."""

    properties: Mapping[str, str]
    variables: Mapping[str, str]
    """The variable that each of :attr:`properties` comes from."""
    start_script: tuple[str, ...]
    unknown: tuple[str, ...]
    """Names of variables, some of them followed by a remark in parentheses."""


def read_environment(environment: Mapping[str, str], others: Mapping[str, str]) -> EnvironmentSettings:
    """``others`` are the node's settings from other sources: some of them decide which further
    names are settings.
    """
    named = {name: setting_name(name) for name in sorted(environment) if name.startswith(PREFIX)}
    candidates = {setting: environment[name] for name, setting in named.items()}
    properties: dict[str, str] = {}
    variables: dict[str, str] = {}
    start_script: list[str] = []
    unknown: list[str] = []
    for name, setting in named.items():
        if names_a_setting(setting, {**candidates, **others}):
            properties[setting], variables[setting] = environment[name], name
        elif name in START_SCRIPT_VARIABLES:
            start_script.append(name)
        elif not _is_service_link(name, environment[name]):
            unknown.append(name + _remark(setting))
    return EnvironmentSettings(properties, variables, tuple(start_script), tuple(unknown))


def setting_name(variable: str) -> str:
    parts = variable.removeprefix(PREFIX).lower().split("___")
    return "_".join(part.replace("__", "-").replace("_", ".") for part in parts)


def variable_name(setting: str) -> str:
    return PREFIX + setting.replace("_", "___").replace("-", "__").replace(".", "_").upper()


def variables_at_fault(sentence: str, variables: Mapping[str, str]) -> list[str]:
    """Those of :attr:`EnvironmentSettings.variables` whose settings the text of a
    :class:`ConfigError` names.
    """
    return [variable for setting, variable in variables.items() if any(_names(sentence, each) for each in _names_in_sentences(setting))]


def _names_in_sentences(setting: str) -> Iterable[str]:
    yield setting
    if setting.startswith("listener.name."):
        # An error of a listener as a whole names ``listener.name.<listener>``.
        yield ".".join(setting.split(".")[:3])


def _names(sentence: str, setting: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(setting)}(?![\w-]|\.\w)", sentence) is not None


def _is_service_link(name: str, value: str) -> bool:
    if _SERVICE_LINK.fullmatch(name):
        return True
    # Many programs keep a plain number in a variable that ends in _PORT.
    return _SERVICE_PORT.fullmatch(name) is not None and _SERVICE_ADDRESS.match(value) is not None


def _remark(setting: str) -> str:
    if is_of_kafka_3(setting):
        return " (a setting of Kafka 3)"
    from difflib import get_close_matches  # imported late: only a mistake needs it

    closest = get_close_matches(setting, list(BROKER_KEYS), n=1, cutoff=_MISSPELT_RATIO_MIN)
    return f" (did you mean {variable_name(closest[0])}?)" if closest else ""
