/** The summary of the conversation: the request, the outcome, and the figures. All words come from the record. */

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { LineCounts } from "./line-counts";
import { renderMarkdown } from "./markdown";
import type { PageState } from "./page-state";
import type { Island, PageRow, Story } from "./protocol";
import { isPrompt, shownParts } from "./rows";
import { formatNumber, makeVisible, pluralize, restoreLineEnds, splitThoughts, splitWords, truncate } from "./text";
import { formatTime } from "./time";

const MAX_LENGTH = 4000;
/** A text longer than this gets a button that shows all of it. */
const LONG_TEXT = 400;
const LONG_LINES = 5;
const MAX_ANSWERED = 100;
const MAX_FILES = 4;
const MAX_COMMITS = 3;

interface Props {
  island: Island;
  state: PageState;
  go: (row: number) => void;
  showFile: (path: string) => void;
  showFiles: () => void;
  /** More figures at the bottom of the card. */
  children?: ComponentChildren;
}

/** The card. It appears at once with the figures; the texts follow when their rows are read. */
export function SummaryCard({ island, state, go, showFile, showFiles, children }: Props) {
  const { overview, rows } = state;
  const story = overview?.story;
  // Until all rows are read, the first prompt is a good guess of the request.
  const asked = story?.asked ?? rows.findIndex((row) => isPrompt(row) && !row.agent && joinTexts(row) !== "");
  const request = asked < 0 ? (story?.task ?? -1) : asked;
  const outcome = story?.outcome ?? -1;
  return (
    <section class="card" aria-label="Summary">
      <h2 class="hidden">Summary</h2>
      <dl class="story">
        <Words
          name={request === asked ? "Asked" : "Task"}
          row={rows[request]}
          go={() => go(request)}
          label="Go to the prompt"
          pending={!overview}
        />
        <Words
          name={story?.laterCalls ? "Last answer" : "Outcome"}
          row={rows[outcome]}
          go={() => go(outcome)}
          label="Go to the answer"
          pending={!overview}
          marked
          before={story && story.answered !== asked && <Answered row={rows[story.answered]} go={() => go(story.answered)} />}
          after={story && <Unfinished story={story} />}
        />
      </dl>
      <Figures {...{ island, state, go, showFiles }} />
      {overview && overview.changes.length > 0 && (
        <p class="changed">
          {overview.changes.slice(0, MAX_FILES).map((file) => (
            <button type="button" class="touch" onClick={() => showFile(file.path)} title={makeVisible(file.path)}>
              <span class="path">{makeVisible(file.path.split("/").pop()!)}</span>{" "}
              <LineCounts added={file.added} removed={file.removed} />
            </button>
          ))}
          {overview.changes.length > MAX_FILES && (
            <button type="button" class="touch" onClick={showFiles}>
              and {formatNumber(overview.changes.length - MAX_FILES)} more
            </button>
          )}
        </p>
      )}
      {children}
    </section>
  );
}

/** The prompt that the last answer follows, if it is another than the request. */
function Answered({ row, go }: { row: PageRow | undefined; go: () => void }) {
  const text = row ? splitWords(restoreLineEnds(joinTexts(row))).join(" ") : "";
  return text ? (
    <button type="button" class="touch answered" onClick={go} title={makeVisible(truncate(text, MAX_LENGTH))}>
      to “{makeVisible(truncate(text, MAX_ANSWERED))}”
    </button>
  ) : null;
}

/** What followed the last answer, so that it is not the end of the work. */
function Unfinished({ story }: { story: Story }) {
  const facts = [
    story.laterCalls > 0 && `${pluralize(story.laterCalls, "tool call")} followed, without another answer.`,
    story.unanswered > 0 && `${pluralize(story.unanswered, "later prompt")} without an answer.`,
  ].filter(Boolean);
  return facts.length ? <p class="note">{facts.join(" ")}</p> : null;
}

/** Return all texts of a message. */
function joinTexts(row: PageRow): string {
  return shownParts(row)
    .map((part) => (part.is === "text" ? part.text : ""))
    .join("\n\n")
    .trim();
}

interface WordsProps {
  name: string;
  row: PageRow | undefined;
  go: () => void;
  label: string;
  /** Whether the row may still come. */
  pending: boolean;
  marked?: boolean;
  /** What to add above and below the words. */
  before?: ComponentChildren;
  after?: ComponentChildren;
}

