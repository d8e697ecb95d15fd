"""The connections on which clients may ask for delegation tokens.

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
