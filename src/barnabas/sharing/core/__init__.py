"""The decisions about share partitions and share sessions. Pure.

Read :mod:`.record_state` for the states of a record, then :mod:`.share_partition`, the machine. It
acquires (:mod:`.acquiring`) and acknowledges (:mod:`.acknowledging`) on its :mod:`.window` of runs
(:mod:`.offset_run`); a :mod:`.delivery_change` holds the states to write down.
:mod:`.sessions` stands alone.
"""
