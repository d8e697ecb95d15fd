"""How commands talk to a cluster.

Read :mod:`~.reach` first: :func:`~.reach.reach` turns the options of a command into a
:class:`~.reach.Cluster`, from which clients are made.

==========================  ===================================================================
:mod:`~.options`            the options of every command that has a cluster
:mod:`~.choice`             which of several sources names the cluster
:mod:`~.probe`              what listens at an address: a broker, or another server
:mod:`~.completion`         names of topics, groups and settings for the shell
:mod:`~.client`             librdkafka clients; loaded only where one is needed
:mod:`~.admin_request`      one request of our own to one broker
:mod:`~.broker_requests`    finds the broker for it: a coordinator, a leader or the controller
:mod:`~.topic_metadata`     topics as the brokers describe them
==========================  ===================================================================

Invariants: a command checks that a broker answers before it creates a client; every wait has a
limit; every failure is a ``Refused`` that names the address or the broker.

Not here: the names of client properties, which are in :mod:`barnabas.client_settings`, and requests
that only one command needs, which are in that command's package.
"""
