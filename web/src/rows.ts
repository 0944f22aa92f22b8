/** A record as rows, in the order of the conversation. Mirrors `vacr.viewer.rows`, and a test compares both. */

import { hasOwnEntry, listContentParts, listOutputParts, type Part } from "./content-parts";
import { isObject, type Value } from "./json";
import { explainExitCode } from "./exit-codes";
import { buildDiffs, buildShownDiffs, extractCommand, type FileDiff, findEffect, shortenLine, summarizeCall } from "./tool-calls";
import tables from "./tables.json";
import { splitWords } from "./text";

export type Kind = "user" | "assistant" | "reasoning" | "tool" | "event";

/** Members of an error event that may have its message, in the order of trust. */
const REASON_MEMBERS = ["errorMessage", "message", "error", "content", "data"];
const MAX_REASON_DEPTH = 5;
const CHAIN_MEMBERS: Record<string, string[][]> = tables.chainMembers;

/** A step of a conversation: a message, a thought, a tool call with its result, or an event. */
export interface Row {
  kind: Kind;
  /** The JSON Pointer of its entry. */
  place: string;
  /** The id of the entry, or the pointer if it has none. */
  name: string;
  depth: number;
  time: string | number | null;
  model: string;
  /** The sub-agent that made the entry, or "". */
  agent: string;
  parts: Part[];
  tool: string;
  /** A line about a call or an event. */
  summary: string;
  /** The message of an error event or of an answer that failed, in one line; else "". */
  reason: string;
  diffs: FileDiff[];
  /** The result of a call, or null. */
  result: Row | null;
  /** Whether a call or an answer failed, or an event reports an error. */
  isError: boolean;
  /** How a call ended, as in the record; without a result `no-result` or `denied`. */
  status: string;
  exitCode: number | null;
  /** The meaning of an exit code that is not a failure, such as "no match" for grep, or "". */
  meaning: string;
  /** Who wrote a user message, as in the record; "" if the record does not tell. */
  speaker: string;
  /** The words of the person, where a user message has other text as well. */
  prompt: string;
  /** Whether the entry comes from the session that this one was forked from. */
  isInherited: boolean;
  /** Whether it repeats another entry. */
  isRepeated: boolean;
  /** Why the session continued without the entry, or "". */
  superseded: string;
}

/** An entry, and its place in the record. */
interface PlacedEntry {
  place: string;
  entry: Value;
  depth: number;
  parent: Value | null;
}

/** Yield the rows one by one, so that the page can show the first early. */
export function* buildRows(record: Value): Generator<Row> {
  const session = isObject(record?.session) ? record.session : {};
  const agent = String(session["agent-meta"]?.["cli-name"] ?? "");
  const entries: PlacedEntry[] = [];
  flatten(session.entries, "/session/entries", 0, null, entries);
  const results = pairResults(entries);
  const paired = new Set([...results.values()].map((result) => result.place));
  for (const placed of entries) {
    const row = paired.has(placed.place) ? null : buildRow(placed, agent, results.get(placed.place));
    if (row) yield row;
  }
}

/**
 * Return the first result of each call, by the place of the call.
 *
 * Calls may share an id: a result belongs to the last call before it. A result before all calls with its id belongs to
 * the first of them.
 */
function pairResults(entries: PlacedEntry[]): Map<string, PlacedEntry> {
  const results = new Map<string, PlacedEntry>();
  const earlyResults = new Map<string, PlacedEntry>();
  const lastCalls = new Map<string, string>();
  for (const placed of entries) {
    const { type, "call-id": id } = placed.entry;
    if (id === undefined || id === null) continue;
    const name = String(id);
    const call = lastCalls.get(name);
    if (type === "tool-call") {
      lastCalls.set(name, placed.place);
      const early = earlyResults.get(name);
      if (early) results.set(placed.place, early);
      earlyResults.delete(name);
    } else if (type === "tool-result" && call !== undefined) {
      if (!results.has(call)) results.set(call, placed);
    } else if (type === "tool-result" && !earlyResults.has(name)) earlyResults.set(name, placed);
  }
  return results;
}

