/**
 * The files that a conversation changed: the cumulative diff of each and, for each attributed range of lines, its author, the
 * evidence, the entries that wrote it, and its text.
 */

import { useMemo, useState } from "preact/hooks";
import { CumulativeDiff, type DiffLayout } from "./cumulative-diff";
import type { FileChange } from "./file-changes";
import { LineCounts } from "./line-counts";
import { linesKey, type PageState } from "./page-state";
import type { AttributedFile, Overview, Range } from "./protocol";
import { makeVisible, pluralize } from "./text";
import type { Turns } from "./turns";

const LAYOUTS: [DiffLayout, string][] = [
  ["unified", "Unified"],
  ["split", "Side by side"],
];
const COLOURS = 6;
const ENTRIES = "/session/entries/";
/** Files are open at first if there are at most this many. */
const MAX_OPEN = 8;
const MAX_LINES = 500;
const MAX_LINE_LENGTH = 500;

/** Assign a colour to each AI model; other contributors have a colour for their kind. */
function assignColours(files: AttributedFile[]): Map<string, string> {
  const models = [
    ...new Set(files.flatMap((file) => file.ranges.filter((range) => range.type === "ai").map((range) => range.model))),
  ].sort();
  return new Map(models.map((model, index) => [model, `ai-${index % COLOURS}`]));
}

/** Return the CSS class of a range: the colour of its model, or the kind of its author. */
function chooseColour(range: Range, colours: Map<string, string>): string {
  return range.type === "ai" ? (colours.get(range.model) ?? "ai-0") : range.type;
}

interface Props {
  state: PageState;
  turns: Turns;
  layout: DiffLayout;
  /** Show a row in the conversation. */
  reveal: (row: number) => void;
  /** Show an entry of a session in the conversation. */
  go: (session: number, entry: string) => void;
  /** The path of the file to highlight. */
  selected: string | null;
}

/** A file of the session: its changes by calls, its attributed lines, or both. */
interface SessionFile {
  session: number;
  path: string;
  /** The number of the file among the changes, or -1. */
  number: number;
  change: FileChange | null;
  attributed: AttributedFile | null;
}

/** Return the files that calls changed, then the files that only have attributed lines. */
export function listFiles(overview: Overview): SessionFile[] {
  const left = new Set(overview.files);
  const attributedFiles = new Map<FileChange, AttributedFile>();
  // A path in another folder counts only for files that no path names exactly.
  for (const isSameFile of [hasSamePath, hasSameEnd])
    for (const change of overview.changes) {
      const attributed = attributedFiles.has(change) ? undefined : [...left].find((file) => isSameFile(file, change));
      if (attributed) attributedFiles.set(change, attributed);
      if (attributed) left.delete(attributed);
    }
  const changed = overview.changes.map((change, number): SessionFile => {
    return { session: change.session, path: change.path, number, change, attributed: attributedFiles.get(change) ?? null };
  });
  const others = [...left].map((attributed): SessionFile => ({ ...attributed, number: -1, change: null, attributed }));
  return [...changed, ...others];
}

/** Return whether an attribution is about a changed file. */
function hasSamePath(file: AttributedFile, change: FileChange): boolean {
  return file.session === change.session && file.path === change.path;
}

/** Return whether an attribution may be about a changed file whose path begins in another folder. */
function hasSameEnd(file: AttributedFile, change: FileChange): boolean {
  if (file.session !== change.session) return false;
  return file.path.endsWith(`/${change.path}`) || change.path.endsWith(`/${file.path}`);
}

