/** The items of the conversation that fold rows: groups of actions, context, and sub-agents. */

import { ACT_NOUNS, type Act } from "./acts";
import { shortenPath } from "./file-changes";
import { LineCounts } from "./line-counts";
import type { PageState } from "./page-state";
import type { PageRow } from "./protocol";
import { describeSpeaker, isBlank } from "./rows";
import { formatNumber, makeVisible, pluralize, truncate } from "./text";
import type { Item } from "./turns";

const MAX_FILES = 3;
const MAX_KINDS = 4;
const MAX_SUBJECTS = 3;
const MAX_SUBJECT = 50;
/** The beginning of a command that only changes the folder. */
const FOLDER_CHANGE = /^(?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*/;
const MAX_LABEL = 60;
const MAX_TOOL = 30;
const MAX_ANSWER = 160;
/** A name without meaning, such as "call_15c3877e300e" or a UUID. */
const ID = /(?=[0-9a-f]*\d)[0-9a-f]{6}/i;

interface Props {
  item: Item;
  state: PageState;
  toggle: () => void;
}

/** The line of an item that folds rows; a click opens and closes it. */
export function FoldedItem({ item, state, toggle }: Props) {
  const rows = item.members.map((at) => state.rows[at]);
  return (
    <button type="button" class="fold" aria-expanded={item.open} onClick={toggle}>
      {item.is === "group" && <GroupLine rows={rows} state={state} />}
      {item.is === "context" && <ContextLine rows={rows} />}
      {item.is === "agent" && <AgentLine rows={rows} />}
    </button>
  );
}

/** A number of calls of one kind, such as "3 edits", and how many of them failed, such as ", 1 failed". */
interface ActCount {
  text: string;
  failed: string;
}

/** Return a group in words, such as "12 reads · 3 edits · 1 command failed". */
function describeGroup(rows: PageRow[]): ActCount[] {
  const calls = rows.filter((row) => row.kind === "tool");
  const counts = (Object.keys(ACT_NOUNS) as Act[]).flatMap((act) => {
    const all = calls.filter((row) => row.act === act);
    if (!all.length) return [];
    const failed = all.filter((row) => row.isError).length;
    const noun = act === "call" ? nameCalls(all) : ACT_NOUNS[act][all.length === 1 ? 0 : 1];
    return {
      text: `${formatNumber(all.length)} ${noun}`,
      failed: !failed ? "" : failed === all.length ? " failed" : `, ${formatNumber(failed)} failed`,
    };
  });
  const thoughts = rows.filter((row) => row.kind === "reasoning" && row.parts.length).length;
  return thoughts && !calls.length ? [{ text: pluralize(thoughts, "thought"), failed: "" }] : counts;
}

/** Return a noun for calls of tools without a plain word: the tool or the server that all of them share. */
function nameCalls(calls: PageRow[]): string {
  const names = new Set(calls.map((row) => (row.tool.startsWith("mcp__") ? row.tool.split("__")[1] : row.tool)));
  const [name] = names.size === 1 ? names : ["other"];
  return `${truncate(makeVisible(name), MAX_TOOL)} ${calls.length === 1 ? "call" : "calls"}`;
}

/** A group of calls: how many of each act, the files with their lines, and the last test run. */
function GroupLine({ rows, state }: { rows: PageRow[]; state: PageState }) {
  const described = describeGroup(rows);
  const tests = rows.findLast((row) => row.tests)?.tests;
  return (
    <>
      <span class="what">
        {described.length
          ? described.map(({ text, failed }, at) => (
              <>
                {at > 0 && " · "}
                {text}
                {failed && <span class="minus">{failed}</span>}
              </>
            ))
          : "thoughts, encrypted by the provider"}
      </span>
      <span class="summary">{listSubjects(rows).join(" · ")}</span>
      <span class="touched">
        {tests && (
          <span class={tests.passed === false ? "minus" : tests.passed ? "plus" : ""}>
            {makeVisible(tests.program)} {tests.passed === false ? "✗" : tests.passed ? "✓" : "?"}
          </span>
        )}
        <Files rows={rows} state={state} />
      </span>
    </>
  );
}

/** Return what the calls of a group were about, without the tests and the changed files, which it shows with their results. */
function listSubjects(rows: PageRow[]): string[] {
  const calls = rows.filter((row) => row.kind === "tool" && row.act !== "plan" && !row.diffs.length && !row.tests);
  const changed = new Set(rows.flatMap((row) => row.diffs.map((diff) => nameFile(diff.path))));
  const names = [...new Set(calls.map(nameSubject))].filter((name) => name && !changed.has(name));
  return names.length > MAX_SUBJECTS ? [...names.slice(0, MAX_SUBJECTS), "…"] : names;
}

/** Return the last part of a path. */
function nameFile(path: string): string {
  return path.split(/[\\/]/).pop()!;
}

/** Return the command, the file or the other subject of a call in a few letters; "" if its input is just an object. */
function nameSubject({ act, summary }: PageRow): string {
  const text = act === "read" ? nameFile(summary) : act === "command" ? summary.replace(FOLDER_CHANGE, "") : summary;
  return text.startsWith("{") ? "" : truncate(makeVisible(text), MAX_SUBJECT);
}

/** The files that calls changed, with their added and removed lines; failed calls do not count. */
function Files({ rows, state }: { rows: PageRow[]; state: PageState }) {
  const files = new Map<string, [number, number]>();
  for (const row of rows)
    for (const diff of row.isError ? [] : row.diffs) {
      const [added, removed] = files.get(diff.path) ?? [0, 0];
      const count = (mark: string) => diff.lines.filter((line) => line[0] === mark).length;
      files.set(diff.path, [added + count("+"), removed + count("-")]);
    }
  const folder = state.sessions[rows[0].session]?.folder ?? "";
  return (
    <>
      {[...files].slice(0, MAX_FILES).map(([path, [added, removed]]) => (
        <span class="touch" title={makeVisible(shortenPath(path, folder))}>
          {makeVisible(nameFile(path))} <LineCounts added={added} removed={removed} />
        </span>
      ))}
      {files.size > MAX_FILES && <span class="touch">and {files.size - MAX_FILES} more</span>}
    </>
  );
}

/** Context: the number of messages of the host and events, and their kinds. */
function ContextLine({ rows }: { rows: PageRow[] }) {
  const kinds = [...new Set(rows.map(nameContext))];
  return (
    <>
      <span class="what">context ({formatNumber(rows.length)})</span>
      <span class="summary">
        {truncate(makeVisible(kinds.slice(0, MAX_KINDS).join(", ")), 120)}
        {kinds.length > MAX_KINDS ? " …" : ""}
      </span>
    </>
  );
}

/** Return the kind of a row in the background in words. */
function nameContext(row: PageRow): string {
  if (row.kind === "assistant") return "answer without text";
  if (row.kind === "user" && isBlank(row)) return "message without text";
  return row.kind === "user" ? describeSpeaker(row).toLowerCase() : row.summary;
}

/** A sub-agent: its name, its actions, and the beginning of its last answer. */
function AgentLine({ rows }: { rows: PageRow[] }) {
  const answer = rows.findLast((row) => row.kind === "assistant" && row.parts.length);
  const text = answer?.parts.find((part) => part.is === "text");
  const done = describeGroup(rows).map(({ text, failed }) => text + failed);
  return (
    <>
      <span class="what" title={makeVisible(rows[0].agent)}>
        Sub-agent {truncate(nameSubAgent(rows), MAX_LABEL)}
      </span>
      <span class="done">{done.join(" · ") || pluralize(rows.length, "row")}</span>
      {text?.is === "text" && <span class="summary">{makeVisible(text.text.slice(0, MAX_ANSWER)).replaceAll("\n", " ")}</span>}
    </>
  );
}

/** Return the name of a sub-agent; of one that has only an id, the beginning of its task, if the record has it. */
function nameSubAgent(rows: PageRow[]): string {
  const { agent } = rows[0];
  const task =
    ID.test(agent) || agent === "sub-agent" ? rows.find((row) => row.kind === "user" && row.speaker !== "host") : undefined;
  const words = task?.parts.find((part) => part.is === "text");
  const line = words?.is === "text" ? words.text.trim().split("\n", 1)[0] : "";
  return makeVisible(line || agent);
}
