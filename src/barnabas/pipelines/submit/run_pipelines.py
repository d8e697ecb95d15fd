"""For spark-submit, which runs files and not modules.

    spark-submit --master spark://host:7077 \\
        --packages "$(barnabas pipelines packages alerts.yaml)" \\
        "$(barnabas pipelines submit-script)" alerts.yaml --checkpoint s3a://bucket/checkpoints

It lies in a folder of its own, because Python puts the folder of a script in front of its import
path.
"""

from __future__ import annotations

import sys

from barnabas.pipelines.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
