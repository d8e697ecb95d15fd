"""The settings of a console: its clusters, the address it listens on, and the way to log in.

:func:`check` holds the rule of access: without a login the console listens on loopback only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from ipaddress import ip_address, ip_network
from typing import Final

from barnabas.client_settings.bearer_token import TOKEN
from barnabas.client_settings.errors import SettingsRefused
from barnabas.config.http_endpoint import is_http_url
from barnabas.console.core.decoding.decoder_choice import TopicDecoders

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8088
# Names are parts of addresses and of file names.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# The colours have a rule each in the style sheet.
COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "grey")
REGISTRY_LOGINS: Final = ("url", "user")
# The bounds of barnabas.otlp.interval.ms of a node.
_OTLP_MS_MIN: Final = 100
_OTLP_MS_MAX: Final = 3_600_000


class LoginMode(Enum):
    NONE = "none"
    USERS = "users"
    OIDC = "oidc"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    name: str
    bootstrap: str
    # With librdkafka's names. They may hold passwords, which must not appear in a traceback.
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    production: bool = False
    """Every change asks for the name of the cluster."""
    colour: str | None = None
    read_only: bool = False
    registry: str | None = None
    """The URL of the schema registry."""
    registry_login: str = REGISTRY_LOGINS[0]
    """Whose login the registry gets: that of its URL, or that of the person."""
    pipelines: str | None = None
    """A directory with files of pipelines."""
    pipelines_start: bool = False
    """Whether people may run them on the machine of the console."""
    metrics: tuple[str, ...] = ()
    """URLs of the metrics pages of its nodes."""
    decoders: Mapping[str, TopicDecoders] = field(default_factory=dict)
    """By the name of a topic, or its beginning and a star: how records without a schema of their
    own are decoded."""

    @property
    def addresses(self) -> list[str]:
        return [each.strip() for each in self.bootstrap.split(",")]

    @property
    def has_logins(self) -> bool:
        return self.properties.get("security.protocol", "").lower().startswith("sasl_")

    @property
    def has_passwords(self) -> bool:
        """Whether a person can log in with a name and a password. Without a mechanism the console
        tries SCRAM."""
        named = self.properties.keys() & {"sasl.mechanism", "sasl.mechanisms"}
        return self.has_logins and (not named or self.mechanism == "PLAIN" or self.mechanism.startswith("SCRAM"))

    @property
    def mechanism(self) -> str:
        return (self.properties.get("sasl.mechanism") or self.properties.get("sasl.mechanisms") or "GSSAPI").upper()

    @property
    def has_credentials(self) -> bool:
        """Whether the properties log a client in by themselves. A mechanism other than PLAIN and
        SCRAM has more ways to do so than can be listed here, so it counts."""
        mechanism = self.mechanism
        if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
            return "sasl.username" in self.properties
        return mechanism != "OAUTHBEARER" or any(each.startswith("sasl.oauthbearer.") for each in self.properties)

    def registry_credentials(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The login for the registry, as settings of its client; ``properties`` are those of the
        person."""
        name, password, token = properties.get("sasl.username"), properties.get("sasl.password"), properties.get(TOKEN)
        if self.registry_login != "user":
            return {}
        if token is not None:
            return {"bearer.auth.token": token}
        return {"basic.auth.user.info": f"{name}:{password}"} if name is not None and password is not None else {}


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """An identity provider that people log in at, with the authorization code flow."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_url: str
    """The address of the console, as browsers reach it, with /login/callback behind it."""
    scopes: tuple[str, ...] = ("openid", "profile")
    principal_claim: str = "sub"
    audience: str | None = None
    """Asked for with the code, where a provider needs it for tokens that brokers accept."""


@dataclass(frozen=True, slots=True)
class HeaderSettings:
    """A proxy before the console logs people in, and names them in a header."""

    name: str
    trusted_proxies: tuple[str, ...]
    """Addresses and networks. The header of any other machine is refused."""
    token_name: str | None = None
    """A header with a token for OAUTHBEARER."""


@dataclass(frozen=True, slots=True)
class OtlpSettings:
    """An OpenTelemetry collector that gets the metrics of the console."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """They may hold a token."""
    interval_ms: int = 15_000


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    clusters: tuple[ClusterSettings, ...]
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    login: LoginMode = LoginMode.NONE
    oidc: OidcSettings | None = None
    header: HeaderSettings | None = None
    read_only: bool = False
    audit_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    public_hosts: tuple[str, ...] = ()
    """Names under which browsers reach the console, when a proxy stands before it."""
    sql: bool = True
    """Whether people may query topics; each query is a process."""
    otlp: OtlpSettings | None = None

    @property
    def scheme(self) -> str:
        return "https" if self.certificate_file is not None else "http"

    def cluster(self, name: str) -> ClusterSettings | None:
        return next((each for each in self.clusters if each.name == name), None)

    def needs_login(self, cluster: ClusterSettings) -> bool:
        """Also a console without logins asks for one where a cluster has users and the settings
        name none of them."""
        return self.login is not LoginMode.NONE or (cluster.has_logins and not cluster.has_credentials)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check(settings: ConsoleSettings) -> None:
    """Raises :class:`SettingsRefused` with the rule that the settings break."""
    if not settings.clusters:
        raise SettingsRefused("The console has no cluster: name one with --cluster NAME=HOST:PORT.")
    names = [each.name for each in settings.clusters]
    for name in names:
        if NAME.fullmatch(name) is None:
            raise SettingsRefused(f"{name!r} cannot name a cluster: use letters, digits, dots, dashes and underscores.")
        if names.count(name) > 1:
            raise SettingsRefused(f"Two clusters have the name {name}.")
    for each in settings.clusters:
        for url in each.metrics:
            if not url.startswith(("http://", "https://")):
                raise SettingsRefused(f"A metrics page of {each.name} is a URL such as http://kafka-1:9464/metrics, and not {url!r}.")
        if each.colour is not None and each.colour not in COLOURS:
            raise SettingsRefused(f"The colour of {each.name} is one of {', '.join(COLOURS)}, and not {each.colour!r}.")
        if each.registry_login not in REGISTRY_LOGINS:
            raise SettingsRefused(f"registry_login of {each.name} is one of {', '.join(REGISTRY_LOGINS)}, and not {each.registry_login!r}.")
        if settings.login is LoginMode.USERS and not each.has_logins:
            raise SettingsRefused(
                f"People log in as users of the cluster, but {each.name} has no logins: "
                "its security.protocol is neither sasl_plaintext nor sasl_ssl."
            )
    if settings.login is LoginMode.NONE and not is_loopback(settings.host):
        raise SettingsRefused(
            f"{settings.host} can be reached from other machines, and the console has no login: "
            "choose one with --login, or listen on 127.0.0.1."
        )
    _check_login(settings)
    if settings.otlp is not None:
        if not is_http_url(settings.otlp.endpoint):
            raise SettingsRefused(
                f"The endpoint of otlp is a URL such as http://collector:4318/v1/metrics, and not {settings.otlp.endpoint!r}."
            )
        if not _OTLP_MS_MIN <= settings.otlp.interval_ms <= _OTLP_MS_MAX:
            raise SettingsRefused(f"interval_ms of otlp is between {_OTLP_MS_MIN} and {_OTLP_MS_MAX}, and not {settings.otlp.interval_ms}.")
    if (settings.certificate_file is None) != (settings.key_file is None):
        raise SettingsRefused("HTTPS needs both a certificate and a key.")


def _check_login(settings: ConsoleSettings) -> None:
    if settings.login is LoginMode.OIDC:
        if settings.oidc is None:
            raise SettingsRefused("A login with OIDC needs the settings below oidc, in the file of --config.")
        for name, url in (("issuer", settings.oidc.issuer), ("redirect_url", settings.oidc.redirect_url)):
            if not url.startswith(("https://", "http://")):
                raise SettingsRefused(f"{name} of oidc is a URL, and not {url!r}.")
    if settings.login is LoginMode.HEADER:
        if settings.header is None or not settings.header.trusted_proxies:
            raise SettingsRefused("A login by a header needs its name and the trusted_proxies below header, in the file of --config.")
        for each in settings.header.trusted_proxies:
            try:
                ip_network(each)
            except ValueError:
                raise SettingsRefused(f"{each!r} in trusted_proxies is neither an address nor a network.") from None
