"""`vacr mcp`: the MCP server: agents use it to search and check past conversations.

>>> from vacr.cli import run_command_line
>>> run_command_line(["mcp", "install", "--agent", "cursor", "--project", "--dry-run"])
--- /dev/null
+++ .../.cursor/mcp.json
@@ -0,0 +1,13 @@
+{
+  "mcpServers": {
+    "vacr": {
...
0
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from vacr.capture import (
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    PROJECT_SCOPE,
    SERVER_EXTRA,
    USER_SCOPE,
    AgentServers,
    can_server_start,
    find_server_status,
    load_agent_servers,
    plan_server_install,
    plan_server_uninstall,
)
from vacr.cli.agent_settings import (
    EXIT_NO_AGENT,
    SettingsChanger,
    agent_option,
    choose_settings_scope,
    select_agents,
    settings_change_options,
)
from vacr.cli.options import voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, align_columns, get_terminal_width, print_message
from vacr.errors import UsageError
from vacr.files import STATE_VARIABLE, find_state_folder


@click.group(cls=OrderedVerbGroup, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Let agents search and check past conversations.

    This is a server of the Model Context Protocol (MCP). Without a verb, the server runs on
    standard input and output until the agent closes them. An agent starts it by itself, after `vacr
    mcp install`. It needs the packages of vacr[mcp].

    All tools only read: search_conversations, get_conversation, why_line, who_touched, usage,
    verify. Answers mark the text of conversations as data.

    \b
    Example:
      vacr mcp install --agent claude-code
      vacr mcp status
      vacr mcp                              # what the agent runs
    """
    if context.invoked_subcommand is not None:
        return 0
    from vacr.app import serve_mcp

    if sys.stdin.isatty():
        print_message(
            "vacr: waiting for an agent on standard input. To add vacr to an agent: "
            "vacr mcp install"
        )
    serve_mcp(find_state_folder(os.environ))
    return 0


@command.command(short_help="Add the server to the settings of agents.")
@settings_change_options(load_agent_servers(), local=False)
@voice_options
def install(
    agent: str,
    yes: bool,
    dry_run: bool,
    project: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Add the MCP server to the settings of agents.

    vacr shows the change, and asks before making it. Everything else in the settings stays the
    same. Installing again changes nothing, unless Python was moved.

    \b
    Example:
      vacr mcp install --agent claude-code
      vacr mcp install --dry-run
      vacr mcp install --agent codex-cli --yes
    """
    if not dry_run and not can_server_start():
        raise UsageError(
            f"the MCP server cannot start: the packages of {SERVER_EXTRA} are not installed",
            hint=f"pip install '{SERVER_EXTRA}'",
        )
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    scope = choose_settings_scope(project=project, local=False)
    changer = SettingsChanger[AgentServers](voice, state, scope, yes, dry_run)
    exit_code = changer.change_all(
        select_agents(load_agent_servers(), agent),
        lambda servers, path: plan_server_install(servers, path, state),
        "installed",
    )
    for servers in changer.changed:
        if servers.notice:
            voice.notice(servers.notice)
    if changer.changed and os.environ.get(STATE_VARIABLE):
        voice.notice(f"Start the agents with the same {STATE_VARIABLE} as this command.")
    if changer.changed and scope != USER_SCOPE:
        voice.notice("The settings contain the path of Python on this machine.")
    return exit_code


@command.command(short_help="Show which agents have the server.")
@agent_option(load_agent_servers())
@voice_options
def status(agent: str, format: str, quiet: bool, verbose: int) -> int:
    """Show which agents have the MCP server, and whether it starts.

    The settings of the project in this folder are listed if they have the server. The exit code is
    1 if the server cannot start or is outdated, or if no agent was found.

    \b
    Example:
      vacr mcp status
      vacr mcp status --agent gemini-cli --format json
    """
    voice = Voice(format, quiet, verbose)
    rows = []
    for servers in select_agents(load_agent_servers(), agent):
        for scope in (USER_SCOPE, PROJECT_SCOPE):
            path = servers.path(scope, os.environ, Path.cwd())
            state, detail = find_server_status(servers, path)
            if scope == USER_SCOPE or state != HOOKS_NOT_INSTALLED:
                rows.append(
                    {
                        "agent": servers.name,
                        "scope": scope,
                        "file": str(path),
                        "state": state,
                        "detail": detail,
                    }
                )
    voice.data({"agents": rows})
    if not rows:
        voice.notice("vacr: no agents found on this machine. Name one with --agent.")
        return EXIT_NO_AGENT
    table = [("agent", "server", "settings", "")]
    table += [(row["agent"], row["state"], row["file"], row["detail"]) for row in rows]
    for line in align_columns(
        table, right=frozenset(), width=get_terminal_width(sys.stdout), paths=2
    ):
        voice.results(line.split("\n"))
    healthy = (HOOKS_INSTALLED, HOOKS_NOT_INSTALLED)
    return 0 if all(row["state"] in healthy for row in rows) else EXIT_NO_AGENT


@command.command(short_help="Remove the server.")
@settings_change_options(load_agent_servers(), local=False)
@voice_options
def uninstall(
    agent: str,
    yes: bool,
    dry_run: bool,
    project: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Remove the MCP server from the settings of agents.

    vacr shows the change, and asks before making it. A settings file that has not changed since the
    installation is restored byte for byte, or deleted if the installation created it. From any
    other file, only the entry of vacr is removed.

    \b
    Example:
      vacr mcp uninstall --agent claude-code
      vacr mcp uninstall --yes
    """
    voice, state = Voice(format, quiet, verbose), find_state_folder(os.environ)
    scope = choose_settings_scope(project=project, local=False)
    return SettingsChanger[AgentServers](voice, state, scope, yes, dry_run).change_all(
        select_agents(load_agent_servers(), agent),
        lambda servers, path: plan_server_uninstall(servers, path, state),
        "uninstalled",
    )
