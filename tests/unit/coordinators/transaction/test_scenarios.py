"""Transactions from their beginning to their end, as transcripts. ``desk.py`` explains the
commands.
"""

from __future__ import annotations

from tests.unit.coordinators.transaction.desk import holds


def test_a_client_of_version_2_gets_a_new_epoch_with_every_end() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > add t 1000/0 a-0,b-3 v2
      NONE
      log t Ongoing 1000/0 a-0,b-3 v2
    > add t 1000/0 a-0 v2
      NONE
    > end t 1000/0 commit v2
      1000/1
      log t PrepareCommit 1000/1 a-0,b-3 v2
      do commit t 1000/1 a-0,b-3 v2
    > add t 1000/1 a-0 v2
      CONCURRENT_TRANSACTIONS
    > markers
      log t CompleteCommit 1000/1 v2
    > add t 1000/1 a-0 v2
      NONE
      log t Ongoing 1000/1 a-0 v2
    > end t 1000/1 abort v2
      1000/2
      log t PrepareAbort 1000/2 a-0 v2
      do abort t 1000/2 a-0 v2
    > markers
      log t CompleteAbort 1000/2 v2
    """)


def test_a_client_of_version_0_keeps_its_epoch() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0
    > add t 1000/0 a-1
      NONE
      log t Ongoing 1000/0 a-0,a-1
    > end t 1000/0 commit
      1000/0
      log t PrepareCommit 1000/0 a-0,a-1
      do commit t 1000/0 a-0,a-1 v0
    > end t 1000/0 commit
      CONCURRENT_TRANSACTIONS
    > markers
      log t CompleteCommit 1000/0
    > end t 1000/0 commit
      1000/0
    > end t 1000/0 abort
      INVALID_TXN_STATE
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0
    """)


def test_below_level_1_records_have_no_tagged_fields() -> None:
    holds("""
    > level 0
    > init t
      1000/0
      log t Empty 1000/0 (version 0)
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0 (version 0)
    """)


def test_a_new_producer_aborts_the_open_transaction_and_fences_the_old_one() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > add t 1000/0 a-0 v2
      NONE
      log t Ongoing 1000/0 a-0 v2
    > init t
      CONCURRENT_TRANSACTIONS
      log t PrepareAbort 1000/1 a-0 v2
      do abort t 1000/1 a-0 v2
    > init t
      CONCURRENT_TRANSACTIONS
    > end t 1000/0 commit v2
      CONCURRENT_TRANSACTIONS
    > markers
      log t CompleteAbort 1000/1 v2
    > end t 1000/0 commit v2
      INVALID_TXN_STATE
    > init t
      1000/2
      log t Empty 1000/2 v2
    > add t 1000/0 a-0 v2
      PRODUCER_FENCED
    > end t 1000/0 abort v2
      PRODUCER_FENCED
    > verify t 1000/0 a-0
      a-0:PRODUCER_FENCED
    """)


def test_fencing_below_level_2_raises_the_epoch_too() -> None:
    holds("""
    > level 1
    > init t
      1000/0
      log t Empty 1000/0
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0
    > init t
      CONCURRENT_TRANSACTIONS
      log t PrepareAbort 1000/1 a-0
      do abort t 1000/1 a-0 v0
    > end t 1000/0 commit
      PRODUCER_FENCED
    > markers
      log t CompleteAbort 1000/1
    > init t
      1000/2
      log t Empty 1000/2
    """)


def test_a_transaction_that_takes_too_long_is_aborted_by_the_next_scan() -> None:
    holds("""
    > init t timeout 5000
      1000/0
      log t Empty 1000/0
    > wait 9000
    > add t 1000/0 a-0 v2
      NONE
      log t Ongoing 1000/0 a-0 v2
    > wait 1000
    > wait 9999
    > wait 1
      log t PrepareAbort 1000/1 a-0 v2
      do abort t 1000/1 a-0 v2
    > markers
      log t CompleteAbort 1000/1 v2
    > end t 1000/0 commit v2
      INVALID_TXN_STATE
    > end t 1000/0 abort v2
      1000/1
    > add t 1000/1 a-0 v2
      NONE
      log t Ongoing 1000/1 a-0 v2
    """)


def test_an_abort_for_time_that_could_not_be_written_is_tried_again() -> None:
    holds("""
    > init t timeout 5000
      1000/0
      log t Empty 1000/0
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0
    > refuse NOT_ENOUGH_REPLICAS
    > wait 10000
    > end t 1000/0 commit
      NOT_ENOUGH_REPLICAS
    > refuse NONE
    > wait 10000
      log t PrepareAbort 1000/1 a-0 v2
      do abort t 1000/1 a-0 v2
    """)


def test_a_new_coordinator_writes_the_markers_of_decided_transactions() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > init u
      1001/0
      log u Empty 1001/0
    > add t 1000/0 a-0 v2
      NONE
      log t Ongoing 1000/0 a-0 v2
    > add u 1001/0 a-1
      NONE
      log u Ongoing 1001/0 a-1
    > end t 1000/0 commit v2
      1000/1
      log t PrepareCommit 1000/1 a-0 v2
      do commit t 1000/1 a-0 v2
    > reload
      do commit t 1000/1 a-0 v2
    > end t 1000/0 commit v2
      CONCURRENT_TRANSACTIONS
    > markers
      log t CompleteCommit 1000/1 v2
    > end t 1000/0 commit v2
      1000/1
    > reload
    > end u 1001/0 abort
      1001/0
      log u PrepareAbort 1001/0 a-1
      do abort u 1001/0 a-1 v0
    """)


