"""Tiered storage (KIP-405): closed segments in an object store, found again through ``__remote_log_metadata``.

Pure: ``segment_state``, ``segment_metadata``, ``events``, ``catalogue`` (what the metadata topic says about one partition), ``chain`` (that
catalogue as one leader's log sees it), ``copy_plan`` and ``expiry_plan``. Deeds, for worker threads: ``store`` and its two
ends ``directory_store`` and ``object_store``, ``segment_copy``, ``index_cache``, ``read_ahead``, ``reader``, ``aux_state``.

What never lives here: who publishes and reads the metadata topic, when tasks run, and which requests wait for them; that is the node's.
"""
