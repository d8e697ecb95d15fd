"""Proof that a transaction may begin in a partition: its coordinator has registered the partition
(KIP-890).

Without it a batch that comes late, after the end of its transaction, would begin a transaction that
no producer ever ends, and consumers of committed data would wait at it for ever. The coordinator is
asked while the batch waits. If the end of a transaction is written here in the meantime, the answer
is outdated: the proof is void until the coordinator is asked again.

Later batches of the producer wait behind the first one. They would otherwise overtake it as soon as
another batch has begun the transaction here, and arrive out of order.
"""

from __future__ import annotations


class Verification:
    __slots__ = ("producer_epoch", "producer_id", "void")

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.void = False

    def renew(self) -> None:
        """The coordinator is asked now."""
        self.void = False


class Verifications:
    """The verifications of one partition that are in flight. The request that begins one also ends
    it, so there are no more than requests."""

    __slots__ = ("_under_way",)

    def __init__(self) -> None:
        self._under_way: dict[int, list[Verification]] = {}

    def begin(self, producer_id: int, producer_epoch: int) -> Verification:
        verification = Verification(producer_id, producer_epoch)
        self._under_way.setdefault(producer_id, []).append(verification)
        return verification

    def end(self, verification: Verification) -> None:
        others = self._under_way.get(verification.producer_id, [])
        if verification in others:
            others.remove(verification)
        if not others:
            self._under_way.pop(verification.producer_id, None)

    def has(self, producer_id: int) -> bool:
        return producer_id in self._under_way

    def void(self, producer_id: int) -> None:
        for verification in self._under_way.get(producer_id, ()):
            verification.void = True

    @staticmethod
    def accepts(verification: Verification | None, producer_id: int, producer_epoch: int) -> bool:
        return (
            verification is not None
            and not verification.void
            and (verification.producer_id, verification.producer_epoch) == (producer_id, producer_epoch)
        )
