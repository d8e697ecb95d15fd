"""Reads of remote segments, for fetches and for offsets by time. Read in this order:

    remote_reads    RemoteReads: the way in; runs each read on a worker thread, within the quota
    reader          RemoteReader: finds batches in a chain of segments, and checks them
    remote_indexes  RemoteIndexes: the three indexes of a remote segment in memory
    index_cache     RemoteIndexCache: those indexes cached on the local disk
    read_ahead      ReadAhead: pieces of remote logs in memory, fetched ahead for sequential readers

Invariants: no bytes from the store reach a client unchecked. Every cache is bounded, and losing it
only costs time. A store that is unreachable makes consumers retry, with their offsets unchanged.

Not here: the decision whether an offset is remote (``storage.Log``), and the store itself.
"""
