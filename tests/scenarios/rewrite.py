"""Accept the transcripts that the scripts produce now, of both packages or of those named.

python -m tests.scenarios.rewrite [quorum] [replication]
"""

from __future__ import annotations

import sys

from tests.scenarios.quorum import stage as quorum
from tests.scenarios.replication import stage as replication

ALL = {"quorum": quorum.SCENES, "replication": replication.SCENES}


def main(names: list[str]) -> None:
    for name in names or ALL:
        for file in ALL[name].rewrite():
            sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
