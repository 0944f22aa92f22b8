/** The rows of a session and of its sub-agents in one list: each sub-agent follows the call that started it. */

import { classifyTool, runsCommands } from "./acts";
import type { Part } from "./content-parts";
import { canonicalJson, resolvePointer, type Value } from "./json";
import type { PageRow } from "./protocol";
import { buildRows, type Row } from "./rows";
import { findCommit, findTestRun, mayHaveCommitted } from "./shell-facts";
import { splitThoughts } from "./text";
import { toMilliseconds } from "./time";
import { extractCommand } from "./tool-calls";

/** Yield the rows of all records. The rows of a single record come as soon as each is built. */
export function* buildAllRows(records: Value[]): Generator<PageRow> {
  if (records.length === 1) yield* buildPageRows(records[0], 0);
  else yield* nestSubAgents(records);
}

/** The commands that ran on after their calls, by the id of the later call that shows how each ended. */
type CommandsByEnd = Map<string, string>;

/** Yield the rows of a record. A thought that the agent recorded twice, by itself and in the answer, stays only once. */
function* buildPageRows(record: Value, session: number): Generator<PageRow> {
  let thought = "";
  const commandsByEnd: CommandsByEnd = new Map();
  for (const row of buildRows(record)) {
    if (row.kind === "assistant" && thought) row.parts = row.parts.map((part) => dropThought(part, thought));
    if (row.kind !== "event") thought = row.kind === "reasoning" ? joinTexts(row).trim() : "";
    yield toPageRow(row, session, record, commandsByEnd);
  }
}

/** Return a part of an answer without a thought that it begins with. */
function dropThought(part: Part, thought: string): Part {
  if (part.is !== "text") return part;
  const [written, text] = splitThoughts(part.text);
  return written === thought ? { is: "text", text } : part;
}

function joinTexts(row: Row): string {
  return row.parts.map((part) => (part.is === "text" ? part.text : "")).join("\n\n");
}

/** Return a row with its session, the fragment of a link to it, and what its call did. */
function toPageRow(row: Row, session: number, record: Value, commandsByEnd: CommandsByEnd): PageRow {
  const anchor = session && row.name === row.place ? `${session}:${row.place}` : row.name;
  const agent = String(record.session["agent-meta"]?.["cli-name"] ?? "");
  const call = row.tool ? resolvePointer(record, row.place) : undefined;
  const input = call?.input;
  const act = row.tool ? classifyTool(agent, row.tool, input) : "call";
  const ended = row.result ? commandsByEnd.get(String(call?.["call-id"])) : undefined;
  const command = ended ?? (row.tool && runsCommands(agent, row.tool) ? extractCommand(input) : "");
  const end = command && row.result && resolvePointer(record, row.result.place)?.vacr?.["resolved-by"];
  const isResolved = typeof end === "string" && end !== "";
  const runsOn = isResolved && row.status === "running";
  if (runsOn) commandsByEnd.set(end, command);
  const commit = command ? findCommit(command, row, isResolved && !runsOn) : null;
  return {
    ...row,
    session,
    anchor,
    act,
    tests: command ? findTestRun(command, row) : null,
    commit,
    isCommitUnclear: command !== "" && !commit && !runsOn && mayHaveCommitted(command, row),
  };
}

/** Return the rows of the first record, with the rows of each sub-agent after the call that started it, or at the end. */
function nestSubAgents(records: Value[]): PageRow[] {
  const rowsBySession = records.map((record, session) => [...buildPageRows(record, session)]);
  // The rows of the sub-agents, by the row that started them; null if that row is unknown.
  const started = new Map<PageRow | null, PageRow[]>();
  records.forEach((record, session) => {
    if (!session) return;
    const start = findStartingCall(record, records[0], rowsBySession[0]);
    const agent = nameSubAgent(record?.session?.["session-id"] ?? session);
    for (const row of rowsBySession[session]) {
      row.depth += (start?.depth ?? 0) + 1;
      row.agent ||= agent;
    }
    if (!started.has(start)) started.set(start, []);
    for (const row of rowsBySession[session]) started.get(start)!.push(row);
  });
  const main = rowsBySession[0] ?? [];
  return main.flatMap((row) => [row, ...(started.get(row) ?? [])]).concat(started.get(null) ?? []);
}

/** Return the last part of a session id, which names the sub-agent. */
function nameSubAgent(sessionId: unknown): string {
  return String(sessionId).split("/").pop()!;
}

/**
 * Find the call that started a sub-agent: a call whose result names it, or else the last call before the sub-agent began.
 *
 * Without such a call, return the last row before that time, or null if no row is earlier or the time is unknown.
 */
function findStartingCall(record: Value, parent: Value, rows: PageRow[]): PageRow | null {
  const agent = nameSubAgent(record?.session?.["session-id"] ?? "");
  const calls = rows.filter((row) => row.act === "agent");
  const naming = calls.find(
    (row) => agent && row.result && canonicalJson(findTopLevelEntry(parent, row.result.place)).includes(agent),
  );
  if (naming) return naming;
  const begin = toMilliseconds(record?.session?.["session-start"]);
  if (begin === null) return null;
  const findLastBefore = (list: PageRow[]) => list.findLast((row) => (toMilliseconds(row.time) ?? Infinity) <= begin) ?? null;
  return findLastBefore(calls) ?? findLastBefore(rows);
}

/** Return the top-level entry that contains the value at a JSON Pointer. */
function findTopLevelEntry(record: Value, pointer: string): Value {
  return record.session.entries[Number(pointer.split("/")[3])];
}
