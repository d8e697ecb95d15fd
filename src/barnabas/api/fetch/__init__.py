"""Fetch requests behind the handler.

Nouns: a *fetching* is one request under way, whether decoded or recognised by its bytes. Its
*reader* is a consumer or a follower, which differ in what they may read and in what their fetch
tells the leader. A *shortcut* recognises a request that repeats an earlier one of its connection.
A *template* is an encoded response in which only numbers and records change.

Read in this order: :mod:`barnabas.api.broker_apis.fetch` (the behaviour, and the way of a decoded
request), :mod:`.fetching`, :mod:`.readers`; then :mod:`.shortcut` and :mod:`.answer_template`.

Invariants:

- the shortcut remembers the meaning of bytes, never a decision: every request, recognised or
  decoded, goes through the same :class:`~barnabas.api.fetch.fetching.Fetching`;
- a request that the shortcut cannot serve goes through the handler, and its session has not
  changed before.

Not here: sessions, and the read of one partition (:mod:`barnabas.replication`).
"""