/** The files of the session with their cumulative diffs and attributed lines, and a legend of the colours. */
export function Files({ state, layout, turns, reveal, go, selected }: Props) {
  const { overview } = state;
  const files = useMemo(() => (overview ? listFiles(overview) : []), [overview]);
  const attributed = overview?.files ?? [];
  const colours = assignColours(attributed);
  if (!files.length)
    return <p class="empty">No call of this conversation changed a file, and the record has no file attribution.</p>;
  return (
    <div class="files">
      {attributed.length > 0 ? (
        <p class="legend">
          {[...colours].map(([model, look]) => (
            <span>
              <i class={`swatch ${look}`} /> {makeVisible(model) || "AI"}
            </span>
          ))}
          {["human", "mixed", "unknown"]
            .filter((type) => attributed.some((file) => file.ranges.some((range) => range.type === type)))
            .map((type) => (
              <span>
                <i class={`swatch ${type}`} /> {type}
              </span>
            ))}
          <span>● AI, ○ human, · unknown or not changed</span>
        </p>
      ) : (
        <p class="note">
          The changes that the tool calls made. To find out which of these lines are in a file, run <code>vacr blame FILE</code>{" "}
          in the repository.
        </p>
      )}
      {files.map((file) => (
        <File
          {...{ file, colours, go, reveal, state, turns, layout }}
          marked={selected !== null && [file.path, file.attributed?.path].includes(selected)}
          openAtFirst={files.length <= MAX_OPEN}
        />
      ))}
    </div>
  );
}

/** The switch between the changes in one column and side by side. */
export function LayoutSwitch({ layout, setLayout }: { layout: DiffLayout; setLayout: (layout: DiffLayout) => void }) {
  return (
    <div class="layout" role="group" aria-label="Layout of the changes">
      {LAYOUTS.map(([name, label]) => (
        <button type="button" aria-pressed={layout === name} onClick={() => setLayout(name)}>
          {label}
        </button>
      ))}
    </div>
  );
}

/** A file: its path and, if it is open, its cumulative diff and its attribution. */
function File({
  file,
  colours,
  go,
  reveal,
  state,
  turns,
  layout,
  marked,
  openAtFirst,
}: Omit<Props, "selected"> & {
  file: SessionFile;
  colours: Map<string, string>;
  marked: boolean;
  openAtFirst: boolean;
}) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? (openAtFirst || marked);
  const { change, attributed, path } = file;
  return (
    <section
      class={`file${marked ? " marked" : ""}`}
      id={`file-${file.session}-${attributed?.path ?? path}`}
      data-path={path}
      tabIndex={-1}
      aria-label={makeVisible(path)}
    >
      <h3>
        <button type="button" class="fold" aria-expanded={open} onClick={() => setChosen(!open)}>
          <span class="path">
            {makeVisible(path)
              .split(/(?<=[\\/])/)
              .map((part) => (
                <>
                  {part}
                  <wbr />
                </>
              ))}
          </span>
          {change && (
            <small>
              <LineCounts added={change.added} removed={change.removed} /> in {pluralize(change.rows.length, "call")}
              {change.isDeleted ? ", deleted" : ""}
            </small>
          )}
          {attributed && <small>{describeAttribution(attributed)}</small>}
        </button>
      </h3>
      {open && change && <CumulativeDiff {...{ state, turns, path, attributed, layout }} number={file.number} go={reveal} />}
      {open && attributed && (
        <details class="attribution" open={!change}>
          <summary>Attribution: {pluralize(attributed.ranges.length, "range")} of lines</summary>
          <Attribution file={attributed} colours={colours} go={go} state={state} />
        </details>
      )}
    </section>
  );
}

/** Return how many lines of a file are attributed, and whether the whole file is known. */
function describeAttribution(file: AttributedFile): string {
  const lines = file.ranges.reduce((sum, range) => sum + range.end - range.start + 1, 0);
  return `${pluralize(lines, "attributed line")}${file.complete ? "" : ", file known only in part"}`;
}

