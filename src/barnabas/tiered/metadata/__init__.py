"""The metadata of remote segments: ``__remote_log_metadata`` is the list of everything remote.

Read in this order:

    segment_metadata     the values: a remote segment, its updates, the deletion of a partition
    segment_state        the states of a segment, and their order
    catalogue            RemoteCatalogue: the segments of one partition, by leader epoch and offset
    chain                RemoteChain: a catalogue as one log sees it, immutable
    events               the records of the topic, as Kafka writes them
    metadata_topic       MetadataTopic: subscribes partitions to the topic, and publishes events
    metadata_publishing  appends an event at the leader of its metadata partition

Invariants: a catalogue depends only on the events and their order, so it is the same on every
broker. A published event counts when this broker has read it back. A record is identified by leader
epoch and offset, never by the offset alone.

Not here: the decisions to copy and delete (``tiered``), and the objects (``tiered.store``).
"""
