/** The overview of a page: sessions, totals, a timeline, and the files that the sessions changed. */

import { isObject, type Value } from "./json";
import { collectFileChanges } from "./file-changes";
import type { AttributedFile, Overview, PageRow, Range, Session, Story, Totals } from "./protocol";
import { isEmptyAnswer, isPrompt } from "./rows";
import { splitThoughts } from "./text";
import { spellTime } from "./time";
import { divideTimeline } from "./timeline-buckets";

/** Build the overview; names and sizes belong to the records, rows come from all records, totals were counted before. */
export function buildOverview(
  records: Value[],
  names: string[],
  sizes: number[],
  rows: PageRow[],
  totals: Totals | null,
): Overview {
  const tools = new Map<string, number>();
  for (const row of rows) if (row.tool) tools.set(row.tool, (tools.get(row.tool) ?? 0) + 1);
  const [buckets, bucketOfRow, span] = divideTimeline(rows, collectOutputTokens(records));
  return {
    sessions: records.map((record, index) => describeSession(record, names[index], sizes[index])),
    story: tellStory(rows),
    changes: collectFileChanges(records, rows),
    totals: totals ?? NO_TOTALS,
    buckets,
    bucketOfRow,
    span,
    files: records.flatMap(listAttributedFiles),
    tools: [...tools].sort((left, right) => right[1] - left[1]),
    count: rows.length,
  };
}

/** Find the rows with the request, the outcome and the checks of the outcome. Sub-agents and repeated rows do not count. */
function tellStory(rows: PageRow[]): Story {
  const story: Story = {
    asked: -1,
    task: -1,
    outcome: -1,
    answered: -1,
    unanswered: 0,
    laterCalls: 0,
    tests: -1,
    commits: [],
    unclearCommit: -1,
  };
  let firstPrompt = -1;
  let lastPrompt = -1;
  rows.forEach((row, at) => {
    if (row.isRepeated) return;
    if (row.tests) story.tests = at;
    if (row.commit) story.commits.push(at);
    if (row.isCommitUnclear) story.unclearCommit = at;
    if (row.agent) return;
    if (isPrompt(row) && hasText(row)) {
      if (firstPrompt < 0) firstPrompt = at;
      lastPrompt = at;
      story.unanswered += 1;
    } else if (row.kind === "user" && row.speaker === "parent-agent") {
      if (story.task < 0 && hasText(row)) story.task = at;
    } else if (row.kind !== "event" && row.kind !== "user" && !isEmptyAnswer(row)) {
      // The agent acts: so the prompt before it was a request, and not a command to the program such as /model.
      if (story.asked < 0) story.asked = lastPrompt;
      if (row.kind === "tool") story.laterCalls += 1;
      if (row.kind === "assistant" && hasAnswer(row)) {
        [story.outcome, story.answered, story.unanswered, story.laterCalls] = [at, lastPrompt, 0, 0];
      }
    }
  });
  if (story.asked < 0) story.asked = firstPrompt;
  if (story.asked >= 0) story.task = -1;
  return story;
}

/** Return whether a row has a text that is not blank. */
function hasText(row: PageRow): boolean {
  return row.prompt !== "" || row.parts.some((part) => part.is === "text" && part.text.trim() !== "");
}

/** Return whether an answer has a text besides thoughts. */
function hasAnswer(row: PageRow): boolean {
  const text = row.parts.map((part) => (part.is === "text" ? part.text : "")).join("\n\n");
  return splitThoughts(text)[1].trim() !== "";
}

