"""The log of a partition on disk: segments, indexes, checkpoints, recovery, retention, compaction.

Reading order:

- ``file_names``: the names of all files, as Kafka writes them.
- ``segment``, with ``index_file``, ``offset_index``, ``time_index`` and ``transaction_index``: one
  segment and its indexes.
- ``segment_list``, ``append_plan``, ``log``: a partition's log, which appends, reads, truncates and
  flushes. ``log_settings`` are a topic's settings, ``regions`` the pieces of files that a fetch
  sends, ``finding_by_time`` the search by timestamp.
- ``leader_epochs``, ``producer_state``, ``producer_snapshot``: state that is derived from batches.
- ``recovery``: opening a log in any state that a crash left it in.
- ``retention``, ``removal``, ``compaction/``: giving up old segments, and records that newer ones
  supersede. ``delayed_removals`` deletes their files later, on a worker thread.
- ``background_sync``: flushes segments on a worker thread.
- ``log_directory``, with ``checkpoints``, ``meta_properties`` and ``partition_metadata``: one
  directory of ``log.dirs``. ``found_logs`` are the logs in all directories at start.

Invariants: offsets of a log never go back and are never reused. A record below the recovery point
is on the disk. Only the active segment is written; compaction replaces a sealed one whole. Every
file format is Kafka's, so that either program can open the other's directory. After a failed write
or sync the whole directory is given up, and recovery decides at the next start.

Not here: replication and the high watermark's meaning (``replication``), the timers that call these
functions, and the cleaner's processes.
"""
