"""Judges exports with libraries of others, which need an environment of their own: one JSON request a line, one answer a line."""

import json
import sys


def json_schema(asked):
    """Check a document against a JSON Schema; give what is wrong, or nothing."""
    from jsonschema import Draft202012Validator

    found = [
        f"{error.json_path}: {error.message}" for error in Draft202012Validator(asked["schema"]).iter_errors(asked["document"])
    ]
    return found or None


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(globals()[request.pop("op")](request)))
