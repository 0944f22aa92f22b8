/** A row of the conversation. */

import { useEffect } from "preact/hooks";
import { ACT_ICONS, describeAct } from "./acts";
import { Content, PlainText } from "./content-view";
import { Changes, Diff } from "./diff-view";
import { type Detail, type PageState, placesOf, rawKey } from "./page-state";
import { shortenPath } from "./file-changes";
import type { Part } from "./content-parts";
import type { PageRow } from "./protocol";
import { findSnippet } from "./row-filter";
import { describeOutcome, describeSpeaker, isBlank, isPrompt, shownParts } from "./rows";
import { formatNumber, makeVisible, restoreLineEnds, splitThoughts } from "./text";
import { formatDuration, formatSince, formatTime, spellTime, toMilliseconds } from "./time";

const DIFF_LINES = 200;
const OUTPUT_LINES = 40;
/** Calls that took at least this long show their duration, in milliseconds. */
const LONG_CALL = 1000;

/** Lines of a file, such as "lines 3–7". */
export interface WrittenLines {
  path: string;
  lines: string;
}

interface Props {
  row: PageRow;
  state: PageState;
  /** Whether the reader opened or closed the row; undefined if neither. */
  open: boolean | undefined;
  toggle: () => void;
  /** Whether the row also shows its entry as JSON. */
  raw: boolean;
  toggleRaw: () => void;
  /** The number of the turn that the row begins; 0 for all other rows. */
  turn: number;
  /** The milliseconds since the prompt of its turn, or null. */
  since: number | null;
  /** The lines of files that the row wrote. */
  wrote: WrittenLines[];
  showFile: (path: string) => void;
}

/** Return whether a row is open before the reader opens or closes it. */
export function isOpenAtFirst(row: PageRow, detail: Detail): boolean {
  if (isPrompt(row) || row.kind === "assistant" || row.speaker === "parent-agent") return true;
  return detail === "full" || (row.kind === "tool" && row.isError && detail === "normal");
}

/** Return whether a reader can open and close a row. Messages of people and answers are always open. */
export function isFoldable(row: PageRow): boolean {
  if (row.kind === "user") return !isPrompt(row) && row.speaker !== "parent-agent";
  return row.kind === "tool" || (row.kind === "reasoning" && !isEncrypted(row));
}

/** Return whether a thought has nothing to show, as when its provider encrypted it. */
function isEncrypted(row: PageRow): boolean {
  return row.kind === "reasoning" && isBlank(row);
}

/** A row: its head and, if it is open, its content. */
export function RowView(props: Props) {
  const { row, state } = props;
  const open = props.open ?? isOpenAtFirst(row, state.detail);
  const body = `body-${row.session}${row.place}`;
  const hasBody = props.raw || (open && row.kind !== "event" && !isEncrypted(row) && (row.kind !== "assistant" || !isBlank(row)));
  return (
    <>
      <Head {...props} opened={open} body={body} />
      {!open && state.filter.text && <Snippet row={row} wanted={state.filter.text} />}
      {hasBody && (
        <div class="body" id={body}>
          {row.kind === "tool" ? (
            <Call {...props} opened={open} />
          ) : (
            open && (
              <Content
                parts={row.kind === "user" ? shownParts(row).map(restorePart) : shownParts(row)}
                marked={row.kind === "assistant"}
                lines={row.kind === "assistant" ? undefined : OUTPUT_LINES}
              />
            )
          )}
          {props.raw && <Raw {...props} />}
        </div>
      )}
    </>
  );
}

/** Return a part of a prompt with real line ends; the entry as JSON has them as recorded. */
function restorePart(part: Part): Part {
  return part.is === "text" ? { is: "text", text: restoreLineEnds(part.text) } : part;
}

/** The place of a searched text in a closed row; null if the row has it elsewhere, such as in its summary. */
function Snippet({ row, wanted }: { row: PageRow; wanted: string }) {
  const snippet = findSnippet(row, wanted);
  if (!snippet) return null;
  const [before, match, after] = snippet.map((text) => makeVisible(text).replaceAll("\n", " "));
  return (
    <div class="snippet">
      {before}
      <mark>{match}</mark>
      {after}
    </div>
  );
}

/** The line at the top of a row: who or what, a summary, marks, the button for JSON, and a link with the time. */
function Head({ row, state, turn, since, toggle, raw, toggleRaw, opened, body }: Props & { opened: boolean; body: string }) {
  const folds = isFoldable(row);
  const title = <Title row={row} folder={state.sessions[row.session]?.folder ?? ""} turn={turn} opened={opened} folds={folds} />;
  const time = formatTime(row.time);
  const recorded = spellTime(row.time);
  /** A row within a second of its prompt: its time says nothing, unless a reader looks for it. */
  const isInstant = !turn && since !== null && since < 1000;
  return (
    <div class="head">
      {folds ? (
        <button type="button" class="fold" aria-expanded={opened} aria-controls={opened ? body : undefined} onClick={toggle}>
          {title}
        </button>
      ) : (
        <span class="title">{title}</span>
      )}
      <Marks row={row} />
      <button type="button" class="json" aria-pressed={raw} aria-label="Entry as JSON" onClick={toggleRaw}>
        {"{}"}
      </button>
      <a
        class={isInstant ? "when instant" : "when"}
        href={`#${encodeURIComponent(row.anchor)}`}
        title={recorded && !recorded.startsWith(time.replace(" ", "T")) ? `${time}, recorded as ${recorded}` : time}
        aria-label={`Link to this entry, ${since === null || turn ? "" : `${formatSince(since)} in the turn, `}${time}`}
      >
        {turn || since === null ? time.slice(11) || "#" : formatSince(since)}
      </a>
    </div>
  );
}

