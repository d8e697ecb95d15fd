"""SASL mechanisms as machines: bytes in, bytes out, and in the end a principal.

:mod:`~.exchange` says what a machine answers. One module has both sides of a mechanism:
:mod:`~.plain`, :mod:`~.scram`, :mod:`~.oauthbearer` and :mod:`~.gssapi`. :mod:`~.scram_credentials`
derives the keys that a server stores, and :mod:`~.jaas` reads the configuration of mechanisms.
:mod:`~.authenticator` is the order of requests around an exchange.

A bearer token is checked in two steps: :mod:`~.signing_keys` verifies its signature (and
:mod:`~.unsecured_tokens` reads those that have none), then :mod:`~.bearer_claims` decides about its
claims. :mod:`~.key_refresh` and :mod:`~.token_cache` say when keys and this node's own token are
fetched again. :mod:`~.kerberos_names` turns Kerberos principals into names of users.

A machine never learns the time and never draws a random number: its caller passes nonces, and
compares expiry times with its own clock. Messages of a failure reach the client, so they say
nothing about which users exist.
"""