def test_an_owner_continues_after_an_error_and_may_repeat_a_request() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > init t as 1000/0
      1000/1
      log t Empty 1000/1
    > init t as 1000/0
      1000/1
      log t Empty 1000/1
    > init t as 1000/1
      1000/2
      log t Empty 1000/2
    > init t as 1000/0
      PRODUCER_FENCED
    > init t as 999/2
      PRODUCER_FENCED
    > init t
      1000/3
      log t Empty 1000/3
    > init t as 1000/2
      PRODUCER_FENCED
    """)


def test_after_a_takeover_a_repeated_request_is_fenced_because_the_epoch_before_is_not_in_the_log() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > init t as 1000/0
      1000/1
      log t Empty 1000/1
    > reload
    > init t as 1000/0
      PRODUCER_FENCED
    """)


def test_an_unknown_transactional_id_gets_a_new_identity_whatever_the_producer_claims() -> None:
    holds("""
    > init t as 7/3
      1000/0
      log t Empty 1000/0
    > add x 7/3 a-0
      INVALID_PRODUCER_ID_MAPPING
    > end x 7/3 commit v2
      INVALID_PRODUCER_ID_MAPPING
    > verify x 7/3 a-0
      a-0:INVALID_PRODUCER_ID_MAPPING
    """)


def test_used_up_epochs_give_a_new_producer_id() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > init t as 1000/32766
      1001/0
      log t Empty 1001/0 before 1000
    > init t as 1000/32766
      1001/0
      log t Empty 1001/0
    > init t as 1000/32766
      PRODUCER_FENCED
    """)


def test_an_end_that_uses_up_the_epochs_changes_the_producer_id_when_the_markers_are_written() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > add t 1000/32766 a-0 v2
      NONE
      log t Ongoing 1000/32766 a-0 v2
    > end t 1000/32766 commit v2
      1001/0
      log t PrepareCommit 1000/32767 a-0 v2 then 1001
      do commit t 1000/32767 a-0 v2
    > add t 1001/0 a-0 v2
      CONCURRENT_TRANSACTIONS
    > reload
      do commit t 1000/32767 a-0 v2
    > markers
      log t CompleteCommit 1001/0 v2 before 1000
    > end t 1000/32766 commit v2
      1001/0
    > end t 1000/32766 abort v2
      INVALID_TXN_STATE
    > reload
    > end t 1000/32766 commit v2
      1001/0
    > add t 1001/0 a-0 v2
      NONE
      log t Ongoing 1001/0 a-0 v2
    > end t 1000/32766 commit v2
      INVALID_PRODUCER_ID_MAPPING
    """)


def test_fencing_with_the_last_epoch_leaves_one_that_no_client_is_given() -> None:
    holds("""
    > level 1
    > init t
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > add t 1000/32766 a-0
      NONE
      log t Ongoing 1000/32766 a-0
    > init t
      CONCURRENT_TRANSACTIONS
      log t PrepareAbort 1000/32767 a-0
      do abort t 1000/32767 a-0 v0
    > markers
      log t CompleteAbort 1000/32767
    > init t
      1001/0
      log t Empty 1001/0 before 1000
    """)


