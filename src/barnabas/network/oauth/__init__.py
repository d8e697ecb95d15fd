"""The way to an identity provider: its keys, and tokens for this node's own connections.

:mod:`~.fetching` reads a document from an address or a file, with limits on time and size.
:mod:`~.key_source` keeps the provider's keys fresh, and :mod:`~.token_source` this node's own
token; both decide with :mod:`barnabas.security.sasl` and fetch on a thread, so no request waits for
another machine.
"""
