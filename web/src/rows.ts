/** A record as rows, in the order of the conversation. Mirrors `vacr.viewer.rows`, and a test compares both. */

import { listContentParts, listOutputParts, type Part } from "./content-parts";
import { isObject, type Value } from "./json";
import { buildDiffs, type FileDiff, summarizeCall } from "./tool-calls";

export type Kind = "user" | "assistant" | "reasoning" | "tool" | "event";
export const KINDS: Kind[] = ["user", "assistant", "reasoning", "tool", "event"];

export interface Row {
  kind: Kind;
  /** The JSON Pointer of its entry. */
  place: string;
  /** The id of the entry, or the pointer if it has none. */
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
  /** Whether the agent, not the user, wrote this user message, and marked it so. */
  isInjected: boolean;
  isRepeated: boolean;
  superseded: string;
}

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
  const results = new Map<string, PlacedEntry>();
  const calls = new Set<string>();
  for (const placed of entries) {
    const id = placed.entry["call-id"];
    if (placed.entry.type === "tool-result" && id !== undefined && id !== null && !results.has(String(id)))
      results.set(String(id), placed);
    if (placed.entry.type === "tool-call" && id !== undefined) calls.add(String(id));
  }
  for (const placed of entries) {
    const row = buildRow(placed, agent, results, calls);
    if (row) yield row;
  }
}

/** Build the row of an entry; null for a result that is shown with its call, and for a message whose children have all the content. */
function buildRow(placed: PlacedEntry, agent: string, results: Map<string, PlacedEntry>, calls: Set<string>): Row | null {
  const { entry } = placed;
  const kind = entry.type;
  if (kind === "tool-result") {
    const call = String(entry["call-id"] ?? null);
    return !calls.has(call) || results.get(call)?.entry !== entry ? buildResultRow(placed, placed.depth) : null;
  }
  if (kind === "tool-call") {
    const row = startRow("tool", placed, placed.depth);
    row.tool = String(entry.name ?? "");
    row.summary = summarizeCall(row.tool, entry.input);
    row.diffs = buildDiffs(agent, row.tool, entry.input);
    const result = results.get(String(entry["call-id"]));
    if (result) {
      row.result = buildResultRow(result, placed.depth);
      row.isError = row.result.isError;
    }
    return row;
  }
  if (kind === "user" || kind === "assistant" || kind === "reasoning") {
    const row = startRow(kind, placed, placed.depth);
    row.parts = listContentParts(entry.content);
    return row.parts.length || !entry.children?.length ? row : null;
  }
  const row = startRow("event", placed, placed.depth);
  row.summary = String(entry["event-type"] ?? kind);
  row.isError = row.summary.toLowerCase().includes("error");
  return row;
}

function flatten(entries: Value, place: string, depth: number, parent: Value | null, found: PlacedEntry[]): void {
  if (!Array.isArray(entries)) return;
  entries.forEach((entry, number) => {
    if (!isObject(entry)) return;
    found.push({ place: `${place}/${number}`, entry, depth, parent });
    flatten(entry.children, `${place}/${number}/children`, depth + 1, entry, found);
  });
}

function startRow(kind: Kind, { place, entry, parent }: PlacedEntry, depth: number): Row {
  const above = parent ?? {};
  const marks = isObject(entry.vacr) ? entry.vacr : {};
  return {
    kind,
    place,
    name: typeof entry.id === "string" && entry.id ? entry.id : place,
    depth,
    time: entry.timestamp ?? above.timestamp ?? null,
    model: String(entry["model-id"] ?? above["model-id"] ?? ""),
    agent: nameSubAgent(entry) || nameSubAgent(above),
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

function buildResultRow(placed: PlacedEntry, depth: number): Row {
  const { entry } = placed;
  const row = startRow("tool", placed, depth);
  row.parts = listOutputParts(entry.output);
  row.isError = entry["is-error"] === true || entry.status === "error" || entry.status === "failed";
  return row;
}

function nameSubAgent(entry: Value): string {
  return entry.isSidechain === true ? String(entry.agentId || "sub-agent") : "";
}
