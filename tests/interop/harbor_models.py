"""Check trajectories with Harbor's own models, in Harbor's environment.

Read one trajectory per line, and print its error or null.
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
