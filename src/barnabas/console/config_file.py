"""The file of a console, in YAML.

    listen: 127.0.0.1:8088
    login: users            # none, users, oidc, header
    read_only: false
    audit_file: audit.jsonl
    clusters:
      orders:
        bootstrap: kafka-1:9092,kafka-2:9092
        properties: {security.protocol: sasl_ssl, sasl.mechanism: SCRAM-SHA-512}
        properties_file: orders.properties   # Java's names or librdkafka's
        production: true
        colour: red
        registry: http://registry:8081
        metrics: [http://kafka-1:9464/metrics, http://kafka-2:9464/metrics]
        decoders:
          legacy-orders: {value: schema, value_subject: orders-value, key: number}
          sensor.*: {value: schema, value_subject: sensors, value_message: acme.Reading}

    oidc:                   # for login: oidc
      issuer: https://login.example/realms/main
      client_id: console
      client_secret_file: console.secret
      redirect_url: https://console.example/login/callback
    header:                 # for login: header
      name: X-Forwarded-User
      trusted_proxies: [10.0.0.0/8]
    otlp:                   # pushes the metrics of the console
      endpoint: http://collector:4318/v1/metrics
      headers: authorization=Bearer abc
      interval_ms: 15000

A name that the file does not know is an error: a misspelt ``read_only`` must not open a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from barnabas.client_settings.client_file import read_client_file
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.fetched_values import with_fetched_values
from barnabas.client_settings.java_names import for_librdkafka
from barnabas.config.addresses import host_and_port
from barnabas.config.http_endpoint import header_pairs
from barnabas.console.core.decoding.decoder_choice import CHOICES, SCHEMA, DecoderChoice, TopicDecoders
from barnabas.console.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    REGISTRY_LOGINS,
    ClusterSettings,
    ConsoleSettings,
    HeaderSettings,
    LoginMode,
    OidcSettings,
    OtlpSettings,
)

_TOP: Final = {
    "listen": str,
    "login": str,
    "read_only": bool,
    "audit_file": str,
    "certificate_file": str,
    "key_file": str,
    "public_hosts": list,
    "sql": bool,
    "clusters": dict,
    "oidc": dict,
    "header": dict,
    "otlp": dict,
}
_OIDC: Final = {
    "issuer": str,
    "client_id": str,
    "client_secret": str,
    "client_secret_file": str,
    "redirect_url": str,
    "scopes": list,
    "principal_claim": str,
    "audience": str,
}
_OTLP: Final = {"endpoint": str, "headers": str, "interval_ms": int}
_HEADER: Final = {"name": str, "trusted_proxies": list, "token_name": str}
_CLUSTER: Final = {
    "bootstrap": str,
    "properties": dict,
    "properties_file": str,
    "production": bool,
    "colour": str,
    "read_only": bool,
    "registry": str,
    "registry_login": str,
    "pipelines": str,
    "pipelines_start": bool,
    "metrics": list,
    "decoders": dict,
}
_DECODERS: Final = {f"{part}{name}": str for part in ("key", "value") for name in ("", "_subject", "_message")}


def read_config_file(path: Path) -> ConsoleSettings:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsRefused(f"{path} is no YAML: {' '.join(str(error).split())}.") from error
    return console_settings(read, path.parent)


def console_settings(read: Any, directory: Path) -> ConsoleSettings:
    """``directory`` is that of the file, where other files that it names are looked for."""
    given = _checked(read, _TOP, "The file of the console")
    host, port = listen_address(given.get("listen", f"{DEFAULT_HOST}:{DEFAULT_PORT}"))
    return ConsoleSettings(
        clusters=tuple(_cluster(str(name), each, directory) for name, each in given.get("clusters", {}).items()),
        host=host,
        port=port,
        login=login_mode(given.get("login", "none")),
        oidc=_oidc(given["oidc"], directory) if "oidc" in given else None,
        header=_header(given["header"]) if "header" in given else None,
        read_only=given.get("read_only", False),
        audit_file=given.get("audit_file"),
        certificate_file=given.get("certificate_file"),
        key_file=given.get("key_file"),
        public_hosts=tuple(str(each) for each in given.get("public_hosts", [])),
        sql=given.get("sql", True),
        otlp=_otlp(given["otlp"]) if "otlp" in given else None,
    )


def listen_address(text: str) -> tuple[str, int]:
    place = host_and_port(text)
    if place is None:
        raise SettingsRefused(f"The console listens on HOST:PORT, such as 127.0.0.1:{DEFAULT_PORT}, and not on {text!r}.")
    return place[0] or DEFAULT_HOST, place[1]


def login_mode(text: str) -> LoginMode:
    try:
        return LoginMode(text)
    except ValueError:
        known = ", ".join(each.value for each in LoginMode)
        raise SettingsRefused(f"The login of the console is one of {known}, and not {text!r}.") from None


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """With librdkafka's names, and with the values that references stand for."""
    return dict(for_librdkafka(with_fetched_values(properties)).properties)