/** The attribution of a file: a strip of its lines in the colours of their authors, and a table of its ranges. */
function Attribution({
  file,
  colours,
  go,
  state,
}: {
  file: AttributedFile;
  colours: Map<string, string>;
  go: Props["go"];
  state: PageState;
}) {
  const last = file.ranges.reduce((largest, range) => Math.max(largest, range.end), 1);
  return (
    <>
      <svg class="strip" viewBox={`0 0 ${last} 1`} preserveAspectRatio="none" aria-hidden="true">
        {file.ranges.map((range) => (
          <rect
            class={chooseColour(range, colours)}
            x={range.start - 1}
            y={0}
            width={range.end - range.start + 1}
            height={1}
            onClick={() => range.entries[0] && go(file.session, range.entries[0])}
          />
        ))}
      </svg>
      <table>
        <thead>
          <tr>
            <th scope="col">Lines</th>
            <th scope="col">By</th>
            <th scope="col">Evidence</th>
            <th scope="col">Entry</th>
          </tr>
        </thead>
        <tbody>
          {file.ranges.map((range) => (
            <RangeRows file={file} range={range} look={chooseColour(range, colours)} go={go} state={state} />
          ))}
        </tbody>
      </table>
      {file.unplaced.length > 0 && (
        <p class="note">
          Also changed, at an unknown position, by{" "}
          {file.unplaced.map((entry) => (
            <button type="button" class="more" onClick={() => go(file.session, entry)}>
              {nameEntry(entry)}
            </button>
          ))}
        </p>
      )}
    </>
  );
}

/** Return a short name of an entry: its position, or the end of its id. */
function nameEntry(entry: string): string {
  return entry.startsWith(ENTRIES)
    ? `entry ${makeVisible(entry.slice(ENTRIES.length)).slice(0, 30)}`
    : makeVisible(entry).slice(-12);
}

/** Return "line 3" or "lines 3–7". */
export function describeLines(range: Range): string {
  return range.start === range.end ? `line ${range.start}` : `lines ${range.start}–${range.end}`;
}

/** Return the model of a range by an AI, "AI" if it is unknown, or the kind of another author. */
function nameAuthor(range: Range): string {
  return range.type === "ai" ? makeVisible(range.model) || "AI" : range.type;
}

/** The table rows of a range: lines, author, evidence and entries and, if it is open, the text of the lines. */
function RangeRows({
  file,
  range,
  look,
  go,
  state,
}: {
  file: AttributedFile;
  range: Range;
  look: string;
  go: (session: number, entry: string) => void;
  state: PageState;
}) {
  const [open, setOpen] = useState(false);
  const lines = state.lines.get(linesKey(file, range));
  const show = () => {
    state.requestLines(file, range);
    setOpen(!open);
  };
  return (
    <>
      <tr>
        <td>
          <i class={`swatch ${look}`} />{" "}
          <button type="button" class="more" aria-expanded={open} onClick={show}>
            {describeLines(range)}
          </button>
        </td>
        <td>{nameAuthor(range)}</td>
        <td>{makeVisible(range.evidence)}</td>
        <td>
          {range.entries.map((entry) => (
            <button type="button" class="more" onClick={() => go(file.session, entry)}>
              {nameEntry(entry)}
              <span class="hidden">, the entry that wrote {describeLines(range)}</span>
            </button>
          ))}
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={4}>
            {lines === undefined ? (
              "Reading …"
            ) : lines === null ? (
              <span class="note">No single call contains the text of these lines. To rebuild the file, run vacr replay.</span>
            ) : (
              <LineTexts lines={lines} first={range.start} look={look} />
            )}
          </td>
        </tr>
      )}
    </>
  );
}

/** The text of lines, proved by their hash in the record. */
function LineTexts({ lines, first, look }: { lines: string[]; first: number; look: string }) {
  return (
    <div class={`text ${look}`}>
      {lines.slice(0, MAX_LINES).map((line, index) => (
        <div class="line">
          <span class="number">{first + index}</span>
          {makeVisible(line.slice(0, MAX_LINE_LENGTH))}
          {line.length > MAX_LINE_LENGTH ? "…" : ""}
        </div>
      ))}
      {lines.length > MAX_LINES && <p class="note">{pluralize(lines.length - MAX_LINES, "more line")}</p>}
    </div>
  );
}
