/** What a page says of its records as a whole: who talked, how much, when, and which files came of it. */

import { isObject } from "./diffs";
import type { Value } from "./json";
import type { AttributedFile, Bucket, Overview, Session, Shown, Totals } from "./protocol";
import { summed } from "./sums";
import { milliseconds, timeText } from "./times";

const BUCKETS = 120;
const MOST_COST = 1e15;

export function overviewOf(records: Value[], names: string[], sizes: number[], rows: Shown[]): Overview {
  const tools = new Map<string, number>();
  for (const row of rows) if (row.tool) tools.set(row.tool, (tools.get(row.tool) ?? 0) + 1);
  const spent = new Map<string, number>();
  const totals = totalsOf(records, rows, spent);
  const [buckets, span] = bucketsOf(rows, spent);
  return {
    sessions: records.map((record, at) => sessionOf(record, names[at], sizes[at])),
    totals,
    buckets,
    span,
    files: records.flatMap(filesOf),
    tools: [...tools].sort((one, other) => other[1] - one[1]),
    count: rows.length,
  };
}

function sessionOf(record: Value, name: string, size: number): Session {
  const session = isObject(record.session) ? record.session : {};
  const meta = isObject(session["agent-meta"]) ? session["agent-meta"] : {};
  const recorder = isObject(record["recording-agent"]) ? record["recording-agent"] : {};
  const text = (value: Value) => (value === undefined || value === null ? "" : String(value));
  return {
    name,
    size,
    sessionId: text(session["session-id"]),
    agent: [meta["cli-name"], meta["cli-version"]].map(text).filter(Boolean).join(" "),
    models: (Array.isArray(meta.models) && meta.models.length ? meta.models : [meta["model-id"]]).map(text).filter(Boolean),
    folder: text(session.environment?.["working-dir"]),
    start: timeText(session["session-start"]),
    recorder: [recorder.name, recorder.version].map(text).filter(Boolean).join(" "),
    version: text(record.version),
    id: text(record.id),
    parent: text(record.vacr?.parent?.["session-id"]),
  };
}

/** Add up what the records say; `spent` is filled with the output tokens of each entry, by session and pointer. */
function totalsOf(records: Value[], rows: Shown[], spent: Map<string, number>): Totals {
  const found: Totals = { prompts: 0, calls: 0, errors: 0, input: 0, output: 0, cost: 0, milliseconds: 0, tools: [], models: [] };
  for (const row of rows) {
    if (row.isInherited || row.isRepeated) continue;
    found.prompts += Number(row.kind === "user" && !row.isInjected);
    found.calls += Number(row.kind === "tool" && row.tool !== "");
    found.errors += Number(row.isError);
    if (row.tool) found.tools.push({ name: row.tool, value: 1, failed: Number(row.isError) });
  }
  records.forEach((record, number) => {
    const usual = record.session?.["agent-meta"]?.["model-id"] ?? "unknown";
    walk(record.session?.entries, `${number}:/session/entries`, (entry, place) => {
      const usage = entry["token-usage"];
      if (!isObject(usage) || entry.vacr?.inherited) return;
      const count = (name: string) =>
        typeof usage[name] === "bigint" || Number.isInteger(usage[name]) ? Number(usage[name]) : 0;
      found.input += count("input");
      found.output += count("output");
      found.cost += typeof usage.cost === "number" || typeof usage.cost === "bigint" ? costOf(Number(usage.cost)) : 0;
      spent.set(place, count("output"));
      found.models.push({ name: String(entry["model-id"] ?? usual), value: count("output") });
    });
  });
  found.tools = summed(found.tools);
  found.models = summed(found.models);
  const ends = ["session-start", "session-end"].map((name) => milliseconds(records[0]?.session?.[name]));
  found.milliseconds = ends[0] !== null && ends[1] !== null ? Math.max(0, ends[1] - ends[0]) : 0;
  return found;
}

