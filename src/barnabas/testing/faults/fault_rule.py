"""Which requests a fault affects, and how. A value: it is sent as JSON to a broker that runs as a
process."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import ApiKey


class Effect(Enum):
    REFUSE = "refuse"  # answer with an error code, without handling the request
    DELAY = "delay"  # handle the request, and hold the answer back
    DISCONNECT = "disconnect"  # close the connection, without handling the request
    LOSE_ANSWER = "lose answer"  # handle the request, and close the connection instead of answering


@dataclass(frozen=True, slots=True)
class FaultRule:
    fault_id: int
    effect: Effect
    apis: tuple[ApiKey, ...] = ()  # empty for all
    code: ErrorCode = ErrorCode.NONE
    seconds: float = 0.0
    times: int | None = None  # None for any number of requests

    def concerns(self, api_key: int) -> bool:
        return not self.apis or api_key in self.apis

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "effect": self.effect.value, "apis": list(map(int, self.apis)), "code": int(self.code)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> FaultRule:
        return cls(
            fault_id=values["fault_id"],
            effect=Effect(values["effect"]),
            apis=tuple(map(ApiKey, values["apis"])),
            code=ErrorCode(values["code"]),
            seconds=values["seconds"],
            times=values["times"],
        )
