/** The effect of a tool call in plain words: it reads, searches, edits, runs a command, and so on. */

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
/** Tools that change no file, or whose agent is not known, by name in lower case. */
const ACTS_BY_NAME: Record<string, Act> = {
  read: "read",
  read_file: "read",
  view: "read",
  notebookread: "read",
  grep: "search",
  glob: "search",
  ls: "search",
  list: "search",
  list_dir: "search",
  list_directory: "search",
  grep_files: "search",
  file_search: "search",
  glob_file_search: "search",
  bash: "command",
  shell: "command",
  webfetch: "web",
  websearch: "web",
  web_fetch: "web",
  web_search: "web",
  google_web_search: "web",
  task: "agent",
  agent: "agent",
  spawn_agent: "agent",
  subagent: "agent",
  todoread: "plan",
  todowrite: "plan",
  write_todos: "plan",
  update_plan: "plan",
  taskcreate: "plan",
  taskupdate: "plan",
  tasklist: "plan",
  taskget: "plan",
};
const EDIT_VERBS: Record<string, string> = { edit: "Edited", write: "Wrote", add: "Created", delete: "Deleted", move: "Moved" };
const VERBS: Partial<Record<Act, string>> = { read: "Read", search: "Searched", command: "Ran" };

/** Return the effect of an agent's tool; an unknown tool counts as an ordinary call. */
export function classifyTool(agent: string, tool: string): Act {
  const effect = findEffect(agent, tool) ?? "";
  if (Object.hasOwn(ACTS_BY_EFFECT, effect)) return ACTS_BY_EFFECT[effect];
  const name = tool.toLowerCase();
  return Object.hasOwn(ACTS_BY_NAME, name) ? ACTS_BY_NAME[name] : "call";
}

/** Return the verb of a call, such as "Edited"; or the name of the tool if no plain word is known. */
export function describeAct(row: PageRow): string {
  if (!row.tool) return "Result without a call";
  if (row.act === "edit" && row.diffs.length) return EDIT_VERBS[row.diffs[0].what] ?? "Edited";
  // Tools of MCP servers are named "mcp__server__tool".
  const [prefix, server, ...name] = row.tool.split("__");
  return VERBS[row.act] ?? (prefix === "mcp" && name.length ? `${server}: ${name.join("__")}` : row.tool);
}
