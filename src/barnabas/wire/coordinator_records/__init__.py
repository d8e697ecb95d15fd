"""Records of ``__consumer_offsets``, ``__transaction_state`` and ``__share_group_state``.

Each module declares one kind of record: a key and a value, which share the number that Kafka's
schema gives them. The stored key begins with that number, the stored value with the version of the
value. Groups of the classic protocol use ``group_metadata`` and ``offset_commit``; the modules
named ``consumer_group_*``, ``share_group_*`` and ``streams_group_*`` belong to the newer protocols;
``share_snapshot`` and ``share_update`` to the share coordinator; ``transaction_log`` to the
transaction coordinator.

Not here: reading and writing the topics, and the state that records build up (``coordinators``).
"""
