"""OAUTHBEARER as the settings of a listener ask for it, on both sides.

Kafka's default, without a class for checking tokens, accepts tokens without a signature. Here a
listener without a key set does not start, unless that class of Kafka's is set by name.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barnabas.config.broker_keys.security_sasl import UNSECURED_LOGIN, UNSECURED_VALIDATOR
from barnabas.config.sasl import SaslSettings
from barnabas.config.settings import BrokerSettings
from barnabas.config.tls import PROTOCOL_VERSIONS, ClientAuth, Store, TlsSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.model.promise import Promise
from barnabas.network.oauth.fetching import FETCH_SECONDS_MAX, SCHEMES, Fetch
from barnabas.network.oauth.token_source import TokenSource, client_credentials
from barnabas.network.peer_connection import Login, LoginFailed
from barnabas.node.sasl_services import SaslServices
from barnabas.security.sasl.bearer_claims import ClaimRules, check_claims
from barnabas.security.sasl.exchange import ClientExchange
from barnabas.security.sasl.jaas import LoginModule
from barnabas.security.sasl.oauthbearer import BearerToken, OAuthBearerClient, TokenRefused, VerifyToken
from barnabas.security.sasl.signing_keys import Unverified
from barnabas.security.sasl.token_cache import OwnToken, TokenCache, TokenUnavailable
from barnabas.security.sasl.unsecured_tokens import make_unsecured_token, unsecured_claims

OAUTHBEARER = "OAUTHBEARER"
_KEYS_URL = "sasl.oauthbearer.jwks.endpoint.url"
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - a setting's name
_EXTENSION = "extension_"
# Options of Kafka's classes for tokens without a signature.
_STRING_CLAIM = "unsecuredLoginStringClaim_"
_UNSECURED_LIFE_SECONDS = 3600


# -- the server's side


def verify_tokens(settings: BrokerSettings, listener: str, services: SaslServices, login: LoginModule | None) -> VerifyToken:
    """``login`` is the JAAS entry of the listener, if it has one. Raises ``CannotStart``."""
    sasl = SaslSettings(settings, listener)
    if sasl.text("sasl.server.callback.handler.class", OAUTHBEARER) == UNSECURED_VALIDATOR:
        return _verify(unsecured_claims, _unsecured_rules(login.options if login is not None else {}), services)
    url = sasl.text(_KEYS_URL)
    if not url:
        raise CannotStart(
            f"the listener {listener} enables OAUTHBEARER, so {_KEYS_URL} must name the keys of the identity provider. "
            f"For development only, sasl.server.callback.handler.class={UNSECURED_VALIDATOR} accepts tokens without a signature."
        )
    source = services.key_source(
        Fetch(_allowed(settings, _KEYS_URL, url), tls=_provider_tls(login), seconds_max=_seconds_max(sasl)),
        refresh_ms=sasl.integer("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        backoff_ms=sasl.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        backoff_ms_max=sasl.integer("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )
    rules = ClaimRules(
        subject_claim=sasl.text("sasl.oauthbearer.sub.claim.name") or "sub",
        scope_claim=sasl.text("sasl.oauthbearer.scope.claim.name") or "scope",
        audiences=sasl.strings("sasl.oauthbearer.expected.audience"),
        issuer=sasl.text("sasl.oauthbearer.expected.issuer"),
        clock_skew_ms=1000 * sasl.integer("sasl.oauthbearer.clock.skew.seconds"),
    )
    return _verify(source.claims, rules, services)


def _verify(read: Callable[[str], Mapping[str, object] | Unverified], rules: ClaimRules, services: SaslServices) -> VerifyToken:
    def verify(token: str) -> BearerToken | TokenRefused:
        claims = read(token)
        return TokenRefused(claims.reason) if isinstance(claims, Unverified) else check_claims(claims, rules, services.clock.wall_ms())

    return verify


def _unsecured_rules(options: Mapping[str, str]) -> ClaimRules:
    """Without options Kafka tolerates no clock skew, since both sides run on one machine."""
    skew = options.get("unsecuredValidatorAllowableClockSkewMs", "0")
    if not skew.isdecimal():
        raise CannotStart("unsecuredValidatorAllowableClockSkewMs must be a number of milliseconds.")
    return ClaimRules(
        subject_claim=options.get("unsecuredValidatorPrincipalClaimName", "sub"),
        scope_claim=options.get("unsecuredValidatorScopeClaimName", "scope"),
        clock_skew_ms=int(skew),
        scopes_required=frozenset(options.get("unsecuredValidatorRequiredScope", "").split()),
    )


# -- the client's side


def bearer_login(settings: BrokerSettings, listener: str, services: SaslServices, login: LoginModule) -> Login:
    """Raises ``CannotStart``."""
    sasl = SaslSettings(settings, listener)
    extensions = {name.removeprefix(_EXTENSION): value for name, value in login.options.items() if name.startswith(_EXTENSION)}
    try:
        OAuthBearerClient("token", extensions)
    except ValueError as error:
        raise CannotStart(f"the JAAS configuration of {listener} and OAUTHBEARER cannot be used: {error}.") from error
    if sasl.text("sasl.login.callback.handler.class", OAUTHBEARER) == UNSECURED_LOGIN:
        own_claims = {name.removeprefix(_STRING_CLAIM): value for name, value in login.options.items() if name.startswith(_STRING_CLAIM)}
        if not own_claims.get("sub"):
            raise CannotStart(f"the JAAS configuration of {listener} and OAUTHBEARER must have {_STRING_CLAIM}sub.")

        def unsecured(_: str) -> Promise[ClientExchange | LoginFailed]:
            now = services.clock.wall_ms() / 1000
            token = make_unsecured_token({**own_claims, "iat": now, "exp": now + _UNSECURED_LIFE_SECONDS})
            return Promise.kept(OAuthBearerClient(token, extensions))

        return Login(OAUTHBEARER, unsecured)
    source = _token_source(settings, sasl, listener, services, login)

    def with_token(found: OwnToken | TokenUnavailable) -> ClientExchange | LoginFailed:
        if isinstance(found, TokenUnavailable):
            return LoginFailed(f"this node has no token: {found.reason}")
        try:
            return OAuthBearerClient(found.text, extensions)
        except ValueError:
            return LoginFailed("this node's token has characters that OAUTHBEARER cannot carry")

    return Login(OAUTHBEARER, lambda _: source.token().map(with_token))


def _token_source(settings: BrokerSettings, sasl: SaslSettings, listener: str, services: SaslServices, login: LoginModule) -> TokenSource:
    url = sasl.text(_TOKEN_URL)
    if not url:
        raise CannotStart(f"this node logs in to {listener} with OAUTHBEARER, so {_TOKEN_URL} must say where its token is.")
    allowed = _allowed(settings, _TOKEN_URL, url)
    body: bytes | None = None
    headers: dict[str, str] = {}
    if urlsplit(allowed).scheme != "file":
        client_id = sasl.text("sasl.oauthbearer.client.credentials.client.id") or login.options.get("clientId")
        secret = sasl.text("sasl.oauthbearer.client.credentials.client.secret") or login.options.get("clientSecret")
        if not client_id or not secret:
            raise CannotStart(f"the JAAS configuration of {listener} and OAUTHBEARER must have this node's clientId and clientSecret.")
        body, headers = client_credentials(client_id, secret, sasl.text("sasl.oauthbearer.scope") or login.options.get("scope"))
    cache = TokenCache(
        part_used=sasl.number("sasl.login.refresh.window.factor"),
        backoff_ms=sasl.integer("sasl.login.retry.backoff.ms"),
        backoff_ms_max=sasl.integer("sasl.login.retry.backoff.max.ms"),
    )
    fetch = Fetch(allowed, body, headers, tls=_provider_tls(login), seconds_max=_seconds_max(sasl))
    return TokenSource(fetch, cache, services.logins, services.clock)


# -- both


def _allowed(settings: BrokerSettings, key: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise CannotStart(f"{key} must be a URL that begins with http, https or file.")
    files = {str(Path(each)) for each in settings.strings("barnabas.sasl.oauthbearer.allowed.files")}
    if parts.scheme == "file" and str(Path(unquote(parts.path))) in files:
        return url
    if url not in settings.strings("barnabas.sasl.oauthbearer.allowed.urls"):
        also = " (or the file in barnabas.sasl.oauthbearer.allowed.files)" if parts.scheme == "file" else ""
        raise CannotStart(f"{key} is {url}, which is not in barnabas.sasl.oauthbearer.allowed.urls{also}.")
    return url


def _seconds_max(sasl: SaslSettings) -> float:
    limits = [sasl.integer_or_none(f"sasl.login.{each}.timeout.ms") for each in ("connect", "read")]
    given = [each for each in limits if each is not None]
    return sum(given) / 1000 if given else FETCH_SECONDS_MAX


def _provider_tls(login: LoginModule | None) -> ssl.SSLContext | None:
    """Kafka reads the TLS settings for the provider from the options of the JAAS entry."""
    options = login.options if login is not None else {}
    if not any(name.startswith("ssl.") for name in options):
        return None
    from barnabas.network.tls.contexts import client_context
    from barnabas.network.tls.stores import StoreUnreadable, read_stores

    trust = Store(
        options.get("ssl.truststore.type", "JKS").upper(),
        options.get("ssl.truststore.location"),
        options.get("ssl.truststore.password"),
        None,
        options.get("ssl.truststore.certificates"),
    )
    keys = Store(
        options.get("ssl.keystore.type", "JKS").upper(), options.get("ssl.keystore.location"), options.get("ssl.keystore.password")
    )
    tls = TlsSettings(keys, trust, options.get("ssl.key.password"), ClientAuth.NONE, PROTOCOL_VERSIONS, (), True, "DEFAULT")
    try:
        return client_context(tls, read_stores(tls))
    except (StoreUnreadable, ssl.SSLError) as error:
        raise CannotStart(f"connections to the identity provider cannot use TLS: {error}") from error