/** The words of a prompt or an answer, cut to some lines at first; null without words. */
function Words({ name, row, go, label, pending, marked = false, before, after }: WordsProps) {
  const [whole, setWhole] = useState(false);
  const text = useMemo(() => {
    const words = row ? joinTexts(row) : "";
    return makeVisible(truncate(marked ? splitThoughts(words)[1] : restoreLineEnds(words), MAX_LENGTH));
  }, [row, marked]);
  const html = useMemo(() => (marked && text ? renderMarkdown(text) : ""), [marked, text]);
  if (!text && !pending) return null;
  const isLong = text.length > LONG_TEXT || text.split("\n").length > LONG_LINES;
  const look = `words${isLong && !whole ? " cut" : ""}`;
  return (
    <div>
      <dt>
        {text ? (
          <button type="button" class="figure" onClick={go} title={label}>
            {name}
            <span class="hidden">. {label}</span>
          </button>
        ) : (
          name
        )}
      </dt>
      <dd>
        {text && before}
        {!text ? (
          <div class={look}>…</div>
        ) : marked ? (
          <div class={`${look} marked`} dangerouslySetInnerHTML={{ __html: html }} />
        ) : (
          <div class={`${look} plain`}>{text}</div>
        )}
        {isLong && (
          <button type="button" class="more" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? "Show less" : "Show more"}
          </button>
        )}
        {text && after}
      </dd>
    </div>
  );
}

/** The figures in one line: prompts, files, calls, the last test run, commits. */
function Figures({ island, state, go, showFiles }: Pick<Props, "island" | "state" | "go" | "showFiles">) {
  const { overview, rows } = state;
  const totals = island.totals ?? overview?.totals;
  const story = overview?.story;
  // Some agents record that they edited a file, but not what.
  const [unrecorded, failedAnswers] = useMemo(() => {
    const own = rows.flatMap((row, at) => (row.isRepeated ? [] : [at]));
    const edits = own.filter((at) => rows[at].act === "edit" && !rows[at].diffs.length && !rows[at].isError);
    return [edits.length, own.filter((at) => rows[at].kind === "assistant" && rows[at].isError)];
  }, [rows]);
  return (
    <ul class="figures">
      {totals && <li>{totals.prompts ? pluralize(totals.prompts, "prompt") : <span class="soft">no prompt</span>}</li>}
      {totals && (
        <li>
          {totals.files ? (
            <button type="button" class="figure" onClick={showFiles}>
              {pluralize(totals.files, "file")} <LineCounts added={totals.added} removed={totals.removed} />
            </button>
          ) : (
            <span class="soft">{unrecorded ? `${pluralize(unrecorded, "edit")}, lines not recorded` : "no file changed"}</span>
          )}
        </li>
      )}
      {totals && (
        <li>
          {totals.calls ? pluralize(totals.calls, "tool call") : <span class="soft">no tool call</span>}
          {totals.failed > 0 && (
            <>
              , <span class="minus">{formatNumber(totals.failed)} failed</span>
            </>
          )}
        </li>
      )}
      {failedAnswers.length > 0 && (
        <li>
          <button type="button" class="figure" onClick={() => go(failedAnswers[0])}>
            <span class="minus">{pluralize(failedAnswers.length, "answer")} failed</span>
          </button>
        </li>
      )}
      {story && (
        <li>
          {story.tests < 0 ? (
            <span class="soft">no test run</span>
          ) : (
            <LastTests row={rows[story.tests]} go={() => go(story.tests)} />
          )}
        </li>
      )}
      {story && (
        <li>
          {story.commits.length ? (
            <Commits commits={story.commits} rows={rows} go={go} />
          ) : story.unclearCommit >= 0 ? (
            <button type="button" class="figure" onClick={() => go(story.unclearCommit)}>
              ? git commit <span class="soft">({nameUnknownResult(rows[story.unclearCommit])})</span>
            </button>
          ) : (
            <span class="soft">no commit</span>
          )}
        </li>
      )}
    </ul>
  );
}

/** Return what is known of a result that the record does not show. */
function nameUnknownResult(row: PageRow | undefined): string {
  return row?.result ? "result unknown" : "result not recorded";
}

/** The last run of tests with its result; a click goes to it. */
function LastTests({ row, go }: { row: PageRow | undefined; go: () => void }) {
  if (!row?.tests) return null;
  const { program, passed, line } = row.tests;
  const time = formatTime(row.time).slice(11);
  const unknown = `: ${nameUnknownResult(row)}`;
  const [look, mark, word] = passed === null ? ["", "?", unknown] : passed ? ["plus", "✓", " passed"] : ["minus", "✗", " failed"];
  return (
    <button type="button" class="figure" onClick={go} title={makeVisible(line)}>
      <span class={look}>
        {mark} last test run{word}
      </span>{" "}
      <span class="soft">({makeVisible([program, line.length <= 40 ? line : "", time].filter(Boolean).join(", "))})</span>
    </button>
  );
}

/** The commits; a click goes to the call that made one. */
function Commits({ commits, rows, go }: { commits: number[]; rows: PageRow[]; go: (row: number) => void }) {
  return (
    <>
      {pluralize(commits.length, "commit")} {commits.length > MAX_COMMITS && <span class="soft">last: </span>}
      {commits.slice(-MAX_COMMITS).map((at) => {
        const { id, subject } = rows[at]?.commit ?? { id: "", subject: "" };
        return (
          id && (
            <button type="button" class="figure commit" title={makeVisible(subject)} onClick={() => go(at)}>
              {id.slice(0, 7)}
            </button>
          )
        );
      })}
    </>
  );
}
