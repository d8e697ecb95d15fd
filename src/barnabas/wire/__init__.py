"""Kafka's protocol: every message in every version, turned into objects and back into bytes.

Reading order:

- ``types``, ``versions``, ``declare``: the primitive types, ranges of versions, and the decorators
  that declare a message once for all its versions.
- ``compiler``: makes the encoder and the decoder of one message in one version, when that version
  is first used. ``varint`` and ``tagged_fields`` are the parts that it calls.
- ``frames``, ``headers``: the outside of a request, which is a length, a header and a body.
- ``apis``: the table of APIs, from a key to its request and response.
- ``messages/``: requests and responses, one module per API.
- ``metadata_records/``, ``remote_log_records/`` (both framed by ``framed_records``) and
  ``coordinator_records/``: the messages that internal topics and the metadata log store.
- ``embedded/``: messages inside opaque bytes of other messages or records.

Invariants: declarations equal Kafka's JSON schemas (the conformance tests compare them). A decoder
reads only inside its buffer and allocates no more than the bytes that arrived justify; bytes that
are not the message raise ``MalformedMessage``. Record batches are never copied or opened here.

Not here: sockets (``network``), record batches (``records``), and the meaning of any message
(``api``).
"""