/** The words of a head, by the kind of the row. */
function Title({
  row,
  folder,
  turn,
  opened,
  folds,
}: Pick<Props, "row" | "turn"> & { folder: string; opened: boolean; folds: boolean }) {
  if (row.kind === "tool")
    return (
      <>
        <span class={`icon ${row.act}`} aria-hidden="true">
          {ACT_ICONS[row.act]}
        </span>
        <span class="verb" title={makeVisible(row.tool)}>
          {makeVisible(describeAct(row))}
        </span>
        {row.summary && (
          <span class="summary" title={makeVisible(row.summary)}>
            {makeVisible(row.diffs.length || row.act === "read" ? shortenPath(row.summary, folder) : row.summary)}
          </span>
        )}
      </>
    );
  if (row.kind === "reasoning")
    return isEncrypted(row) ? (
      <span class="sealed">thought, encrypted by the provider</span>
    ) : (
      <>
        <span class="who">Thought</span>
        {!opened && <span class="summary">{previewText(row)}</span>}
      </>
    );
  if (row.kind === "assistant")
    return row.isError ? (
      <>
        <span class="who">{isBlank(row) ? "No answer" : "Answer broken off"}</span>
        <span class="summary">{makeVisible(row.reason)}</span>
      </>
    ) : null;
  return (
    <>
      {turn > 0 && (
        <a class="turn" href={`#turn-${turn}`} aria-label={`Link to turn ${turn}`}>
          {formatNumber(turn)}
        </a>
      )}
      <span class="who">{row.kind === "user" ? describeSpeaker(row) : "Event"}</span>
      {row.summary && <span class="summary">{makeVisible(row.summary)}</span>}
      {row.reason && <span class="summary">{makeVisible(row.reason)}</span>}
      {folds && !opened && <span class="summary">{previewText(row)}</span>}
    </>
  );
}

/** Return how long a call took, such as "12 s"; "" if that is not known, or short. */
function describeDuration(row: PageRow): string {
  const [begin, end] = [toMilliseconds(row.time), toMilliseconds(row.result?.time)];
  return begin === null || end === null || end - begin < LONG_CALL ? "" : formatDuration(end - begin);
}

/** Return the beginning of a thought or a message; "" if it has no text. A thought without text was encrypted. */
function previewText(row: PageRow): string {
  const text = row.parts.find((part) => part.is === "text");
  if (text?.is !== "text") return "";
  // Some models write their thoughts between tags.
  const [thoughts, rest] = splitThoughts(text.text);
  return makeVisible((thoughts || rest).slice(0, 160)).replaceAll("\n", " ");
}

/** Marks of a row: changed lines, commit, tests, failure, missing result, origin, duration. */
function Marks({ row }: { row: PageRow }) {
  return (
    <span class="marks">
      {row.diffs.length > 0 && !row.isError && <Changes diffs={row.diffs} />}
      {row.commit?.id && <span class="chip">commit {row.commit.id}</span>}
      {row.tests && row.tests.passed !== null && !row.isError && (
        <span class={row.tests.passed ? "chip passed" : "chip error"}>tests {row.tests.passed ? "passed" : "failed"}</span>
      )}
      {row.isError && <span class="chip error">failed</span>}
      {describeOutcome(row) && <span class="chip">{makeVisible(describeOutcome(row))}</span>}
      {row.isInherited && <span class="chip">inherited</span>}
      {row.superseded && <span class="chip">{makeVisible(row.superseded)}</span>}
      {describeDuration(row) && <span class="took">{describeDuration(row)}</span>}
    </span>
  );
}

/** The body of a tool call: diffs and the lines it wrote and, if it is open, inputs and output. */
function Call({ row, state, opened, wrote, showFile }: Props & { opened: boolean }) {
  const output = row.result?.parts ?? row.parts;
  return (
    <>
      {opened &&
        row.diffs.map((diff) => (
          <Diff diff={diff} named={row.diffs.length > 1 || diff.path !== row.summary} maxLines={DIFF_LINES} />
        ))}
      {opened && wrote.length > 0 && (
        <div class="wrote">
          {wrote.map(({ path, lines }) => (
            <button type="button" class="chip link" onClick={() => showFile(path)}>
              wrote {makeVisible(path)} {lines}
            </button>
          ))}
        </div>
      )}
      {opened && row.tool && !row.diffs.length && <Inputs row={row} state={state} />}
      {opened && output.length > 0 && (
        <div class="output" role="group" aria-label="Output">
          <Content parts={output} lines={OUTPUT_LINES} />
        </div>
      )}
    </>
  );
}

/** The inputs of a call, without the input that the summary already shows in full. */
function Inputs({ row, state }: Pick<Props, "row" | "state">) {
  const inputs = state.inputs.get(rawKey(row.session, [row.place]));
  useEffect(() => {
    if (!inputs) state.requestInputs(row);
  }, [row]);
  const shown = inputs?.filter(([, text]) => text !== row.summary) ?? [];
  return shown.length > 0 ? (
    <div class="output" role="group" aria-label="Input">
      {shown.map(([name, text]) => (
        <>
          {name && <div class="member">{makeVisible(name)}</div>}
          <PlainText text={text} lines={OUTPUT_LINES} />
        </>
      ))}
    </div>
  ) : null;
}

/** The entry as JSON. */
function Raw({ row, state }: Props) {
  const text = state.raw.get(rawKey(row.session, placesOf(row)));
  return (
    <div class="output" role="group" aria-label="Entry as JSON">
      {text === undefined ? "Reading …" : <Content parts={[{ is: "text", text }]} lines={OUTPUT_LINES} />}
    </div>
  );
}