/** Return the facts about the session of a record; unknown ones are "". */
export function describeSession(record: Value, name: string, size: number): Session {
  const session = isObject(record.session) ? record.session : {};
  const meta = isObject(session["agent-meta"]) ? session["agent-meta"] : {};
  const recorder = isObject(record["recording-agent"]) ? record["recording-agent"] : {};
  const vcs = [record.vcs, session.environment?.vcs].find(isObject) ?? {};
  const text = (value: Value) => (value === undefined || value === null ? "" : String(value));
  return {
    name,
    size,
    sessionId: text(session["session-id"]),
    agent: [meta["cli-name"], meta["cli-version"]].map(text).filter(Boolean).join(" "),
    models: (Array.isArray(meta.models) && meta.models.length ? meta.models : [meta["model-id"]]).map(text).filter(Boolean),
    branch: text(vcs.branch),
    revision: text(vcs.revision),
    folder: text(session.environment?.["working-dir"]),
    start: spellTime(session["session-start"]),
    recorder: [recorder.name, recorder.version].map(text).filter(Boolean).join(" "),
    version: text(record.version),
    id: text(record.id),
    parent: text(record.vacr?.parent?.["session-id"]),
  };
}

const NO_TOTALS: Totals = {
  prompts: 0,
  calls: 0,
  errors: 0,
  failed: 0,
  input: 0,
  output: 0,
  cost: "",
  milliseconds: 0,
  files: 0,
  added: 0,
  removed: 0,
  tools: [],
  models: [],
};

/** Return the output tokens of each entry, by session and pointer. */
function collectOutputTokens(records: Value[]): Map<string, number> {
  const outputTokens = new Map<string, number>();
  records.forEach((record, number) => {
    visitEntries(record.session?.entries, `${number}:/session/entries`, (entry, place) => {
      const usage = entry["token-usage"];
      if (!isObject(usage) || entry.vacr?.inherited) return;
      const { output } = usage;
      outputTokens.set(place, typeof output === "bigint" || Number.isInteger(output) ? Number(output) : 0);
    });
  });
  return outputTokens;
}

/** Call `visit` for each entry and its children; `place` is the pointer of the list. */
function visitEntries(entries: Value, place: string, visit: (entry: Value, place: string) => void): void {
  if (!Array.isArray(entries)) return;
  entries.forEach((entry, number) => {
    if (!isObject(entry)) return;
    visit(entry, `${place}/${number}`);
    visitEntries(entry.children, `${place}/${number}/children`, visit);
  });
}

/** Return the files in the attribution of a record, with their ranges in order of lines; empty if it has none. */
function listAttributedFiles(record: Value, session: number): AttributedFile[] {
  const files = record["file-attribution"]?.files ?? record.files;
  const proofs = isObject(record.vacr?.attribution?.files) ? record.vacr.attribution.files : {};
  return listObjects(files).map((file) => {
    const path = String(file.path ?? "");
    const proof = Object.hasOwn(proofs, path) ? proofs[path] : {};
    return {
      session,
      path,
      complete: proof.complete === true,
      ranges: listRanges(file, proof).sort((left, right) => left.start - right.start),
      unplaced: listObjects(proof["content-only"]).map((change) => String(change.entries?.[0] ?? "")),
    };
  });
}

/** Return the attributed ranges of a file, with the evidence that vacr recorded for them. */
function listRanges(file: Value, proof: Value): Range[] {
  const proofs = new Map(listObjects(proof.ranges).map((range) => [`${range["start-line"]}-${range["end-line"]}`, range]));
  return listObjects(file.conversations).flatMap((conversation) =>
    listObjects(conversation.ranges).map((range) => {
      const contributor = range.contributor ?? conversation.contributor ?? {};
      const start = Number(range["start-line"] ?? range.start_line ?? 0);
      const end = Number(range["end-line"] ?? range.end_line ?? 0);
      const rangeProof = proofs.get(`${start}-${end}`) ?? {};
      return {
        start,
        end,
        type: String(contributor.type ?? "unknown"),
        model: String(contributor["model-id"] ?? contributor.model_id ?? ""),
        evidence: String(rangeProof.evidence ?? ""),
        hash: String(range["content-hash"] ?? range.content_hash ?? ""),
        entries: Array.isArray(rangeProof.entries) ? rangeProof.entries.map(String) : [],
      };
    }),
  );
}

/** Return the objects in a list; empty if the value is not a list. */
function listObjects(value: Value): Value[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
