"""The SASL mechanisms of a listener and of this node's own connections, as the settings ask for
them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial

from barnabas.config.sasl import SaslSettings
from barnabas.config.settings import BrokerSettings
from barnabas.env.entropy import Entropy
from barnabas.metadata.applier import MetadataView
from barnabas.metadata.scram import ScramCredential, ScramImage, ScramUser
from barnabas.model.cannot_start import CannotStart
from barnabas.model.promise import Promise
from barnabas.network.peer_connection import Login
from barnabas.node.kerberos import GSSAPI, kerberos_exchanges, kerberos_login
from barnabas.node.sasl_services import SaslServices
from barnabas.node.token_accounts import TokenAccounts
from barnabas.security.principal import Principal
from barnabas.security.sasl.authenticator import Mechanism
from barnabas.security.sasl.exchange import ServerExchange
from barnabas.security.sasl.jaas import LoginModule, parse_jaas
from barnabas.security.sasl.oauthbearer import OAuthBearerServer
from barnabas.security.sasl.plain import PlainClient, PlainServer, PlainUsers
from barnabas.security.sasl.scram import Account, ScramClient, ScramServer
from barnabas.security.sasl.scram_credentials import ScramKeys, ScramMechanism, invented_keys

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
_SCRAM = {each.title: each for each in ScramMechanism}
SUPPORTED = (PLAIN, *_SCRAM, OAUTHBEARER, GSSAPI)
_NONCE_BYTES = 24


def server_mechanisms(
    settings: BrokerSettings, listener: str, metadata: MetadataView, entropy: Entropy, services: SaslServices
) -> dict[str, Mechanism]:
    """Raises ``CannotStart`` for a mechanism that is not supported or not configured."""
    sasl = SaslSettings(settings, listener)
    secret = entropy.bytes(32)
    made: dict[str, Mechanism] = {}
    for name in sasl.enabled:
        exchange: Callable[[], ServerExchange]
        if name == PLAIN:
            users = PlainUsers(_login(sasl, listener, name).users)
            exchange = partial(PlainServer, users.check)
        elif name in _SCRAM:
            tokens = TokenAccounts(_SCRAM[name], metadata, settings.text_or_none("delegation.token.secret.key"), secret)
            accounts = ScramAccounts(_SCRAM[name], metadata, secret, tokens)
            exchange = partial(_scram_server, accounts, entropy)
        elif name == OAUTHBEARER:
            exchange = _oauthbearer_server(settings, listener, services)
        elif name == GSSAPI:
            exchange = kerberos_exchanges(sasl, listener, _login(sasl, listener, name))
        else:
            raise CannotStart(f"the listener {listener} enables the mechanism {name}, but only {', '.join(SUPPORTED)} are supported.")
        made[name] = Mechanism(exchange, sasl.session_ms_max(name))
    if not made:
        raise CannotStart(f"the listener {listener} uses SASL, so sasl.enabled.mechanisms must have a mechanism.")
    return made


class ScramAccounts:
    """The users and the delegation tokens of the metadata log. An unknown one gets keys that no
    password fits."""

    def __init__(self, mechanism: ScramMechanism, metadata: MetadataView, secret: bytes, tokens: TokenAccounts) -> None:
        self.mechanism = mechanism
        self._metadata = metadata
        self._secret = secret
        self._tokens = tokens
        self._image: ScramImage | None = None
        self._model_keys: ScramKeys | None = None

    def find(self, user: str, by_token: bool) -> Account:
        # Made for every user, so that an unknown one causes the same work as a wrong password.
        model = self._model()
        invented = invented_keys(self.mechanism, self._secret if model is None else model.server_key, user, model)
        found = self._tokens.find(user) if by_token else self._user(user)
        return Account(invented, Principal("User", user), exists=False) if found is None else found

    def _user(self, user: str) -> Account | None:
        found = self._metadata.image.scram.by_user.get(ScramUser(user, self.mechanism.number))
        return None if found is None else Account(_keys(found), Principal("User", user), exists=True)

    def _model(self) -> ScramKeys | None:
        """The first user. Its server key is a secret that all nodes share: if each node had its own
        secret, an attacker would tell an unknown user by salts that differ between brokers. Without
        any user there is nothing to tell."""
        image = self._metadata.image.scram
        if image is not self._image:
            self._image = image
            users = [user for user in image.by_user if user.mechanism == self.mechanism.number]
            self._model_keys = _keys(image.by_user[min(users)]) if users else None
        return self._model_keys


def _keys(found: ScramCredential) -> ScramKeys:
    return ScramKeys(found.salt, found.stored_key, found.server_key, found.iterations)


def client_login(settings: BrokerSettings, listener: str, mechanism_key: str, services: SaslServices) -> Login:
    """The mechanism with which this node logs in on a listener of this name, which uses SASL.
    Raises ``CannotStart``."""
    name = settings.text(mechanism_key)
    if name not in SUPPORTED:
        raise CannotStart(f"{mechanism_key} is {name}, but only {', '.join(SUPPORTED)} are supported.")
    sasl = SaslSettings(settings, listener)
    login = _login(sasl, listener, name)
    if name == GSSAPI:
        return kerberos_login(sasl, listener, services, login)
    if name == OAUTHBEARER:
        from barnabas.node.oauthbearer import bearer_login

        return bearer_login(settings, listener, services, login)
    user, password = login.options.get("username"), login.options.get("password")
    if user is None or password is None:
        raise CannotStart(f"the JAAS configuration of {listener} and {name} must have a username and a password for this node.")
    if name == PLAIN:
        return Login(name, lambda _: Promise.kept(PlainClient(user, password)))
    by_token = login.options.get("tokenauth", "").lower() == "true"
    return Login(name, lambda _: Promise.kept(ScramClient(_SCRAM[name], user, password, _nonce(services.entropy), by_token=by_token)))


def _oauthbearer_server(settings: BrokerSettings, listener: str, services: SaslServices) -> Callable[[], ServerExchange]:
    # The libraries for tokens are loaded only by a node that uses them.
    from barnabas.node.oauthbearer import verify_tokens

    sasl = SaslSettings(settings, listener)
    login = _login(sasl, listener, OAUTHBEARER) if sasl.jaas(OAUTHBEARER) is not None else None
    return partial(OAuthBearerServer, verify_tokens(settings, listener, services, login))


def _login(sasl: SaslSettings, listener: str, mechanism: str) -> LoginModule:
    text = sasl.jaas(mechanism)
    name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
    if text is None:
        raise CannotStart(f"{name} is not set.")
    try:
        modules = parse_jaas(text)
    except ValueError as error:
        raise CannotStart(f"{name} cannot be read: {error}.") from error
    if len(modules) != 1:
        raise CannotStart(f"{name} must have one login module, but has {len(modules)}.")
    return modules[0]


def _scram_server(accounts: ScramAccounts, entropy: Entropy) -> ServerExchange:
    return ScramServer(accounts.mechanism, accounts.find, _nonce(entropy))


def _nonce(entropy: Entropy) -> str:
    return base64.b64encode(entropy.bytes(_NONCE_BYTES)).decode("ascii")
