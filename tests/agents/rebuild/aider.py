"""Aider's histories, back from the entries of their runs, byte by byte."""

import base64


def text(*records: dict) -> bytes:
    """Return the bytes of a history from the records of its runs."""
    return b"".join(
        entry_bytes(entry)
        for record in records
        for entry in record["session"]["entries"]
        if entry.get("event-type") != "attached-file"
    )


def entry_bytes(entry: dict) -> bytes:
    if entry.get("event-type") == "undecodable":
        return base64.b64decode(entry["data"]["bytes"])
    if entry["type"] == "system-event":
        return entry["data"]["text"].encode()
    if "raw" in entry:
        return entry["raw"].encode()
    (block,) = entry["content"]
    if entry["type"] == "user":
        lines = "".join(f"#### {line}  \n" for line in block["text"].split("\n"))
        return f"\n{lines}".encode()
    before, after = entry.get("spacing", ["\n", "\n\n"])
    return f"{before}{block['text']}{after}".encode()
