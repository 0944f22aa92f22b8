/** Conversations of a session and its sub-agents as one list of rows: each sub-agent under the call that started it. */

import { canonical, type Value } from "./json";
import type { Shown } from "./protocol";
import { type Row, rowsOf } from "./rows";
import { milliseconds } from "./times";

const STARTING = new Set(["task", "agent", "spawn_agent", "subagent"]);

/** Give the rows of all records; those of a single one come as they are made. */
export function* nested(records: Value[]): Generator<Shown> {
  if (records.length === 1) for (const row of rowsOf(records[0])) yield shown(row, 0);
  else yield* together(records);
}

function together(records: Value[]): Shown[] {
  const all = records.map((record, session) => Array.from(rowsOf(record), (row) => shown(row, session)));
  const under = new Map<Shown | null, Shown[][]>();
  records.forEach((record, session) => {
    if (!session) return;
    const place = starter(record, records[0], all[0]);
    const agent = String(record?.session?.["session-id"] ?? session)
      .split("/")
      .pop()!;
    for (const row of all[session]) {
      row.depth += (place?.depth ?? 0) + 1;
      row.agent ||= agent;
    }
    under.set(place, [...(under.get(place) ?? []), all[session]]);
  });
  const found: Shown[] = [];
  for (const row of all[0] ?? []) {
    found.push(row);
    for (const rows of under.get(row) ?? []) for (const one of rows) found.push(one);
  }
  for (const rows of under.get(null) ?? []) for (const one of rows) found.push(one);
  return found;
}

function shown(row: Row, session: number): Shown {
  return { ...row, session, anchor: session && row.name === row.place ? `${session}:${row.place}` : row.name };
}

/** Find the call that started a sub-agent: one whose result names it, or else the last one before its first time. */
function starter(record: Value, parent: Value, rows: Shown[]): Shown | null {
  const agent = String(record?.session?.["session-id"] ?? "")
    .split("/")
    .pop()!;
  const calls = rows.filter((row) => row.kind === "tool" && STARTING.has(row.tool.toLowerCase()));
  const named = calls.find((row) => agent && row.result && canonical(holder(parent, row.result.place)).includes(agent));
  if (named) return named;
  const first = milliseconds(record?.session?.["session-start"]);
  if (first === null) return null;
  const before = (list: Shown[]) => list.findLast((row) => (milliseconds(row.time) ?? Infinity) <= first) ?? null;
  return before(calls) ?? before(rows);
}

/** Give the entry of the session that holds what a pointer names. */
function holder(record: Value, place: string): Value {
  return record.session.entries[Number(place.split("/")[3])];
}
