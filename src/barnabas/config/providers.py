"""Values from elsewhere: ``${file:/etc/secrets.properties:password}`` in a properties file.

    config.providers=file,env,directory
    config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.file.param.allowed.paths=/etc/secrets

A *reference* names a provider, a path and a key. Three of Kafka's providers are known, by the names
of their Java classes; any other class is refused, because it cannot be loaded here.

==========================  =====================  ==============================================
class                       reference              value
==========================  =====================  ==============================================
``FileConfigProvider``      ``${p:/file:key}``     the key's value in a properties file
``DirectoryConfigProvider`` ``${p:/dir:name}``     the whole content of a file in a directory
``EnvVarConfigProvider``    ``${p:NAME}``          an environment variable
==========================  =====================  ==============================================

The parameter ``allowed.paths`` bounds the first two, and ``allowlist.pattern`` the third.
References to names that are no provider stay as they are, as in Kafka. Kafka also keeps the text of
a reference whose file or key is missing, and then uses that text as a password; here it is an
error. Errors have the reference and never a value.

Values are resolved when the node or the command starts, and a value is not searched for further
references. Settings of listeners that change at run time may have references too: the metadata log
keeps the reference, and each broker resolves it with the providers of its own file. This module
reads nothing: :class:`Sources` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Final, Protocol

from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.model.dataclass import dataclass

PROVIDERS: Final = "config.providers"
_REFERENCE: Final = re.compile(r"\$\{([^}:]*):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE: Final = "org.apache.kafka.common.config.provider."


class Sources(Protocol):
    """The system, as the providers see it."""

    def text(self, path: str) -> str:
        """The content of a file. Raises ``OSError``, or ``UnicodeDecodeError``."""

    def real_path(self, path: str) -> str:
        """The absolute path without symbolic links."""

    def variable(self, name: str) -> str | None: ...


class Kind(Enum):
    FILE = "FileConfigProvider"
    DIRECTORY = "DirectoryConfigProvider"
    ENVIRONMENT = "EnvVarConfigProvider"


@dataclass(frozen=True, slots=True)
class Provider:
    kind: Kind
    allowed_paths: tuple[str, ...] = ()  # empty: every path
    allowed_names: re.Pattern[str] | None = None  # None: every variable


def resolve(raw: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """The settings with every reference replaced by its value. Raises ``ConfigError``."""
    providers = _providers(raw)
    if not providers:
        return dict(raw)
    files: dict[str, Mapping[str, str]] = {}

    def value_of(setting: str, found: re.Match[str]) -> str:
        provider = providers.get(found[1])
        if provider is None:
            return found[0]
        try:
            return _read(provider, found[2] or "", found[3], sources, files)
        except _Missing as missing:
            raise ConfigError(f"{setting} refers to {found[0]}, but {missing}.") from None

    return {name: value if name.startswith(PROVIDERS) else _REFERENCE.sub(partial(value_of, name), value) for name, value in raw.items()}


def provider_settings(settings: BrokerSettings) -> dict[str, str]:
    """The part of a node's settings that :func:`resolve` needs to know the providers."""
    return {
        PROVIDERS: ",".join(settings.strings(PROVIDERS)),
        **{name: text for name, text in settings.of_plugins.items() if name.startswith(f"{PROVIDERS}.")},
    }


class _Missing(Exception):
    """The rest of a sentence."""


def _providers(raw: Mapping[str, str]) -> dict[str, Provider]:
    names = [name.strip() for name in raw.get(PROVIDERS, "").split(",") if name.strip()]
    return {name: _provider(name, raw) for name in names}


def _provider(name: str, raw: Mapping[str, str]) -> Provider:
    prefix = f"{PROVIDERS}.{name}"
    given = raw.get(f"{prefix}.class")
    if given is None:
        raise ConfigError(f"{PROVIDERS} names the provider {name}, so {prefix}.class must be set.")
    kind = next((kind for kind in Kind if given == f"{_PACKAGE}{kind.value}"), None)
    if kind is None:
        known = ", ".join(f"{_PACKAGE}{each.value}" for each in Kind)
        raise ConfigError(f"{prefix}.class is {given}, but only these classes have an equivalent here: {known}.")
    if kind is Kind.ENVIRONMENT:
        return Provider(kind, allowed_names=_pattern(f"{prefix}.param.allowlist.pattern", raw))
    allowed = raw.get(f"{prefix}.param.allowed.paths", "")
    paths = tuple(path.strip() for path in allowed.split(",") if path.strip())
    for path in paths:
        if not path.startswith("/"):
            raise ConfigError(f"{prefix}.param.allowed.paths has the path {path}, but paths must be absolute.")
    return Provider(kind, allowed_paths=paths)


def _pattern(name: str, raw: Mapping[str, str]) -> re.Pattern[str] | None:
    if name not in raw:
        return None
    try:
        return re.compile(raw[name])
    except re.error as error:
        raise ConfigError(f"{name} is not a regular expression: {error}.") from error


def _read(provider: Provider, path: str, key: str, sources: Sources, files: dict[str, Mapping[str, str]]) -> str:
    if provider.kind is Kind.ENVIRONMENT:
        return _variable(provider, path, key, sources)
    if not path:
        raise _Missing("a path is missing")
    full = f"{path}/{key}" if provider.kind is Kind.DIRECTORY else path
    if provider.kind is Kind.DIRECTORY and ("/" in key or key in ("", ".", "..")):
        raise _Missing(f"{key!r} is not the name of a file")
    if provider.allowed_paths and not _within(sources.real_path(full), provider.allowed_paths, sources):
        raise _Missing("its allowed.paths do not have this path")
    if provider.kind is Kind.DIRECTORY:
        return _text(full, sources)
    if path not in files:
        files[path] = read_properties(_text(path, sources))
    if key not in files[path]:
        raise _Missing(f"{path} has no key {key!r}")
    return files[path][key]


def _variable(provider: Provider, path: str, name: str, sources: Sources) -> str:
    if path:
        raise _Missing("the environment has no paths")
    if provider.allowed_names is not None and not provider.allowed_names.fullmatch(name):
        raise _Missing("its allowlist.pattern does not have this name")
    value = sources.variable(name)
    if value is None:
        raise _Missing("there is no such environment variable")
    return value


def _within(path: str, allowed: tuple[str, ...], sources: Sources) -> bool:
    return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in map(sources.real_path, allowed))


def _text(path: str, sources: Sources) -> str:
    try:
        return sources.text(path)
    except OSError as error:
        raise _Missing(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _Missing(f"{path} is not UTF-8") from None
