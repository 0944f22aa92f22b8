"""The facts about a session of Mistral Vibe: from `meta.json`, or from the header of a file."""

from __future__ import annotations

from vacr.agents.lift import SessionBuilder
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import is_timestamp

name = "vibe"


def learn_facts(facts: JsonObject, session: SessionBuilder) -> None:
    """Learn about the session from its facts; a time without a zone is not used."""
    texts = {name: value for name, value in facts.items() if type(value) is str and value}
    session.session_id = texts.get("session_id", session.session_id)
    session.parent = texts.get("parent_session_id")
    start, end = texts.get("start_time"), texts.get("end_time")
    if is_timestamp(start):
        session.start, session.end = start, end if is_timestamp(end) else None
    folder = dict_or_empty(facts.get("environment")).get("working_directory")
    if type(folder) is str and folder:
        session.working_dir = folder
    for native, canonical in (("git_commit", "revision"), ("git_branch", "branch")):
        if native in texts:
            session.vcs[canonical] = texts[native]
    _learn_model(dict_or_empty(facts.get("config", facts.get("agent_config"))), session)


def _learn_model(config: JsonObject, session: SessionBuilder) -> None:
    """Learn the model and its provider from the settings, which name it by an alias."""
    active = config.get("active_model")
    if type(active) is not str or not active:
        return
    models = config.get("models")
    known = [dict_or_empty(model) for model in models] if type(models) is list else []
    model = next((model for model in known if model.get("alias") == active), {})
    stated = model.get("name")
    session.models[stated if type(stated) is str and stated else active] += 1
    provider = model.get("provider")
    if type(provider) is str and provider:
        session.provider = provider
