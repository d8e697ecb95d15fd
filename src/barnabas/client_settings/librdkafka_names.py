"""librdkafka's names of client settings, as Java's, for the clients of Spark's connector.

Names of Java's pass unchanged and win over what a name of librdkafka's becomes. Java ignores names
that it does not know, so librdkafka's other names may stay.

Java takes a private key and its certificate from one PEM file, or as text in two settings. Two
files, as librdkafka has them, therefore become text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from barnabas.client_settings.bearer_token import TOKEN, TOKEN_FILE
from barnabas.client_settings.delegation_token import BY_TOKEN, is_by_token
from barnabas.client_settings.errors import SettingsRefused

_PACKAGE: Final = "org.apache.kafka.common.security"
_LOGIN_MODULES: Final = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
}
_BEARER_MODULE: Final = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule"
_BEARER_HANDLER: Final = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginCallbackHandler"
_JAAS: Final = "sasl.jaas.config"
# Names that become others below.
_CONSUMED: Final = frozenset(
    {
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.scope",
        TOKEN,
        TOKEN_FILE,
        BY_TOKEN,
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
        "enable.ssl.certificate.verification",
    }
)


def for_java(given: Mapping[str, str]) -> dict[str, str]:
    """Raises :class:`SettingsRefused` for a setting that Java's clients have nothing like."""
    made = {name: value for name, value in given.items() if name not in _CONSUMED}
    if "security.protocol" in made:
        made["security.protocol"] = made["security.protocol"].upper()
    if made.get("ssl.endpoint.identification.algorithm", "").lower() == "none":
        made["ssl.endpoint.identification.algorithm"] = ""
    if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
        raise SettingsRefused("Spark's clients always verify certificates, so enable.ssl.certificate.verification cannot be false.")
    return {**_login(given), **_trusted(given), **_identity(given), **made}


def _login(given: Mapping[str, str]) -> dict[str, str]:
    mechanism = given.get("sasl.mechanism") or given.get("sasl.mechanisms")
    made = {} if mechanism is None else {"sasl.mechanism": mechanism}
    if _JAAS in given:
        return made
    if (mechanism or "").upper() == "OAUTHBEARER":
        return made | _bearer_login(given)
    if "sasl.username" in given:
        module = _LOGIN_MODULES.get((mechanism or "").upper(), _LOGIN_MODULES["PLAIN"])
        options = {"username": given["sasl.username"], "password": given.get("sasl.password", "")}
        if is_by_token(given):
            options["tokenauth"] = "true"
        made[_JAAS] = _jaas(module, options)
    return made


def _bearer_login(given: Mapping[str, str]) -> dict[str, str]:
    if TOKEN in given:
        raise SettingsRefused(f"Spark's clients read a token from a file: give {TOKEN_FILE} in place of {TOKEN}.")
    names = {"clientId": "client.id", "clientSecret": "client.secret", "scope": "scope"}
    options = {java: given[f"sasl.oauthbearer.{ours}"] for java, ours in names.items() if f"sasl.oauthbearer.{ours}" in given}
    made = {_JAAS: _jaas(_BEARER_MODULE, options), "sasl.login.callback.handler.class": _BEARER_HANDLER}
    if TOKEN_FILE in given:
        made["sasl.oauthbearer.token.endpoint.url"] = Path(given[TOKEN_FILE]).absolute().as_uri()
    return made


def _jaas(module: str, options: Mapping[str, str]) -> str:
    words = [module, "required", *(f'{name}="{_escaped(value)}"' for name, value in options.items())]
    return " ".join(words) + ";"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _trusted(given: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.location" in given or "ssl.truststore.certificates" in given:
        return {}
    if "ssl.ca.pem" in given:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
    location = given.get("ssl.ca.location")
    if location is None or location == "probe":
        return {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}


def _identity(given: Mapping[str, str]) -> dict[str, str]:
    location = given.get("ssl.keystore.location")
    if location is not None:
        # librdkafka reads PKCS12 alone under this name.
        is_pkcs12 = "ssl.keystore.type" not in given and location.lower().endswith((".p12", ".pfx", ".pkcs12"))
        return {"ssl.keystore.type": "PKCS12"} if is_pkcs12 else {}
    certificate, key = given.get("ssl.certificate.location"), given.get("ssl.key.location")
    if certificate is not None and certificate == key:
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate}
    chain = given.get("ssl.certificate.pem") or _text_of(certificate)
    private = given.get("ssl.key.pem") or _text_of(key)
    if chain is None or private is None or "ssl.keystore.key" in given:
        return {}
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": private}


def _text_of(location: str | None) -> str | None:
    if location is None:
        return None
    try:
        return Path(location).read_text("ascii")
    except OSError as error:
        raise SettingsRefused(f"{location}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsRefused(f"{location} is not a PEM file.") from error
