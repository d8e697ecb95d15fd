"""The facts about a client instance that subscriptions match, and that name its metrics."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid, uuid_text

# The names of Kafka, in the settings of a subscription and in the labels of metrics.
CLIENT_INSTANCE_ID = "client_instance_id"
CLIENT_ID = "client_id"
SOFTWARE_NAME = "client_software_name"
SOFTWARE_VERSION = "client_software_version"
SOURCE_ADDRESS = "client_source_address"
SOURCE_PORT = "client_source_port"

# Clients choose these texts. A broker keeps them for thousands of clients, and the metrics page
# repeats them in each of a client's series.
LABEL_CHARACTERS_MAX = 512


@dataclass(frozen=True, slots=True)
class ClientLabels:
    instance_id: Uuid
    # Empty for a client that sent none.
    client_id: str
    software_name: str
    software_version: str
    source_address: str
    source_port: int
    principal: str = "User:ANONYMOUS"

    def __post_init__(self) -> None:
        for text in (self.client_id, self.software_name, self.software_version, self.principal):
            assert len(text) <= LABEL_CHARACTERS_MAX

    def by_name(self) -> Mapping[str, str]:
        return {
            CLIENT_INSTANCE_ID: uuid_text(self.instance_id),
            CLIENT_ID: self.client_id,
            SOFTWARE_NAME: self.software_name,
            SOFTWARE_VERSION: self.software_version,
            SOURCE_ADDRESS: self.source_address,
            SOURCE_PORT: str(self.source_port),
        }


def label_text(text: str) -> str:
    """The beginning of a text that is too long for a label."""
    return text[:LABEL_CHARACTERS_MAX]
