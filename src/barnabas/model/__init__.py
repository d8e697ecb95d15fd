"""The words that every layer shares: identifiers, error codes, topic names, promises, buffers,
patterns, partitions of keys, compiled functions, and the decorator of classes that hold values.

Reading order: ``ids`` (offsets, positions, epochs and uuids, each a type of its own), ``errors``
(Kafka's error codes), ``topic_names``, ``promise`` (a value that arrives later on the same thread),
``buffers``, ``pattern`` (regular expressions of clients), ``key_partition`` (murmur2), ``compiled``
(functions that may run as compiled code), ``dataclass`` (methods that are compiled late).

Invariants: this is the lowest layer, which imports nothing of Barnabas and holds no state. A noun
belongs here only if several layers that must not import each other use it.
"""