/** What is said to cost more than anything does counts as that, so that there is always a sum. */
function costOf(cost: number): number {
  return Math.max(-MOST_COST, Math.min(cost, MOST_COST));
}

function walk(entries: Value, place: string, visit: (entry: Value, place: string) => void): void {
  if (!Array.isArray(entries)) return;
  entries.forEach((entry, number) => {
    if (!isObject(entry)) return;
    visit(entry, `${place}/${number}`);
    walk(entry.children, `${place}/${number}/children`, visit);
  });
}

/** Part the conversation by time, or by rows where there are no times. */
function bucketsOf(rows: Shown[], spent: Map<string, number>): [Bucket[], [string, string] | null] {
  const times = rows.map((row) => milliseconds(row.time));
  const known = times.filter((time) => time !== null);
  const [least, most] = known.reduce(([low, high], time) => [Math.min(low, time), Math.max(high, time)], [Infinity, -Infinity]);
  const timed = known.length > rows.length / 2 && most > least;
  const count = Math.min(BUCKETS, rows.length);
  const buckets: Bucket[] = Array.from({ length: count }, () => ({ first: -1, rows: 0, tokens: 0, errors: 0, prompts: 0 }));
  let last = 0;
  rows.forEach((row, at) => {
    const time = times[at];
    const share = timed ? (time === null ? last : (time - least) / (most - least)) : at / rows.length;
    last = share;
    const bucket = buckets[Math.min(count - 1, Math.floor(share * count))];
    if (bucket.first < 0) bucket.first = at;
    bucket.rows += 1;
    bucket.errors += Number(row.isError);
    bucket.prompts += Number(row.kind === "user" && !row.isInjected);
    // The tokens of an entry are told once, though it may be seen as several rows.
    const key = `${row.session}:${row.place.replace(/\/children\/.*$/, "")}`;
    bucket.tokens += spent.get(key) ?? 0;
    spent.delete(key);
  });
  return [buckets, timed ? [timeText(least), timeText(most)] : null];
}

function filesOf(record: Value, session: number): AttributedFile[] {
  const files = record["file-attribution"]?.files ?? record.files;
  const proofs = isObject(record.vacr?.attribution?.files) ? record.vacr.attribution.files : {};
  return (Array.isArray(files) ? files : []).filter(isObject).map((file: Value) => {
    const path = String(file.path ?? "");
    const proof = Object.hasOwn(proofs, path) ? proofs[path] : {};
    const proved = new Map<string, Value>(
      (Array.isArray(proof.ranges) ? proof.ranges : [])
        .filter(isObject)
        .map((one: Value) => [`${one["start-line"]}-${one["end-line"]}`, one]),
    );
    const ranges = (Array.isArray(file.conversations) ? file.conversations : []).filter(isObject).flatMap((conversation: Value) =>
      (Array.isArray(conversation.ranges) ? conversation.ranges : []).filter(isObject).map((range: Value) => {
        const who = range.contributor ?? conversation.contributor ?? {};
        const start = Number(range["start-line"] ?? range.start_line ?? 0);
        const end = Number(range["end-line"] ?? range.end_line ?? 0);
        const shown = proved.get(`${start}-${end}`) ?? {};
        return {
          start,
          end,
          type: String(who.type ?? "unknown"),
          model: String(who["model-id"] ?? who.model_id ?? ""),
          evidence: String(shown.evidence ?? ""),
          hash: String(range["content-hash"] ?? range.content_hash ?? ""),
          entries: Array.isArray(shown.entries) ? shown.entries.map(String) : [],
        };
      }),
    );
    const loose = (Array.isArray(proof["content-only"]) ? proof["content-only"] : [])
      .filter(isObject)
      .map((one: Value) => String(one.entries?.[0] ?? ""));
    return {
      session,
      path,
      complete: proof.complete === true,
      ranges: ranges.sort((one: Value, other: Value) => one.start - other.start),
      loose,
    };
  });
}
