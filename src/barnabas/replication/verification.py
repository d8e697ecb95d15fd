"""Proof that a transaction may begin in a partition: its coordinator has the partition written down (KIP-890).

Without it a batch that comes late, after its transaction was ended, would begin a transaction that nobody ever ends, and readers
of committed data would wait at it for good. The coordinator is asked while the batch waits; if the end of the transaction is
written here in the meantime, the proof is void.
"""

from __future__ import annotations


class Verification:
    __slots__ = ("producer_epoch", "producer_id", "void")

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.void = False


class Verifications:
    """Of one partition: those under way. Whoever begins one ends it, so there are no more than requests."""

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
