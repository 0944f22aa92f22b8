/** A record as rows, in the order of the conversation, as `vacr.viewer.rows` gives them. A test compares both. */

import { type FileDiff, diffsOf, isObject } from "./diffs";
import type { Value } from "./json";
import { outputsOf, type Part, partsOf } from "./parts";
import { summaryOf } from "./summaries";

export type Kind = "user" | "assistant" | "reasoning" | "tool" | "event";
export const KINDS: Kind[] = ["user", "assistant", "reasoning", "tool", "event"];

export interface Row {
  kind: Kind;
  /** The JSON Pointer of its entry. */
  place: string;
  /** The entry's own id, or else the pointer. */
  name: string;
  depth: number;
  time: string | number | null;
  model: string;
  agent: string;
  parts: Part[];
  tool: string;
  summary: string;
  diffs: FileDiff[];
  result: Row | null;
  isError: boolean;
  isInherited: boolean;
  /** Whether the agent put it into the user's mouth, and says so. */
  isInjected: boolean;
  isRepeated: boolean;
  superseded: string;
}

interface Held {
  place: string;
  entry: Value;
  depth: number;
  parent: Value | null;
}

/** Give the rows one by one, so that the first can be shown before the last is made. */
export function* rowsOf(record: Value): Generator<Row> {
  const session = isObject(record?.session) ? record.session : {};
  const agent = String(session["agent-meta"]?.["cli-name"] ?? "");
  const entries: Held[] = [];
  flatten(session.entries, "/session/entries", 0, null, entries);
  const results = new Map<string, Held>();
  const calls = new Set<string>();
  for (const one of entries) {
    const id = one.entry["call-id"];
    if (one.entry.type === "tool-result" && id !== undefined && id !== null && !results.has(String(id)))
      results.set(String(id), one);
    if (one.entry.type === "tool-call" && id !== undefined) calls.add(String(id));
  }
  for (const one of entries) {
    const row = rowOf(one, agent, results, calls);
    if (row) yield row;
  }
}

function rowOf(held: Held, agent: string, results: Map<string, Held>, calls: Set<string>): Row | null {
  const { entry } = held;
  const kind = entry.type;
  if (kind === "tool-result") {
    const call = String(entry["call-id"] ?? null);
    return !calls.has(call) || results.get(call)?.entry !== entry ? resultOf(held, held.depth) : null;
  }
  if (kind === "tool-call") {
    const row = begin("tool", held, held.depth);
    row.tool = String(entry.name ?? "");
    row.summary = summaryOf(row.tool, entry.input);
    row.diffs = diffsOf(agent, row.tool, entry.input);
    const found = results.get(String(entry["call-id"]));
    if (found) {
      row.result = resultOf(found, held.depth);
      row.isError = row.result.isError;
    }
    return row;
  }
  if (kind === "user" || kind === "assistant" || kind === "reasoning") {
    const row = begin(kind, held, held.depth);
    row.parts = partsOf(entry.content);
    return row.parts.length || !entry.children?.length ? row : null;
  }
  const row = begin("event", held, held.depth);
  row.summary = String(entry["event-type"] ?? kind);
  row.isError = row.summary.toLowerCase().includes("error");
  return row;
}

function flatten(entries: Value, place: string, depth: number, parent: Value | null, found: Held[]): void {
  if (!Array.isArray(entries)) return;
  entries.forEach((entry, number) => {
    if (!isObject(entry)) return;
    found.push({ place: `${place}/${number}`, entry, depth, parent });
    flatten(entry.children, `${place}/${number}/children`, depth + 1, entry, found);
  });
}

function begin(kind: Kind, { place, entry, parent }: Held, depth: number): Row {
  const above = parent ?? {};
  const marks = isObject(entry.vacr) ? entry.vacr : {};
  return {
    kind,
    place,
    name: typeof entry.id === "string" && entry.id ? entry.id : place,
    depth,
    time: entry.timestamp ?? above.timestamp ?? null,
    model: String(entry["model-id"] ?? above["model-id"] ?? ""),
    agent: agentOf(entry) || agentOf(above),
    parts: [],
    tool: "",
    summary: "",
    diffs: [],
    result: null,
    isError: false,
    isInherited: Boolean(marks.inherited),
    isInjected: kind === "user" && entry.isMeta === true,
    isRepeated: Boolean(marks.repeats),
    superseded: String(marks.superseded ?? ""),
  };
}

function resultOf(held: Held, depth: number): Row {
  const row = begin("tool", held, depth);
  row.parts = outputsOf(held.entry.output);
  row.isError = held.entry["is-error"] === true || held.entry.status === "error" || held.entry.status === "failed";
  return row;
}

function agentOf(entry: Value): string {
  return entry.isSidechain === true ? String(entry.agentId || "sub-agent") : "";
}