def _cluster(name: str, read: Any, directory: Path) -> ClusterSettings:
    given = _checked(read, _CLUSTER, f"The cluster {name}")
    if "bootstrap" not in given:
        raise SettingsRefused(f"The cluster {name} has no bootstrap.")
    file = given.get("properties_file")
    properties = {
        **(read_client_file(directory / file) if file is not None else {}),
        **{str(key): _text(value) for key, value in given.get("properties", {}).items()},
    }
    return ClusterSettings(
        name=name,
        bootstrap=given["bootstrap"],
        properties=client_properties({key: value for key, value in properties.items() if key != "bootstrap.servers"}),
        production=given.get("production", False),
        colour=given.get("colour"),
        read_only=given.get("read_only", False),
        registry=given.get("registry"),
        registry_login=given.get("registry_login", REGISTRY_LOGINS[0]),
        pipelines=str((directory / given["pipelines"]).absolute()) if "pipelines" in given else None,
        pipelines_start=given.get("pipelines_start", False),
        metrics=tuple(str(each) for each in given.get("metrics", [])),
        decoders={str(topic): _decoders(str(topic), each) for topic, each in given.get("decoders", {}).items()},
    )


def _decoders(topic: str, read: Any) -> TopicDecoders:
    given = _checked(read, _DECODERS, f"The decoders of {topic}")

    def choice(part: str) -> DecoderChoice:
        name = given.get(part, SCHEMA if f"{part}_subject" in given else "auto")
        if name not in CHOICES:
            raise SettingsRefused(f"The decoder of the {part} of {topic} is one of {', '.join(CHOICES)}, and not {name!r}.")
        if name == "detect":
            name = "auto"
        return DecoderChoice(name, given.get(f"{part}_subject", ""), given.get(f"{part}_message", ""))

    return TopicDecoders(choice("key"), choice("value"))


def _oidc(read: Any, directory: Path) -> OidcSettings:
    given = _checked(read, _OIDC, "The settings of oidc")
    for name in ("issuer", "client_id", "redirect_url"):
        if name not in given:
            raise SettingsRefused(f"The settings of oidc have no {name}.")
    file = given.get("client_secret_file")
    try:
        secret = given.get("client_secret", "") if file is None else (directory / file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    return OidcSettings(
        issuer=given["issuer"].rstrip("/"),
        client_id=given["client_id"],
        client_secret=secret,
        redirect_url=given["redirect_url"],
        scopes=tuple(map(str, given.get("scopes", ("openid", "profile")))),
        principal_claim=given.get("principal_claim", "sub"),
        audience=given.get("audience"),
    )


def _otlp(read: Any) -> OtlpSettings:
    given = _checked(read, _OTLP, "The settings of otlp")
    if "endpoint" not in given:
        raise SettingsRefused("The settings of otlp have no endpoint.")
    return OtlpSettings(given["endpoint"], otlp_headers(given.get("headers")), given.get("interval_ms", OtlpSettings("").interval_ms))


def otlp_headers(text: str | None) -> dict[str, str]:
    pairs = header_pairs(text)
    if pairs is None:
        raise SettingsRefused("The headers of otlp are name=value pairs with commas between them.")
    return pairs


def _header(read: Any) -> HeaderSettings:
    given = _checked(read, _HEADER, "The settings of header")
    if "name" not in given:
        raise SettingsRefused("The settings of header have no name.")
    return HeaderSettings(given["name"], tuple(map(str, given.get("trusted_proxies", []))), given.get("token_name"))


def _checked(read: Any, known: Mapping[str, type], subject: str) -> dict[str, Any]:
    if not isinstance(read, dict):
        raise SettingsRefused(f"{subject} is a mapping of names to values.")
    for name, value in read.items():
        if name not in known:
            raise SettingsRefused(f"{subject} has no setting {name!r}; it has {', '.join(known)}.")
        if not isinstance(value, known[name]):
            raise SettingsRefused(f"{subject}: {name} is a {known[name].__name__}, and not {value!r}.")
    return dict(read)


def _text(value: Any) -> str:
    """YAML reads ``true`` as a boolean; properties are text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
