"""The connections on which clients may ask for delegation tokens, and whose tokens.

A token is as good as a password, so it is given only over a connection whose client has
authenticated with something stronger than a token: a leaked token must not be a way to more tokens.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.config.listeners import security_protocols
from barnabas.network.caller import Caller
from barnabas.security.principal import ANONYMOUS


def may_ask_for_tokens(broker: Broker, caller: Caller) -> bool:
    if caller.principal.token_authenticated:
        return False
    if caller.forwarded:
        # The broker that forwarded the request has checked the connection of its client.
        return True
    protocol = security_protocols(broker.settings)[caller.listener]
    return protocol != "PLAINTEXT" and not (protocol == "SSL" and caller.principal == ANONYMOUS)


def may_act_for_others(broker: Broker) -> bool:
    """Whether the client may make and see tokens of other owners: CREATE_TOKENS and DESCRIBE_TOKENS
    on the owner, or DESCRIBE on the token. Without an authorizer every client may do everything, as
    in Kafka; with one this is denied until the authorizer is asked here.
    """
    return not broker.settings.text("authorizer.class.name")
