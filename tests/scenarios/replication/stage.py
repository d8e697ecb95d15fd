"""Performs the scripts of replicas; :mod:`tests.scenarios.replication` describes their language."""

from __future__ import annotations

from pathlib import Path

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from tests.scenarios.replication.core import follower_fetch, isr
from tests.scenarios.replication.scripted_broker import ScriptedBroker, Shown, TopicRules
from tests.scenarios.replication.scripted_controller import PREFERRED, UNCLEAN, ScriptedController
from tests.scenarios.replication.wording import changes, partition_text, request_text, response_text
from tests.scenarios.transcripts import Scenes, Stage

# How often followers fetch and leaders look for followers that lag, while a script waits.
STEP_MS = 500
# Followers have everything after far fewer rounds.
ROUNDS_MAX = 100
ACKS = {"all": -1, "1": 1, "0": 0}


class ReplicationStage(Stage):
    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[int, ScriptedBroker] = {}
        self._scripted_controller = ScriptedController(elr=True)
        self._slow_controller = False
        self._rules: TopicRules | None = None
        self._proposed: list[tuple[ScriptedBroker, isr.IsrChange]] = []
        self._shown: dict[int, Shown] = {}
        self._shown_partition = ""
        self._shown_brokers: dict[int, str] = {}
        self._last_asked: dict[int, str] = {}
        self._last_answered: dict[int, str] = {}

    @property
    def _now_ms(self) -> int:
        return self._scripted_controller.now_ms

    # -- consequences ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring metadata to the brokers, and proposals of leaders to the controller."""
        self._publish()
        while self._proposed and not self._slow_controller:
            self._answer_proposal()
            self._publish()

    def _publish(self) -> None:
        image = self._scripted_controller.image
        self._show_metadata(image)
        for broker in self.brokers.values():
            if broker.up and (not broker.news or broker.news[-1] is not image):
                broker.news.append(image)
                if not broker.delayed:
                    self._inform_one(broker)
        self._show_replicas()

    def _inform_one(self, broker: ScriptedBroker) -> None:
        image = broker.news[-1]
        broker.news = [image]
        broker.learn(image, self._rules, self._now_ms)

    def _propose(self, broker: ScriptedBroker, change: isr.IsrChange) -> None:
        self._proposed.append((broker, change))

    def _answer_proposal(self) -> None:
        broker, change = self._proposed.pop(0)
        self._show_replicas()
        members = ",".join(str(each.broker_id) for each in change.isr)
        self.say(f"{broker.node_id} -> controller AlterPartition isr={members} epoch={change.leader_epoch}")
        answer = self._scripted_controller.alter_partition(broker.node_id, broker.epoch, change)
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            self.say(f"controller -> {broker.node_id} AlterPartition: {code.name}")
            if broker.isr_answered(change, code):
                self._proposed.append((broker, change))
            return
        self.say(f"controller -> {broker.node_id} AlterPartition: ok")
        broker.isr_answered(change, isr.IsrAnswer(tuple(answer.isr), answer.leader_epoch, answer.partition_epoch))

    # -- what is shown -----------------------------------------------------------------------------

    def _show_metadata(self, image: MetadataImage) -> None:
        for broker_id, each in sorted(image.cluster.brokers.items()):
            state = "fenced" if each.fenced else "in controlled shutdown" if each.in_controlled_shutdown else "active"
            if self._shown_brokers.get(broker_id) != state:
                self._shown_brokers[broker_id] = state
                self.say(f"broker {broker_id}: {state}")
        partition = self._scripted_controller.partition
        text = partition_text(partition) if partition is not None else ""
        if text != self._shown_partition:
            self._shown_partition = text
            self.say(f"partition: {text}")

    def _show_replicas(self) -> None:
        for broker in self.brokers.values():
            before, now = self._shown.get(broker.node_id, Shown()), broker.shown
            self._shown[broker.node_id] = now
            for change in changes(before, now):
                self.say(f"{broker.node_id}: {change}")

    def do_status(self, words: list[str], options: dict[str, str]) -> None:
        self.say(f"partition: {self._shown_partition}")
        for broker in self.brokers.values():
            shown = broker.shown
            log = f"; log {shown.log_start_offset}-{shown.log_end_offset}, hw {shown.high_watermark}" if broker.batches() else ""
            self.say(f"{broker.node_id}: {shown.role}{log}")

    def do_log(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.say(f"{word}: " + (" | ".join(self.brokers[int(word)].batches()) or "empty"))

    def do_epochs(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            known = [f"epoch {epoch} from {offset}" for epoch, offset in self.brokers[int(word)].epochs()]
            self.say(f"{word}: " + (", ".join(known) or "none"))

    # -- the cluster -------------------------------------------------------------------------------

    def do_cluster(self, words: list[str], options: dict[str, str]) -> None:
        self._scripted_controller = ScriptedController(
            elr=options.get("elr") != "off", imbalance_check_seconds=int(options.get("imbalance-check", "300"))
        )
        with self.unheard():
            for each in _numbers(options["brokers"]):
                self.brokers[each] = ScriptedBroker(each, self._propose)
                self._boot(self.brokers[each])
            self.settle()

    def _boot(self, broker: ScriptedBroker, end_offset: int | None = None) -> None:
        previous_epoch = broker.epoch if broker.stopped_cleanly else -1
        broker.start(self._rules, end_offset=end_offset)
        broker.epoch = self._scripted_controller.register(
            broker.node_id, incarnation=broker.incarnation, directory_id=broker.directory_id, previous_epoch=previous_epoch
        )
        self._publish()
        self._scripted_controller.heartbeat(broker.node_id, broker.epoch)

    def do_create(self, words: list[str], options: dict[str, str]) -> None:
        min_isr = int(options.get("min-isr", "1"))
        self._scripted_controller.create(_numbers(options["replicas"]), min_isr=min_isr, unclean="unclean" in words)
        self._rules = TopicRules(self._scripted_controller.topic_id, min_isr, int(options.get("fetch-bytes", "1000000")))

    def do_start(self, words: list[str], options: dict[str, str]) -> None:
        self._boot(self.brokers[int(words[0])], int(options["end"]) if "end" in options else None)

    def do_kill(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.brokers[int(word)].kill()

    def do_stop(self, words: list[str], options: dict[str, str]) -> None:
        broker = self.brokers[int(words[0])]
        for _ in range(ROUNDS_MAX):
            # The controller waits until all brokers that serve clients know the new leaders.
            for other in self.brokers.values():
                if other.up and other is not broker:
                    self._scripted_controller.heartbeat(other.node_id, other.epoch)
            if self._scripted_controller.heartbeat(broker.node_id, broker.epoch, stop=True):
                break
            self.settle()
        else:
            raise AssertionError(f"broker {broker.node_id} may not stop")
        self.settle()
        broker.kill(cleanly=True)

    def do_stall(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.brokers[int(word)].stalled = True

    def do_silence(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.brokers[int(word)].silent = True

    def do_resume(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            broker = self.brokers[int(word)]
            broker.stalled = broker.silent = False
            self._scripted_controller.heartbeat(broker.node_id, broker.epoch)

    def do_delay(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            self.brokers[int(word)].delayed = True

    def do_inform(self, words: list[str], options: dict[str, str]) -> None:
        for word in words:
            broker = self.brokers[int(word)]
            broker.delayed = False
            self._inform_one(broker)

    def do_controller(self, words: list[str], options: dict[str, str]) -> None:
        self._slow_controller = {"slow": True, "answers": False}[words[0]]

    # -- clients and operators ---------------------------------------------------------------------

    def do_produce(self, words: list[str], options: dict[str, str]) -> None:
        broker, values = self.brokers[int(words[0])], words[1:]
        acknowledged: list[ErrorCode] = []

        def on_acknowledged(code: ErrorCode) -> None:
            acknowledged.append(code)
            if shown:
                self._show_acknowledged(broker, values, code)

        shown = False
        outcome = broker.produce(values, ACKS[options.get("acks", "all")], on_acknowledged)
        if isinstance(outcome, ErrorCode):
            self.say(f"{broker.node_id} -> producer {' '.join(values)}: {outcome.name}")
            return
        self.say(f"{broker.node_id}: appends {outcome}")
        self._shown[broker.node_id] = self._shown[broker.node_id]._replace(log_end_offset=broker.shown.log_end_offset)
        shown = True
        for code in acknowledged:
            self._show_acknowledged(broker, values, code)

    def _show_acknowledged(self, broker: ScriptedBroker, values: list[str], code: ErrorCode) -> None:
        self._show_replicas()
        self.say(f"{broker.node_id} -> producer {' '.join(values)}: {code.name if code else 'acknowledged'}")

    def do_consume(self, words: list[str], options: dict[str, str]) -> None:
        broker = self.brokers[int(words[0])]
        found = broker.consume(int(options.get("from", "0")))
        text = found.name if isinstance(found, ErrorCode) else " | ".join(found) or "nothing"
        self.say(f"{broker.node_id} -> consumer {text}")

    def do_delete_records(self, words: list[str], options: dict[str, str]) -> None:
        self.brokers[int(words[0])].delete_records(int(options["before"]))

    def do_elect(self, words: list[str], options: dict[str, str]) -> None:
        code = self._scripted_controller.elect({"preferred": PREFERRED, "unclean": UNCLEAN}[words[0]])
        self.say(f"controller -> operator ElectLeaders: {ErrorCode(code).name if code else 'ok'}")

    def do_reassign(self, words: list[str], options: dict[str, str]) -> None:
        code = self._scripted_controller.reassign(None if words == ["cancel"] else _numbers(words[0]))
        self.say(f"controller -> operator AlterPartitionReassignments: {ErrorCode(code).name if code else 'ok'}")

    # -- fetching ----------------------------------------------------------------------------------

    def do_fetch(self, words: list[str], options: dict[str, str]) -> None:
        broker = self.brokers[int(words[0])]
        if not self._exchange(broker):
            self.say(f"{broker.node_id}: has nothing to ask now")

    def do_replicate(self, words: list[str], options: dict[str, str]) -> None:
        for _ in range(ROUNDS_MAX):
            before = [broker.shown for broker in self.brokers.values()]
            asked = [self._last_asked.get(each) for each in self.brokers]
            for broker in self.brokers.values():
                if broker.up and not broker.stalled:
                    self._exchange(broker)
                    self.settle()
            if before == [broker.shown for broker in self.brokers.values()] and asked == [
                self._last_asked.get(each) for each in self.brokers
            ]:
                return
        raise AssertionError("followers never have everything")

    def _exchange(self, broker: ScriptedBroker) -> bool:
        """One request of a follower and its answer; False when it has none to send."""
        asked = broker.next_request(self._now_ms)
        if asked is None:
            return False
        leader, request = self.brokers[asked[0]], asked[1]
        self._show_request(broker, leader, request)
        if not leader.up:
            broker.answered(ErrorCode.NETWORK_EXCEPTION, self._now_ms)
            return True
        response = leader.serve(request, self._now_ms)
        self._show_replicas()
        self._show_response(broker, leader, request, response)
        broker.answered(response, self._now_ms)
        self._show_replicas()
        return True

    def _show_request(self, broker: ScriptedBroker, leader: ScriptedBroker, request: follower_fetch.Request) -> None:
        text = f"{broker.node_id} -> {leader.node_id} {request_text(request)}" + ("" if leader.up else " (down)")
        if self._last_asked.get(broker.node_id) != text:
            self._last_asked[broker.node_id] = text
            self._last_answered.pop(broker.node_id, None)
            self.say(text)

    def _show_response(
        self, broker: ScriptedBroker, leader: ScriptedBroker, request: follower_fetch.Request, response: follower_fetch.Response
    ) -> None:
        text = response_text(request, response, known_high_watermark=broker.shown.high_watermark)
        if text and self._last_answered.get(broker.node_id) != text:
            self._last_answered[broker.node_id] = text
            self.say(f"{leader.node_id} -> {broker.node_id} {text}")

    # -- time --------------------------------------------------------------------------------------

    def do_wait(self, words: list[str], options: dict[str, str]) -> None:
        remaining_ms = int(words[0])
        while remaining_ms > 0:
            passed_ms = min(STEP_MS, remaining_ms)
            remaining_ms -= passed_ms
            self._scripted_controller.now_ms += passed_ms
            for broker in self.brokers.values():
                if broker.up and not broker.silent:
                    self._scripted_controller.heartbeat(broker.node_id, broker.epoch)
            self._scripted_controller.tick()
            self.settle()
            for broker in self.brokers.values():
                if broker.up and not broker.stalled:
                    self._exchange(broker)
                    self.settle()
            for broker in self.brokers.values():
                if broker.up:
                    broker.check_isr(self._now_ms)
                    self.settle()


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


SCENES = Scenes(Path(__file__).parent / "scripts", ReplicationStage)
