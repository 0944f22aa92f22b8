/** The effect of a tool call in plain words: it reads, searches, edits, runs a command, and so on. */

import type { Value } from "./json";
import type { PageRow } from "./protocol";
import { findEffect } from "./tool-calls";

export type Act = "read" | "search" | "edit" | "command" | "web" | "agent" | "plan" | "call";

/** The acts in the order of a summary, each with its noun in the singular and plural. */
export const ACT_NOUNS: Record<Act, [string, string]> = {
  read: ["read", "reads"],
  search: ["search", "searches"],
  edit: ["edit", "edits"],
  command: ["command", "commands"],
  web: ["web request", "web requests"],
  agent: ["sub-agent", "sub-agents"],
  plan: ["plan update", "plan updates"],
  call: ["other call", "other calls"],
};
export const ACT_ICONS: Record<Act, string> = {
  read: "≡",
  search: "⌕",
  edit: "✎",
  command: "$",
  web: "↗",
  agent: "»",
  plan: "☑",
  call: "•",
};
/** How the name of an MCP server's tool begins. */
const MCP = "mcp__";
const MAX_NAME = 100;
const ACTS_BY_EFFECT: Record<string, Act> = {
  observe: "read",
  gather: "read",
  search: "search",
  replace: "edit",
  write: "edit",
  sketch: "edit",
  patch: "edit",
  delete: "edit",
  shell: "command",
  script: "command",
};
/** Tools whose names hide their effect, by name in lower case. */
const ACTS_BY_NAME: Record<string, Act> = {
  ls: "search",
  task: "agent",
  new_task: "agent",
  agent: "agent",
  agentswarm: "agent",
  taskcreate: "plan",
  taskupdate: "plan",
  tasklist: "plan",
  taskget: "plan",
  task_tracker: "plan",
};
/** The words in the name of a tool that tell its act; the first match counts. */
const ACTS_BY_WORDS: [Act, RegExp][] = [
  ["plan", / (?:todos?|todoread|todowrite|checklist|plan) /],
  ["agent", / (?:subagents?|delegate|spawn) | sub agents? /],
  [
    "call",
    / (?:ask|bash output|get terminal|kill|list (?:agents|bash|powershell)|output|stop|think|(?:read|write) (?:agent|bash|powershell|stdin)) /,
  ],
  ["web", / (?:browse|fetch|internet|url|web|webfetch|webpage|websearch) /],
  ["search", / (?:codebase|find|glob|grep|search|tree) | list (?:dir|directory|files) /],
  ["command", / (?:bash|command|commands|exec|powershell|pwsh|shell|terminal) | run (?:build|tests) /],
  ["read", / (?:notebookread|open|read|view) | get file /],
];
/** Words of tools that change files. A tool that is known to change none is no edit, and an editor may also just show. */
const EDIT_WORDS =
  / (?:apply patch|edit|insert|replace|str replace) | (?:create|delete|move|rename|write) (?:files?|directory|folder) /;
const EDIT_VERBS: Record<string, string> = { edit: "Edited", write: "Wrote", add: "Created", delete: "Deleted", move: "Moved" };
const VERBS: Partial<Record<Act, string>> = { read: "Read", search: "Searched", command: "Ran", plan: "Plan" };

/** Return the effect of an agent's tool, by its name if nothing else tells; an unknown tool counts as an ordinary call. */
export function classifyTool(agent: string, tool: string, input: Value): Act {
  const effect = findEffect(agent, tool, input) ?? "";
  if (Object.hasOwn(ACTS_BY_EFFECT, effect)) return ACTS_BY_EFFECT[effect];
  const name = tool.toLowerCase();
  if (Object.hasOwn(ACTS_BY_NAME, name)) return ACTS_BY_NAME[name];
  // The tool of an MCP server keeps its name: its words may mean anything.
  if (name.startsWith(MCP)) return "call";
  const words = spellOut(tool);
  const act = ACTS_BY_WORDS.find(([, pattern]) => pattern.test(words))?.[0];
  return act ?? (!effect && EDIT_WORDS.test(words) && !words.includes(" editor ") ? "edit" : "call");
}

/** Return whether the input of a tool is a command, so that tests and commits can be found in it. */
export function runsCommands(agent: string, tool: string): boolean {
  const effect = findEffect(agent, tool);
  return effect === "shell" || effect === "script" || (!effect && /^(?:bash|shell)$/i.test(tool));
}

/** Return the words of a name such as "copilot_readFile", in lower case and with a blank on either side. */
function spellOut(tool: string): string {
  const words = tool.slice(0, MAX_NAME).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
  return ` ${words
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join(" ")} `;
}

/** Return the verb of a call, such as "Edited"; or the name of the tool if no plain word is known. */
export function describeAct(row: PageRow): string {
  if (!row.tool) return "Result without a call";
  if (row.act === "edit") return describeEdit(row);
  // Tools of MCP servers are named "mcp__server__tool".
  const [prefix, server, ...name] = row.tool.split("__");
  return VERBS[row.act] ?? (`${prefix}__` === MCP && name.length ? `${server}: ${name.join("__")}` : row.tool);
}

/** Return the verb of an edit: by its change, or by the name of the tool if the record does not have the change. */
function describeEdit(row: PageRow): string {
  if (row.diffs.length) return EDIT_VERBS[row.diffs[0].what] ?? "Edited";
  const word = / (create|write|delete|move) /.exec(spellOut(row.tool))?.[1] ?? "";
  return EDIT_VERBS[word === "create" ? "add" : word] ?? "Edited";
}
