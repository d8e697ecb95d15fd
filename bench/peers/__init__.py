"""Servers that users might pick instead, measured with the same clients: ``--with-peers``.

The peers are kfake (Go), Tansu (Rust) and NATS JetStream (Go, with a client of its own), each once
in memory and once on disk. They promise less than Apache Kafka or other things, so their page has
no goals: ``facts`` says what each does and does not do, and one row kills the server and counts
the records that come back.

Nothing here is needed without ``--with-peers``. A peer that cannot be built on this machine is
left out, and the page says why.

===========  =====================================================================
``builds``   the peers' programs in ``.peers/``, pinned and built on demand
``systems``  the peers as servers in child processes
``drivers``  the load, by Kafka's clients or by the client of NATS
``rows``     the rows, and the systems that take part in each
``apis``     the APIs of Kafka that a server announces
``facts``    what each system does and does not do
``page``     ``docs/peers.md``
``run``      all of it in order
``go/``      the Go module with the pins of kfake and NATS, and their programs
===========  =====================================================================
"""
