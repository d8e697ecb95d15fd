"""Where the registry is, and how a client logs in.

The names are those of Confluent's clients, with or without the prefix ``schema.registry.`` that
they have in the settings of a Kafka client:

====================================================  ==========================================
name                                                  meaning
====================================================  ==========================================
``url``                                               addresses, separated by commas
``basic.auth.user.info``                              ``name:password``
``basic.auth.credentials.source``                     ``USER_INFO``, ``URL`` or ``SASL_INHERIT``
``bearer.auth.token``                                 a token
``ssl.ca.location``, ``ssl.truststore.location``      trusted authorities: PEM, or PKCS12
``ssl.certificate.location``, ``ssl.key.location``    the client's certificate and key: PEM
``ssl.keystore.location``                             both in one file: PEM, or PKCS12
``http.connect.timeout.ms``, ``http.read.timeout.ms``  Java's timeouts; ``timeout`` is Python's
``cache.capacity``, ``cache.latest.ttl.sec``          bounds of the caches
====================================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from barnabas.registry_client.errors import RegistrySettingsRefused

PREFIX: Final = "schema.registry."

# To open a connection to one instance. A registry is near its clients.
CONNECT_SECONDS_MAX: Final = 5.0
# For the answer of one instance. A registry waits up to a minute for Kafka when it writes, but a
# serializer should rather fail than stand still for so long.
ANSWER_SECONDS_MAX: Final = 15.0
# Schemas that are kept: more than a large organisation has in one program.
CACHE_ENTRIES_MAX: Final = 1_000
# How long the latest version of a subject is taken for the latest.
LATEST_SECONDS_MAX: Final = 60.0

_SOURCES: Final = frozenset({"USER_INFO", "URL", "SASL_INHERIT"})
# Ways to log in that only other clients know. A request without the login would be refused, and
# the refusal would not say why.
_IMPOSSIBLE: Final = ("bearer.auth.issuer.endpoint.url", "bearer.auth.custom.provider.class", "bearer.auth.client.id")


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    urls: tuple[str, ...]
    login: tuple[str, str] | None = field(default=None, repr=False)
    """A name and a password."""
    token: str | None = field(default=None, repr=False)
    trusted: str | None = None
    """The file of the authorities whose certificates are trusted."""
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    keystore: str | None = None
    """A file with the client's certificate and its key."""
    trusted_password: str | None = field(default=None, repr=False)
    keystore_password: str | None = field(default=None, repr=False)
    checks_names: bool = True
    """Whether the name of a certificate must be that of the address."""
    connect_seconds: float = CONNECT_SECONDS_MAX
    answer_seconds: float = ANSWER_SECONDS_MAX
    cache_entries: int = CACHE_ENTRIES_MAX
    latest_seconds: float = LATEST_SECONDS_MAX

    def __post_init__(self) -> None:
        if not self.urls:
            raise RegistrySettingsRefused("The settings have no schema.registry.url.")
        for url in self.urls:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise RegistrySettingsRefused(f"The address of a registry is a URL such as http://localhost:8081, and not {url!r}.")

    @classmethod
    def of_url(cls, url: str) -> RegistrySettings:
        return cls.of({"url": url})

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> RegistrySettings:
        """From the settings of a client; those that are not about a registry are left alone.
        Raises :class:`RegistrySettingsRefused`."""
        named = _Named(settings)
        urls, in_url = _without_logins(named.text("url") or "")
        for name in _IMPOSSIBLE:
            if named.text(name) is not None:
                raise RegistrySettingsRefused(f"The setting {name} needs a login at another server, which is not possible here.")
        return cls(
            urls,
            _login(named, in_url, settings),
            named.text("bearer.auth.token"),
            named.text("ssl.ca.location") or named.text("ssl.truststore.location"),
            named.text("ssl.certificate.location"),
            named.text("ssl.key.location"),
            named.text("ssl.key.password"),
            named.text("ssl.keystore.location"),
            named.text("ssl.truststore.password"),
            named.text("ssl.keystore.password"),
            named.text("ssl.endpoint.identification.algorithm") not in ("", "none"),
            named.number("http.connect.timeout.ms", CONNECT_SECONDS_MAX * 1000) / 1000,
            named.number("timeout", named.number("http.read.timeout.ms", ANSWER_SECONDS_MAX * 1000) / 1000),
            int(named.number("cache.capacity", CACHE_ENTRIES_MAX)),
            named.number("cache.latest.ttl.sec", LATEST_SECONDS_MAX),
        )


class _Named:
    """Settings by their short names. ``schema.registry.ssl.ca.location`` is of the registry, and
    ``ssl.ca.location`` beside a prefixed URL is of the brokers."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = settings
        self._prefixed = f"{PREFIX}url" in settings

    def text(self, name: str) -> str | None:
        value = self._settings.get(PREFIX + name)
        # Logins without the prefix are unambiguous: brokers have no such settings.
        if value is None and (not self._prefixed or name.startswith(("basic.auth.", "bearer.auth."))):
            value = self._settings.get(name)
        return str(value) if value is not None else None

    def number(self, name: str, default: float) -> float:
        text = self.text(name)
        if text is None:
            return default
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if number <= 0:
            raise RegistrySettingsRefused(f"The setting {name} is a number above 0, and not {text!r}.")
        return number


def _without_logins(urls: str) -> tuple[tuple[str, ...], tuple[str, str] | None]:
    """The addresses without ``name:password@``, which must not appear in errors; and the login."""
    found, login = [], None
    for url in urls.split(","):
        parts = urlsplit(url.strip())
        if parts.username is not None:
            login = unquote(parts.username), unquote(parts.password or "")
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        if url.strip():
            found.append(urlunsplit(parts).rstrip("/"))
    return tuple(found), login


def _login(named: _Named, in_url: tuple[str, str] | None, settings: Mapping[str, object]) -> tuple[str, str] | None:
    source = named.text("basic.auth.credentials.source")
    if source is not None and source.upper() not in _SOURCES:
        raise RegistrySettingsRefused(f"basic.auth.credentials.source is one of {', '.join(sorted(_SOURCES))}, and not {source!r}.")
    if source is not None and source.upper() == "SASL_INHERIT":
        name, password = settings.get("sasl.username"), settings.get("sasl.password")
        if name is None or password is None:
            raise RegistrySettingsRefused("SASL_INHERIT needs the settings sasl.username and sasl.password.")
        return str(name), str(password)
    given = named.text("basic.auth.user.info")
    if given is None:
        return in_url
    name, colon, password = given.partition(":")
    if not colon:
        raise RegistrySettingsRefused("basic.auth.user.info is a name and a password with a colon between them.")
    return name, password