/** Build the row of an entry with its result; null for a message whose children have all the content. */
function buildRow(placed: PlacedEntry, agent: string, result: PlacedEntry | undefined): Row | null {
  const { entry } = placed;
  const kind = entry.type;
  if (kind === "tool-result") return buildResultRow(placed, placed.depth, agent);
  if (kind === "tool-call") {
    const row = startRow("tool", placed, placed.depth, agent);
    row.tool = String(entry.name ?? "");
    row.summary = summarizeCall(row.tool, entry.input, findEffect(agent, row.tool, entry.input));
    row.diffs = buildDiffs(agent, row.tool, entry.input);
    if (!result) {
      row.status = String(getMarks(entry).status ?? "");
      row.isError = row.status === "denied";
      return row;
    }
    row.result = buildResultRow(result, placed.depth, agent);
    if (!row.diffs.length) row.diffs = buildShownDiffs(result.entry.output);
    row.status = row.result.status;
    row.exitCode = row.result.exitCode;
    row.isError = row.result.isError;
    if (row.exitCode !== null && findEffect(agent, row.tool, entry.input) === "shell") {
      row.meaning = explainExitCode(extractCommand(entry.input), row.exitCode);
      row.isError = row.isError && !row.meaning;
    }
    return row;
  }
  if (kind === "user" || kind === "assistant" || kind === "reasoning") {
    const row = startRow(kind, placed, placed.depth, agent);
    row.parts = listContentParts(entry.content);
    row.isError = kind === "assistant" && isFailedAnswer(entry);
    if (row.isError) row.reason = findReason({ ...entry, content: null });
    return row.parts.length || row.isError || !entry.children?.length ? row : null;
  }
  const row = startRow("event", placed, placed.depth, agent);
  row.summary = String(entry["event-type"] ?? kind);
  row.isError = row.summary.toLowerCase().includes("error");
  if (row.isError) row.reason = findReason(entry);
  return row;
}

/** Return whether the host wrote that the model gave no answer, or broke off, with an error. */
function isFailedAnswer(entry: Value): boolean {
  return entry["stop-reason"] === "error" || entry.isApiErrorMessage === true;
}

/** Return the message of an error event in one line of at most 200 characters, or "". */
function findReason(entry: Value): string {
  return shortenLine(findMessage(entry.data, MAX_REASON_DEPTH) || findMessage(entry, MAX_REASON_DEPTH));
}

/** Return the first text among the members of a value that may have a message, or "". */
function findMessage(value: Value, depth: number): string {
  if (typeof value === "string") return splitWords(value).length ? value : "";
  if (!isObject(value) || !depth) return "";
  for (const name of REASON_MEMBERS) {
    const text = Object.hasOwn(value, name) && findMessage(value[name], depth - 1);
    if (text) return text;
  }
  return "";
}

/**
 * Append entries to `found` with their JSON Pointers, each before its children.
 *
 * Children that the agent wrote before the text of their message, such as the thought before an answer, come before
 * the message. `place` is the pointer of the list, and `first` the number of its first entry.
 */
function flatten(entries: Value, place: string, depth: number, parent: Value | null, found: PlacedEntry[], first = 0): void {
  if (!Array.isArray(entries)) return;
  entries.forEach((entry, index) => {
    if (!isObject(entry)) return;
    const own = `${place}/${first + index}`;
    const children: Value[] = Array.isArray(entry.children) ? entry.children : [];
    const leading = countLeadingChildren(entry, children);
    flatten(children.slice(0, leading), `${own}/children`, depth + 1, entry, found);
    found.push({ place: own, entry, depth, parent });
    flatten(children.slice(leading), `${own}/children`, depth + 1, entry, found, leading);
  });
}

/**
 * Return how many children precede the content, by the native order; an unlisted child follows the one before it.
 *
 * Without an order, the thoughts at the start precede the content: a model thinks before it answers.
 */
function countLeadingChildren(entry: Value, children: Value[]): number {
  const { order } = getMarks(entry);
  let isPastContent = false;
  for (const place of Array.isArray(order) ? order : []) {
    if (typeof place !== "string") continue;
    isPastContent ||= place.startsWith("content");
    const match = isPastContent && /^children\/([0-9]{1,9})$/.exec(place);
    if (match) return Math.min(Number(match[1]), children.length);
  }
  if (isPastContent) return children.length;
  if (beginsWithText(entry.content)) return 0;
  const end = children.findIndex((child) => !isObject(child) || child.type !== "reasoning");
  return end < 0 ? children.length : end;
}

/** Return whether content lists its thoughts and calls as well, and begins with a text. */
function beginsWithText(content: Value): boolean {
  return Array.isArray(content) && content.some(hasOwnEntry) && !hasOwnEntry(content[0]);
}

