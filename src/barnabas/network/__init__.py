"""Sockets: the connections that a node accepts, and those that it opens to other nodes.

Reading order:

- ``listener``: a listening socket, its connections and the limits on them.
- ``connection``: one accepted connection, which serves requests and keeps the order of responses.
- ``receive_mark``: how much of a large request must arrive before the kernel wakes the loop.
- ``caller``: the caller of one request: identity, address, listener, version.
- ``request_meter``: the use of one request by a client that has quotas.
- ``shortcut``: the port for recognising repeated requests of a connection without decoding them.
- ``sender``: responses with file regions, sent by ``sendfile``.
- ``peers``: clients of other nodes, with connecting and backing off.
- ``peer_connection``: one connection to another node. ``peer_ports`` is the port that shells use.
- ``outboxes``: batches of small items for other brokers, one request to each at a time.

Invariants: everything runs on the event loop's thread. Responses leave in the order of their
requests. Every queue has a bound, and reaching it stops reading or refuses the request. Bytes from
a peer are not trusted.

Not here: the meaning of a request (``api/dispatch`` serves frames), frames and headers (``wire``),
and retries of a request, which the caller decides.
"""
