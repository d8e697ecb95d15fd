"""SASL mechanisms as machines: bytes in, bytes out, and in the end a principal.

:mod:`~.exchange` says what a machine answers. One module has both sides of a mechanism:
:mod:`~.plain`, :mod:`~.scram` and :mod:`~.oauthbearer`. :mod:`~.scram_credentials` derives the keys
that a server stores, and :mod:`~.jaas` reads the configuration of mechanisms.

A machine never learns the time and never draws a random number: its caller passes nonces, and
compares expiry times with its own clock. Messages of a failure reach the client, so they say
nothing about which users exist.
"""
