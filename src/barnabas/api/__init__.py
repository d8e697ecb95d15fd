"""Kafka's APIs: decoded requests in, responses out.

Nouns: a *request* comes from a :class:`~barnabas.network.caller.Caller` (principal, client id,
address, listener, version). The :class:`~barnabas.api.broker.Broker` holds the parts of the node
that handlers call. A *handler* serves one API. A *shortcut* recognises a repeated request by its
bytes and serves it without decoding it.

Read in this order: :mod:`.dispatch` (from a frame to a handler and back), :mod:`.handler` and
:mod:`.broker` (the shapes of both), :mod:`.needs` and :mod:`.access` (what a caller must be
allowed, and whether it is), then the tables :mod:`.broker_apis` and
:mod:`.controller_handlers`, then any handler: one module for each API in :mod:`.broker_apis`, in
:mod:`.controller_apis`, and in :mod:`.produce`. The other modules hold what several handlers
share: error codes of coordinators, leader hints, results for missing partitions, answers made in
slices.

Invariants:

- a handler translates, authorises, calls and answers; it holds no state and calls no other handler;
- errors of the peer become error codes here. :mod:`.dispatch` maps exceptions once, for all APIs;
- responses of a connection leave in the order of its requests;
- between socket and segment no handler opens a batch.

Not here: sockets and frames (:mod:`barnabas.network`), the layout of messages
(:mod:`barnabas.wire`), and decisions, which the coordinators, the replicas, the controller and the
quorum make.
"""
