"""The care of logs in the background: retention, compaction, flushes, checkpoints, directories.

The decisions are pure functions in ``storage``; this package performs them while the broker serves
clients. Read in this order:

    log_care          LogCare: makes, starts and stops the parts below together
    housekeeping      LogHousekeeping: flushes closed segments, checkpoints, expires producers
    retention         LogRetention: removes expired segments, step by step
    cleaner           LogCleaner: compacts logs, and what may interrupt a pass
    cleaning_process, cleaning_workers
                      the processes that compact, and the pool of them
    cleaner_settings, cleaner_metrics
                      the settings and metrics of the cleaner
    log_settings      gives logs their new settings when a configuration changes
    directories       the directories of a node: opened, failed, full, cordoned, moved between

Invariants:

- The loop's thread owns logs, segments and partitions, and changes them. Work that waits for a disk
  runs on worker threads, on files that are not written any more.
- Before a step that a crash must not revert, its bounds are written down.
- After an I/O error the whole directory is offline; a full disk is not such an error.
- Only the cleaner opens records, and it does so in another process.

Not here: which segments expire and which logs are dirty (``storage.retention``,
``storage.compaction_plan``), how a cleaned segment is swapped in (``storage.compaction``), and the
retention of remote segments (``tiered``).
"""
