"""A third-party reader that waits at a gate or kills its process, to stop a run without a race."""

READER = """
import os, signal, time
from vacr.agents import Agent, SessionBuilder

class Gated(Agent):
    name = "gated"
    formats = ("gated-jsonl",)

    def recognises(self, sample):
        return float(isinstance(sample[0], dict) and "gate" in sample[0])

    def read(self, source):
        (line,) = source.main.sample(1)
        if line.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        open(line["gate"] + ".reached", "a").close()
        while not os.path.exists(line["gate"]):
            time.sleep(0.01)
        session = SessionBuilder("gated-jsonl", "gated")
        session.session_id = line["id"]
        session.entries.append({"type": "assistant", "content": line["id"]})
        yield session.reading(source)
"""


def install(folder):
    """Install the reader into a folder for PYTHONPATH."""
    info = folder / "gated-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gated\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[vacr.agents]\ngated = gated_reader:Gated\n")
    (folder / "gated_reader.py").write_text(READER)
