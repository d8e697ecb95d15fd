"""Performs the quorum's scripts; :mod:`tests.scenarios.quorum` describes their language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, SupportedFeatureKey
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from tests.scenarios.quorum.core import control_history, effects, events, in_flight, log_outline, voters
from tests.scenarios.quorum.scripted_node import CLUSTER_ID, LISTENER, NEWEST, PORT, ScriptedNode
from tests.scenarios.quorum.storage import Snapshot
from tests.scenarios.quorum.wording import batch_of, known_offset, listed, request_text, response_text, role_of
from tests.scenarios.transcripts import Scenes, Stage

# A quorum is quiet after far fewer messages; more would be an endless exchange.
DELIVERIES_MAX = 1000
OPERATOR = 0
# A node that loses an election goes through other roles before it stands again.
ATTEMPTS_MAX = 6


@dataclass(frozen=True, slots=True)
class Message:
    source: int
    target: int
    text: str
    arrive: Callable[[], None]

    def __str__(self) -> str:
        return f"{self.source} -> {self.target} {self.text}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that a node has not answered yet. One of the operator has no request id."""

    source: int
    life: int
    request: Any
    request_id: int | None


class QuorumStage(Stage):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, ScriptedNode] = {}
        self._under_way: list[Message] = []
        self._waiting: dict[tuple[int, int], Waiting] = {}
        self._tokens = 0
        self._groups: list[set[int]] = []
        self._last_asked: dict[tuple[int, int], str] = {}
        self._last_answered: dict[tuple[int, int], str] = {}

    # -- for the nodes -----------------------------------------------------------------------------

    @property
    def bootstrap(self) -> tuple[in_flight.Address, ...]:
        return tuple(in_flight.Address(f"n{each}", PORT) for each in list(self.nodes)[:2])

    def snapshot(self, snapshot: log_outline.OffsetAndEpoch) -> Snapshot:
        return next(each.directory.snapshots[snapshot] for each in self.nodes.values() if snapshot in each.directory.snapshots)

    def send(self, sender: ScriptedNode, effect: effects.Send) -> None:
        target = next((each for each in self.nodes.values() if each.host == effect.host), None)
        number = target.node_id if target is not None else int(effect.host.strip("nabcdefg"))
        waiting = Waiting(sender.node_id, sender.life, effect.request, effect.request_id)

        def arrive() -> None:
            if target is None or target.core is None:
                self._answer(number, waiting, ErrorCode.NETWORK_EXCEPTION)
            elif isinstance(effect.request, ApiVersionsRequest):
                features = [SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)]
                self._answer(number, waiting, ApiVersionsResponse(error_code=0, api_keys=[], supported_features=features))
            else:
                self._ask(target, waiting)

        self._under_way.append(Message(sender.node_id, number, request_text(effect.request), arrive))

    def reply(self, sender: ScriptedNode, token: int, response: Any) -> None:
        waiting = self._waiting.pop((sender.node_id, token))
        if waiting.request_id is None:
            self.say(f"{sender.node_id} -> operator {response_text(waiting.request, response)}")
        else:
            self._answer(sender.node_id, waiting, response)

    def _ask(self, target: ScriptedNode, waiting: Waiting) -> None:
        self._tokens += 1
        self._waiting[target.node_id, self._tokens] = waiting
        target.step(events.Requested(self._tokens, waiting.request, NEWEST))

    def _answer(self, source: int, waiting: Waiting, response: Any) -> None:
        def arrive() -> None:
            asker = self.nodes[waiting.source]
            if asker.core is None or asker.life != waiting.life or waiting.request_id is None:
                return
            asker.timeouts = [each for each in asker.timeouts if each.request_id != waiting.request_id]
            asker.step(events.Answered(waiting.request_id, response))

        self._under_way.append(Message(source, waiting.source, response_text(waiting.request, response), arrive))

    # -- the network -------------------------------------------------------------------------------

    def _separated(self, one: int, other: int) -> bool:
        return bool(self._groups) and not any({one, other} <= group for group in self._groups)

    def _arrive(self, message: Message) -> None:
        lost = self._separated(message.source, message.target)
        down = self.nodes[message.target].core is None
        self._show(message, " (lost)" if lost else " (down)" if down else "")
        if not lost:
            message.arrive()

    def _show(self, message: Message, remark: str) -> None:
        """Show a message, unless it repeats the request, or the answer, before it on its way."""
        text, way = message.text + remark, (message.source, message.target)
        is_answer = ":" in message.text.split(" ")[0]
        last = self._last_answered if is_answer else self._last_asked
        if not message.text or last.get(way) == text:
            return
        last[way] = text
        if not is_answer:
            # The answer to a new question is always shown.
            self._last_answered.pop((message.target, message.source), None)
        self.say(f"{message}{remark}")

    def _deliver_all(self) -> None:
        for _ in range(DELIVERIES_MAX):
            if not self._under_way:
                return
            self._arrive(self._under_way.pop(0))
        raise AssertionError(f"messages without end, at last {self._under_way[0]}")

    def _on_way(self, words: list[str]) -> list[Message]:
        ways = {tuple(int(end) for end in word.split("->")) for word in words}
        found = [each for each in self._under_way if (each.source, each.target) in ways]
        assert found, f"nothing is under way {' '.join(words)}"
        self._under_way = [each for each in self._under_way if each not in found]
        return found

    def do_settle(self, words: list[str], options: dict[str, str]) -> None:
        self._deliver_all()

    def do_deliver(self, words: list[str], options: dict[str, str]) -> None:
        for message in self._on_way(words):
            self._arrive(message)

    def do_drop(self, words: list[str], options: dict[str, str]) -> None:
        for message in self._on_way(words):
            self._show(message, " (lost)")

    def do_cut(self, words: list[str], options: dict[str, str]) -> None:
        self._groups = [{int(each) for each in group.split()} for group in " ".join(words).split("|")]

    def do_heal(self, words: list[str], options: dict[str, str]) -> None:
        self._groups = []

    def do_pending(self, words: list[str], options: dict[str, str]) -> None:
        for message in self._under_way:
            self.say(str(message))

    # -- time --------------------------------------------------------------------------------------

    def do_wait(self, words: list[str], options: dict[str, str]) -> None:
        remaining_ms = int(words[0])
        self._deliver_all()
        while remaining_ms > 0:
            up = [each for each in self.nodes.values() if each.core is not None]
            passed_ms = min([remaining_ms, *(max(1, each.next_ms - each.now_ms) for each in up)])
            remaining_ms -= passed_ms
            for each in up:
                each.advance(each.now_ms + passed_ms)
            self._deliver_all()

    def do_timeout(self, words: list[str], options: dict[str, str]) -> None:
        scripted = self.nodes[int(words[0])]
        before = len(self._under_way)
        scripted.run_until_role_changes()
        # These are fetches of its former role, whose answers no longer count.
        self._under_way[before:] = [each for each in self._under_way[before:] if not each.text.startswith("Fetch")]

    def do_elect(self, words: list[str], options: dict[str, str]) -> None:
        leader = self.nodes[int(words[0])]
        with self.unheard():
            for _ in range(ATTEMPTS_MAX):
                if leader.running.leading:
                    break
                self._give_up_leaders(leader)
                leader.run_until_role_changes()
                self._deliver_all()
        assert leader.running.leading, f"node {leader.node_id} is {role_of(leader.running)}"
        self.say(f"{leader.node_id} leads epoch {leader.running.epoch}, high watermark {leader.running.high_watermark}")

    def _give_up_leaders(self, candidate: ScriptedNode) -> None:
        for other in self.nodes.values():
            # A follower that hears from a leader would refuse its vote.
            if other is not candidate and other.follows and not self._separated(other.node_id, candidate.node_id):
                other.run_until_role_changes()
                self._under_way = [each for each in self._under_way if each.source != other.node_id]

    # -- nodes -------------------------------------------------------------------------------------

    def do_cluster(self, words: list[str], options: dict[str, str]) -> None:
        ids = _numbers(options["voters"])
        spares, observers = _numbers(options.get("spare", "")), _numbers(options.get("observers", ""))
        dynamic = "dynamic" in words
        addresses = [(NodeId(each), f"n{each}", PORT) for each in ids]
        configured = voters.VoterSet() if dynamic else voters.configured_voters(LISTENER, addresses)
        for each in sorted([*ids, *spares, *observers]):
            may_vote = each not in observers
            self.nodes[each] = ScriptedNode(
                self,
                each,
                configured,
                may_vote=may_vote,
                auto_join="auto-join" in words,
                fetch_bytes=int(options.get("fetch-bytes", "1000000")),
            )
        if dynamic:
            first = voters.VoterSet(self.nodes[each].as_voter for each in ids)
            offset = control_history.BOOTSTRAP_OFFSET
            changes = (control_history.KRaftVersionAt(offset, 1), control_history.VotersAt(offset, first))
            for each in ids:
                self.nodes[each].directory.snapshots[log_outline.EMPTY] = Snapshot(b"", changes)
        if len(self.nodes) == 1:
            self.nodes[ids[0]].start()
            return
        with self.unheard():
            # All nodes start unattached, and ask each other for a leader that no node knows.
            for scripted in self.nodes.values():
                scripted.start()
            self._deliver_all()

    def do_crash(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            crashed = int(word)
            self.nodes[crashed].crash()
            self._waiting = {key: each for key, each in self._waiting.items() if key[0] != crashed}
            self._under_way = [each for each in self._under_way if each.source != crashed]

    def do_start(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            scripted = self.nodes[int(word)]
            if options.get("disk") == "lost":
                scripted.lose_directory()
            scripted.start()

    def do_move(self, words: list[str], options: dict[str, str]) -> None:
        self.nodes[int(words[0])].host = f"n{words[0]}{words[1]}"

    def do_slow(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.nodes[int(word)].slow = True

    def do_fast(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.nodes[int(word)].slow = False
            self.nodes[int(word)].flush()

    def do_flush(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.nodes[int(word)].flush()

    # -- what the leader is asked ------------------------------------------------------------------

    def do_append(self, words: list[str], options: dict[str, str]) -> None:
        self.nodes[int(words[0])].step(events.Append(tuple(each.encode() for each in words[1:])))

    def do_snapshot(self, words: list[str], options: dict[str, str]) -> None:
        scripted = self.nodes[int(words[0])]
        made = scripted.take_snapshot(keep="keep" in words, damaged="damaged" in words)
        scripted.say(f"snapshot {made.offset}@{made.epoch}, log starts at {scripted.directory.start_offset}")

    def do_add_voter(self, words: list[str], options: dict[str, str]) -> None:
        added = self.nodes[int(words[0])]
        request = AddRaftVoterRequest(
            cluster_id=CLUSTER_ID,
            timeout_ms=5000,
            voter_id=added.node_id,
            voter_directory_id=added.key.directory_id,
            listeners=[Listener(name=each.name, host=each.host, port=each.port) for each in added.endpoints],
            ack_when_committed=True,
        )
        self._ask_as_operator(request, options)

    def do_remove_voter(self, words: list[str], options: dict[str, str]) -> None:
        removed = self.nodes[int(words[0])]
        voter = next((each.core.voters.get(NodeId(removed.node_id)) for each in self.nodes.values() if each.core is not None), None)
        directory_id = voter.key.directory_id if voter is not None and any(voter.key.directory_id) else removed.key.directory_id
        self._ask_as_operator(
            RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=removed.node_id, voter_directory_id=directory_id), options
        )

    def _ask_as_operator(self, request: Any, options: dict[str, str]) -> None:
        leading = [each for each in self.nodes.values() if each.core is not None and each.core.leading]
        asked = self.nodes[int(options["at"])] if "at" in options else leading[0]
        self.say(f"operator -> {asked.node_id} {request_text(request)}")
        self._ask(asked, Waiting(OPERATOR, 0, request, None))

    def do_upgrade(self, words: list[str], options: dict[str, str]) -> None:
        self.nodes[int(words[0])].step(events.UpgradeKRaftVersion(1))

    def do_resign(self, words: list[str], options: dict[str, str]) -> None:
        scripted = self.nodes[int(words[0])]
        scripted.step(events.Resign(scripted.running.epoch))

    def do_stop(self, words: list[str], options: dict[str, str]) -> None:
        self.nodes[int(words[0])].step(events.Stop())

    # -- what is shown -----------------------------------------------------------------------------

    def do_status(self, words: list[str], options: dict[str, str]) -> None:
        for scripted in self.nodes.values():
            core = scripted.core
            if core is None:
                self.say(f"{scripted.node_id}: down")
                continue
            directory = scripted.directory
            log = f"log {directory.start_offset}-{directory.end_offset}, hw {core.high_watermark}"
            voters = f"; voters {listed(core.voters)}" if core.kraft_version else ""
            self.say(f"{scripted.node_id}: {role_of(core)}; {log}{voters}")

    def do_log(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            directory = self.nodes[int(word)].directory
            snapshots = [f"snapshot {each.offset}@{each.epoch}" for each in sorted(directory.snapshots) if each != log_outline.EMPTY]
            batches = [batch_of(each.data) for each in directory.batches]
            self.say(f"{word}: " + (" | ".join([*snapshots, *batches]) or "empty"))

    def do_replicas(self, words: list[str], options: dict[str, str]) -> None:
        scripted = self.nodes[int(words[0])]
        known = scripted.running.replicas(scripted.now_ms)
        for kind, replicas in zip(("voter", "observer"), known, strict=True):
            for each in replicas:
                silent = f", silent for {scripted.now_ms - each.last_fetch_ms} ms" if each.last_fetch_ms >= 0 else ""
                self.say(f"{kind} {each.key.node_id}: end {known_offset(each.end_offset)}{silent}")


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


SCENES = Scenes(Path(__file__).parent / "scripts", QuorumStage)
