"""``barnabas log``: the files of a node, running or not, ours or Apache Kafka's.

:mod:`~.command` has the options of ``dump``; :mod:`~.dump` decodes files, :mod:`~.info` summarises
partitions and segments, :mod:`~.verify` checks that all files are intact and agree.

Invariant: nothing here writes to the directory of a node. Repairs are done by a node when it
starts.
"""