/** Return a row with the members that all kinds share; time, model and sub-agent may come from the parent entry. */
function startRow(kind: Kind, { place, entry, parent }: PlacedEntry, depth: number, agent: string): Row {
  const above = parent ?? {};
  const marks = getMarks(entry);
  return {
    kind,
    place,
    name: typeof entry.id === "string" && entry.id ? entry.id : place,
    depth,
    time: entry.timestamp ?? above.timestamp ?? null,
    model: String(entry["model-id"] ?? above["model-id"] ?? ""),
    agent: nameSubAgent(entry, agent) || nameSubAgent(above, agent),
    parts: [],
    tool: "",
    summary: "",
    reason: "",
    diffs: [],
    result: null,
    isError: false,
    status: "",
    exitCode: null,
    meaning: "",
    speaker: kind === "user" ? nameSpeaker(entry, marks) : "",
    prompt: kind === "user" && typeof marks.prompt === "string" ? marks.prompt : "",
    isInherited: Boolean(marks.inherited),
    isRepeated: Boolean(marks.repeats),
    superseded: String(marks.superseded ?? ""),
  };
}

/** Return the row of a tool result: its output, and whether the call failed. */
function buildResultRow(placed: PlacedEntry, depth: number, agent: string): Row {
  const { entry } = placed;
  const row = startRow("tool", placed, depth, agent);
  row.parts = listOutputParts(entry.output, tables.jsonOutputs.includes(agent));
  row.isError = entry["is-error"] === true || entry.status === "error" || entry.status === "failed";
  row.status = typeof entry.status === "string" ? entry.status : "";
  const code = getMarks(entry)["exit-code"];
  row.exitCode = typeof code === "bigint" || Number.isInteger(code) ? Number(code) : null;
  return row;
}

/** Return the id of the sub-agent that made an entry; "" if the main agent made it. */
function nameSubAgent(entry: Value, agent: string): string {
  const { "sub-agent": name } = getMarks(entry);
  if (typeof name === "string") return name;
  if (entry.isSidechain === true) return String(entry.agentId || "sub-agent");
  const members = Object.hasOwn(CHAIN_MEMBERS, agent) ? CHAIN_MEMBERS[agent] : [];
  const names = members.map((path) => path.reduce<Value>((value, name) => (isObject(value) ? value[name] : undefined), entry));
  return names.find((name) => typeof name === "string" && name) ?? "";
}

/** Return the member `vacr` of an entry, or an empty object if it has none. */
function getMarks(entry: Value): Value {
  return isObject(entry.vacr) ? entry.vacr : {};
}

/** Return who wrote a user message; "" if neither a label nor the older mark tells. */
function nameSpeaker(entry: Value, marks: Value): string {
  if (typeof marks.speaker === "string") return marks.speaker;
  return entry.isMeta === true ? "host" : "";
}

const SPEAKER_NAMES: Record<string, string> = {
  host: "Host",
  hook: "Hook",
  "parent-agent": "Parent agent",
  unknown: "User (author unknown)",
};
const PLAIN_STATUSES = ["", "success", "error", "failed", "completed"];

/** Return whether a person, or somebody unknown who started the session, wrote a message with something to show. */
export function isPrompt(row: Row): boolean {
  return row.kind === "user" && ["", "human", "unknown"].includes(row.speaker) && (row.prompt !== "" || !isBlank(row));
}

/** Return whether the model's message has nothing to show: no text, no image and no error. */
export function isEmptyAnswer(row: Row): boolean {
  return row.kind === "assistant" && !row.isError && isBlank(row);
}

/** Return whether no part of a row has anything to show. */
export function isBlank(row: Row): boolean {
  return row.parts.every((part) => part.is === "text" && !splitWords(part.text).length);
}

/** Return who wrote a user message, as a heading. */
export function describeSpeaker(row: { speaker: string }): string {
  return SPEAKER_NAMES[row.speaker] ?? "User";
}

/** Return the parts to show: of a prompt that the host added to, the person's words and files. */
export function shownParts(row: Row): Part[] {
  if (!row.prompt) return row.parts;
  return [{ is: "text", text: row.prompt }, ...row.parts.filter((part) => part.is !== "text")];
}

/** Return how a call ended, such as `exit 2`, `denied` or `no result`; "" for a plain success or failure. */
export function describeOutcome(row: Row): string {
  if (row.exitCode) return `exit ${row.exitCode}${row.meaning ? `, ${row.meaning}` : ""}`;
  if (row.status === "no-result" || (row.tool && !row.result && !row.status)) return "no result";
  return PLAIN_STATUSES.includes(row.status) ? "" : row.status;
}
