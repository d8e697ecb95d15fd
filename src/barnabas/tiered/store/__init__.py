"""The remote store: objects with names, written once, read in pieces, deleted. Read in this order:

    store            RemoteStore: the port, its promises and its errors
    object_names     ObjectNames: the names of the objects of a segment
    open_store       opens the store of ``remote.log.storage.url``
    directory_store  DirectoryStore: a mounted file system
    object_store     ObjectStore: S3, Google Cloud Storage or Azure, through ``obstore``

Invariants: an object is visible whole or not at all. Every call may come from any thread, and an
unreachable store is an error rather than a wait.

Not here: which objects should exist. That is in ``tiered.metadata``.
"""
