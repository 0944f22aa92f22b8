"""Runs in Harbor's environment: checks trajectories, one a line, by its own models; prints what is
wrong with each, or null.
"""

import json
import sys

from harbor.models.trajectories import Trajectory

for line in sys.stdin:
    try:
        Trajectory.model_validate(json.loads(line))
    except ValueError as error:
        print(json.dumps(str(error)))
    else:
        print("null")
