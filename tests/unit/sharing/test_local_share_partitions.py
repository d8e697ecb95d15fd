from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.sharing.core.acknowledging import AcknowledgedRange
from barnabas.sharing.core.record_state import PartitionState
from barnabas.sharing.core.sessions import SessionKey
from barnabas.sharing.core.settings import ShareGroupSettings
from tests.unit import simulated
from tests.unit.sharing.shared_world import GROUP, Connected, SharedWorld, offsets
from tests.unit.sharing.test_share_fetch import ACCEPT, share_of


def test_an_acknowledgement_is_answered_when_its_state_is_written() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.fetch("a")
        world.persister.held = True
        verdict = share_of(world).acknowledge("a", [AcknowledgedRange(0, 4, [ACCEPT])])
        assert isinstance(verdict, Promise)
        assert not verdict.done
        world.persister.answer_all()
        assert verdict.value.error is ErrorCode.NONE
        assert share_of(world).machine.start_offset == 5

    simulated.run(scenario())


def test_a_state_that_cannot_be_written_is_an_error_and_the_member_may_try_again() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.fetch("a")
        ranges = [AcknowledgedRange(0, 4, [ACCEPT])]
        world.persister.fails = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        verdict = share_of(world).acknowledge("a", ranges)
        assert isinstance(verdict, Promise)
        assert verdict.value.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        world.persister.fails = ErrorCode.NONE
        verdict = share_of(world).acknowledge("a", ranges)
        assert isinstance(verdict, Promise)
        assert verdict.value.error is ErrorCode.NONE

    simulated.run(scenario())


def test_a_leader_that_a_newer_one_fenced_forgets_the_share_partition() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.fetch("a")
        share = share_of(world)
        world.persister.kept[world.key()].leader_epoch = 7
        verdict = share.acknowledge("a", [AcknowledgedRange(0, 4, [ACCEPT])])
        assert isinstance(verdict, Promise)
        assert verdict.value.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert share.state is PartitionState.FENCED
        assert len(world.shares) == 0

    simulated.run(scenario())


def test_a_state_that_cannot_be_read_is_an_error_and_the_next_fetch_reads_it_again() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.persister.fails = ErrorCode.NOT_COORDINATOR
        assert world.fetch(wait_ms=1000).value[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        world.persister.fails = ErrorCode.NONE
        assert offsets(world.fetch()) == [[(0, 4, 1)]]

    simulated.run(scenario())


def test_a_fetch_waits_until_the_state_is_read() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.persister.held = True
        waiting = world.fetch(wait_ms=1000)
        assert not waiting.done
        world.persister.answer_all()  # the state
        world.persister.answer_all()  # the start offset
        assert offsets(waiting) == [[(0, 4, 1)]]

    simulated.run(scenario())


def test_the_first_leader_writes_down_where_a_group_begins() -> None:
    async def scenario() -> None:
        world = SharedWorld(ShareGroupSettings(auto_offset_reset="latest"))
        partition = world.partition(records=[5])
        assert offsets(world.fetch()) == [[]]
        assert world.persister.kept[world.key()].start_offset == 5
        world.produce(partition, 2)
        share_of(world).fence()
        # A leader that chose again would skip the two records.
        assert offsets(world.fetch()) == [[(5, 6, 1)]]

    simulated.run(scenario())


def test_a_group_may_begin_some_time_ago() -> None:
    async def scenario() -> None:
        world = SharedWorld(ShareGroupSettings(auto_offset_reset="by_duration:PT1H"))
        world.partition(records=[5])
        assert len(world.fetch().value[0].acquired) <= 1

    simulated.run(scenario())


def test_the_end_of_a_connection_releases_the_records_of_its_member() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        connection = Connected()
        world.session("a", connection=connection)
        world.session("b")
        world.fetch("a")
        waiting = world.fetch("b", wait_ms=60_000)
        connection.lose()
        assert offsets(waiting) == [[(0, 4, 2)]]
        assert len(world.shares.sessions) == 1

    simulated.run(scenario())


def test_the_last_session_of_a_group_takes_its_share_partitions_with_it() -> None:
    async def scenario() -> None:
        world = SharedWorld()
        world.partition(records=[5])
        world.session("a")
        world.fetch("a")
        world.shares.close_session(SessionKey(GROUP, "a"))
        assert len(world.shares) == 0
        assert world.persister.kept[world.key()].offsets[0] == (0, 1)

    simulated.run(scenario())


def test_there_is_a_limit_of_sessions() -> None:
    async def scenario() -> None:
        world = SharedWorld(sessions_max=1)
        world.session("a")
        refused = world.shares.open_session(SessionKey(GROUP, "b"), [], Connected())  # type: ignore[arg-type]
        assert refused is ErrorCode.SHARE_SESSION_LIMIT_REACHED

    simulated.run(scenario())
