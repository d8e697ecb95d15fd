"""The client's side of each login, by the properties that librdkafka takes.

PLAIN and SCRAM have a name and a password, which with SCRAM may be those of a delegation token
(:mod:`barnabas.client_settings.delegation_token`). OAUTHBEARER has a token that
the client has already, or gets one from the provider's endpoint with a client id and secret. GSSAPI
has a keytab, or the ticket of the user; it needs the extra ``barnabas[kerberos]``.

Tokens and tickets are fetched for each connection: a command makes few.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from barnabas.client_settings.bearer_token import has_token, read_token
from barnabas.client_settings.delegation_token import is_by_token
from barnabas.client_settings.errors import SettingsRefused
from barnabas.direct_requests.errors import RequestRefused
from barnabas.security.sasl.exchange import ClientExchange
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram import ScramClient
from barnabas.security.sasl.scram_credentials import ScramMechanism

OAUTHBEARER: Final = "OAUTHBEARER"
GSSAPI: Final = "GSSAPI"
_SCRAM: Final = {each.title: each for each in ScramMechanism}
_NONCE_BYTES: Final = 24
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_GRANT: Final = "sasl.oauthbearer.grant.type"
# librdkafka's defaults.
_SERVICE: Final = "kafka"


def mechanism_of(properties: Mapping[str, str]) -> str:
    return (properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or GSSAPI).upper()


def is_supported(properties: Mapping[str, str]) -> bool:
    match mechanism_of(properties):
        case "OAUTHBEARER":
            return has_token(properties) or _has_endpoint(properties)
        case "GSSAPI":
            return find_spec("gssapi") is not None
        case mechanism:
            return mechanism == "PLAIN" or mechanism in _SCRAM


def client_exchange(properties: Mapping[str, str], host: str) -> ClientExchange:
    """Raises ``RequestRefused`` when there is no token or ticket. May block for as long as an
    identity provider or a KDC needs."""
    match mechanism_of(properties):
        case "OAUTHBEARER":
            return _bearer(properties)
        case "GSSAPI":
            return _kerberos(properties, host)
        case mechanism:
            user, password = properties.get("sasl.username", ""), properties.get("sasl.password", "")
            if mechanism == "PLAIN":
                return PlainClient(user, password)
            nonce = secrets.token_urlsafe(_NONCE_BYTES)
            return ScramClient(_SCRAM[mechanism], user, password, nonce, by_token=is_by_token(properties))


def _bearer(properties: Mapping[str, str]) -> ClientExchange:
    from barnabas.security.sasl.oauthbearer import OAuthBearerClient

    try:
        token = read_token(properties).text if has_token(properties) else _token_of_endpoint(properties)
        return OAuthBearerClient(token)
    except (SettingsRefused, ValueError) as error:
        raise RequestRefused(str(error)) from error


def _has_endpoint(properties: Mapping[str, str]) -> bool:
    """Whether a client id and secret get a token there. Signed assertions are left to
    librdkafka."""
    return _ENDPOINT in properties and properties.get(_GRANT, "client_credentials") == "client_credentials"


def _token_of_endpoint(properties: Mapping[str, str]) -> str:
    from barnabas.network.oauth.fetching import SCHEMES, Fetch, FetchFailed, fetched
    from barnabas.network.oauth.token_source import client_credentials, token_in_answer

    url = properties[_ENDPOINT]
    if url.partition(":")[0] not in SCHEMES - {"file"}:
        raise RequestRefused(f"{_ENDPOINT} must be a URL with http or https.")
    client_id, secret = _credential(properties, "id"), _credential(properties, "secret")
    if not client_id or not secret:
        raise RequestRefused(f"{_ENDPOINT} needs sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret.")
    body, headers = client_credentials(client_id, secret, properties.get("sasl.oauthbearer.scope"))
    try:
        found = token_in_answer(fetched(Fetch(url, body, headers, tls=_provider_tls(properties))))
    except FetchFailed as failed:
        raise RequestRefused(f"There is no token for the login: {failed}.") from failed
    if found is None:
        raise RequestRefused(f"There is no token for the login: {url} answered without one.")
    return found[0]


def _credential(properties: Mapping[str, str], part: str) -> str | None:
    """Both names are librdkafka's."""
    return properties.get(f"sasl.oauthbearer.client.credentials.client.{part}") or properties.get(f"sasl.oauthbearer.client.{part}")


def _provider_tls(properties: Mapping[str, str]) -> ssl.SSLContext | None:
    """None trusts the certificates of the system."""
    place, text = properties.get("https.ca.location"), properties.get("https.ca.pem")
    if text is None and place in (None, "probe"):
        return None
    try:
        return ssl.create_default_context(cafile=place if text is None else None, cadata=text)
    except OSError as error:
        raise RequestRefused(f"https.ca.location cannot be read: {error.strerror or error}.") from error


def _kerberos(properties: Mapping[str, str], host: str) -> ClientExchange:
    from barnabas.network.kerberos.contexts import KerberosIdentity, initiate
    from barnabas.security.sasl.gssapi import GssFailure

    keytab, service = properties.get("sasl.kerberos.keytab"), properties.get("sasl.kerberos.service.name", _SERVICE)
    try:
        return initiate(KerberosIdentity(properties.get("sasl.kerberos.principal"), keytab), service, host)
    except GssFailure as failure:
        raise RequestRefused(f"Kerberos gives no ticket for {service}@{host}: {failure}.") from failure
