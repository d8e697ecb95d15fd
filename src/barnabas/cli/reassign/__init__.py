"""``barnabas reassign``: move partitions between brokers and directories.

Read :mod:`barnabas.reassignment` first: assignments and the proposal of a balanced one, without
I/O. :mod:`~.plan` reads and writes their files, :mod:`~.requests` talks to the controller and sets
throttles, :mod:`~.replica_directories` talks to brokers about their directories, and
:mod:`~.command` ties them together.

Invariants: the files are those of Kafka's ``kafka-reassign-partitions``; ``execute`` prints the
plan that undoes it before it changes anything; a throttle stays until ``verify`` removes it.

Not here: electing leaders, which is ``barnabas topics elect-leaders``.
"""