def test_a_new_producer_that_finds_the_last_epoch_in_use_brings_a_new_producer_id() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > add t 1000/32766 a-0 v2
      NONE
      log t Ongoing 1000/32766 a-0 v2
    > init t
      CONCURRENT_TRANSACTIONS
      log t PrepareAbort 1000/32767 a-0 v2 then 1001
      do abort t 1000/32767 a-0 v2
    > markers
      log t CompleteAbort 1001/0 v2 before 1000
    > init t
      1001/1
      log t Empty 1001/1 v2
    """)


def test_a_timeout_with_the_last_epoch_gives_its_owner_a_new_producer_id_when_it_asks() -> None:
    holds("""
    > init t timeout 5000
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > add t 1000/32766 a-0 v2
      NONE
      log t Ongoing 1000/32766 a-0 v2
    > wait 10000
      log t PrepareAbort 1000/32767 a-0 v2
      do abort t 1000/32767 a-0 v2
    > markers
      log t CompleteAbort 1000/32767 v2
    > end t 1000/32766 commit v2
      INVALID_TXN_STATE
    > end t 1000/32766 abort v2
      1001/0
      log t PrepareAbort 1000/32767 v2 then 1001
      do abort t 1000/32767 nowhere v2
    > markers
      log t CompleteAbort 1001/0 v2 before 1000
    > end t 1000/32766 abort v2
      1001/0
    """)


def test_a_timeout_with_the_last_epoch_lets_its_owner_begin_again() -> None:
    holds("""
    > init t timeout 5000
      1000/0
      log t Empty 1000/0
    > count t 32766
      log t Empty 1000/32766
    > add t 1000/32766 a-0 v2
      NONE
      log t Ongoing 1000/32766 a-0 v2
    > wait 10000
      log t PrepareAbort 1000/32767 a-0 v2
      do abort t 1000/32767 a-0 v2
    > markers
      log t CompleteAbort 1000/32767 v2
    > init t as 1000/32766
      1001/0
      log t Empty 1001/0 v2 before 1000
    """)


def test_only_a_client_of_transaction_version_2_may_abort_an_unstarted_transaction() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > end t 1000/0 abort
      INVALID_TXN_STATE
    > end t 1000/0 commit v2
      INVALID_TXN_STATE
    > end t 1000/0 abort v2
      1000/1
      log t PrepareAbort 1000/1 v2
      do abort t 1000/1 nowhere v2
    > markers
      log t CompleteAbort 1000/1 v2
    > end t 1000/1 abort v2
      1000/2
      log t PrepareAbort 1000/2 v2
      do abort t 1000/2 nowhere v2
    """)


def test_partitions_are_verified_one_by_one() -> None:
    holds("""
    > init t
      1000/0
      log t Empty 1000/0
    > verify t 1000/0 a-0
      a-0:TRANSACTION_ABORTABLE
    > add t 1000/0 a-0
      NONE
      log t Ongoing 1000/0 a-0
    > verify t 1000/0 a-0,a-1
      a-0:NONE a-1:TRANSACTION_ABORTABLE
    > verify t 1000/1 a-0
      a-0:PRODUCER_FENCED
    > verify t 1001/0 a-0
      a-0:INVALID_PRODUCER_ID_MAPPING
    > end t 1000/0 commit
      1000/0
      log t PrepareCommit 1000/0 a-0
      do commit t 1000/0 a-0 v0
    > verify t 1000/0 a-0
      a-0:CONCURRENT_TRANSACTIONS
    """)


def test_unused_transactional_ids_expire_after_a_week_but_not_open_transactions() -> None:
    holds("""
    > init idle
      1000/0
      log idle Empty 1000/0
    > init used
      1001/0
      log used Empty 1001/0
    > wait 601200000
    > init used
      1001/1
      log used Empty 1001/1
    > add used 1001/1 a-0
      NONE
      log used Ongoing 1001/1 a-0
    > wait 3600000
      log used PrepareAbort 1001/2 a-0 v2
      do abort used 1001/2 a-0 v2
      log idle forgotten
    > init idle
      1002/0
      log idle Empty 1002/0
    """)


def test_a_change_that_the_log_refuses_did_not_happen() -> None:
    holds("""
    > refuse NOT_ENOUGH_REPLICAS
    > init t
      NOT_ENOUGH_REPLICAS
    > refuse NONE
    > init t
      1001/0
      log t Empty 1001/0
    > refuse NOT_ENOUGH_REPLICAS
    > init t as 1001/0
      NOT_ENOUGH_REPLICAS
    > add t 1001/0 a-0
      NOT_ENOUGH_REPLICAS
    > refuse NONE
    > init t as 1001/0
      1001/1
      log t Empty 1001/1
    """)


def test_timeouts_have_bounds() -> None:
    holds("""
    > init t timeout 900001
      INVALID_TRANSACTION_TIMEOUT
    > init t timeout 0
      INVALID_TRANSACTION_TIMEOUT
    > init t timeout 900000
      1000/0
      log t Empty 1000/0
    """)
