"""Another receiver accepts our traces over HTTP, and keeps their content."""

import json
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.exchange.sessions import read_all_records
from vacr.errors import InvalidRecord
from vacr.exchange.export import ExportRequest
from vacr.exchange.otlp import export, make_trace_id

RECEIVER = Path(__file__).parent / "receiver"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Start a receiver of traces, and return its URL."""
    if not shutil.which("node") or not (RECEIVER / "node_modules" / "@genkit-ai").is_dir():
        pytest.skip(
            "the receiver of traces is not installed: make receiver (more than 100 MB of packages)"
        )
    command = ["node", "serve.cjs", tmp_path_factory.mktemp("traces")]
    process = subprocess.Popen(command, cwd=RECEIVER, stdout=subprocess.PIPE, text=True)
    try:
        port = next(line.split()[1] for line in process.stdout if line.startswith("port "))
        yield f"http://127.0.0.1:{port}/api"
    finally:
        process.kill()
        process.communicate()


def send_request(address, data=None):
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})  # noqa: S310 - our own server
    with urllib.request.urlopen(request) as response:  # noqa: S310 - our own server
        return json.load(response)


def test_every_trace_is_accepted_and_kept(address):
    sent = 0
    for number, (name, record) in enumerate(read_all_records()):
        digest = f"{number:064x}"
        try:
            data = export(record, ExportRequest(digest)).data
        except InvalidRecord:
            continue
        assert send_request(f"{address}/otlp/v1/traces", data) == {}
        kept = send_request(f"{address}/traces/{make_trace_id(digest)}")["spans"]
        written = json.loads(data)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert {span["spanId"]: span["name"] for span in written} == {
            key: span["displayName"] for key, span in kept.items()
        }, name
        root = next(span for span in kept.values() if not span.get("parentSpanId"))
        assert root["attributes"]["gen_ai.operation.name"] == "invoke_agent"
        sent += 1
    assert sent > 10
