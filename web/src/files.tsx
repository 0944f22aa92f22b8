/** The files that a conversation changed: for each range of lines its author, the evidence, the entries that wrote it, and its text. */

import { useState } from "preact/hooks";
import { linesKey, type PageState } from "./page-state";
import type { AttributedFile, Range } from "./protocol";
import { makeVisible, pluralize } from "./text";

const COLOURS = 6;
const ENTRIES = "/session/entries/";
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
  /** Show an entry of a session in the conversation. */
  go: (session: number, entry: string) => void;
  /** The path of the file to highlight. */
  selected: string | null;
}

/** The files with attributed lines, and a legend of the colours. */
export function Files({ state, go, selected }: Props) {
  const files = state.overview?.files ?? [];
  const colours = assignColours(files);
  if (!files.length)
    return (
      <p class="empty">
        The record has no file attribution. To find the lines that the agent wrote, run <code>vacr attribute</code>.
      </p>
    );
  return (
    <div class="files">
      <p class="legend">
        {[...colours].map(([model, look]) => (
          <span>
            <i class={`swatch ${look}`} /> {makeVisible(model) || "AI"}
          </span>
        ))}
        {["human", "mixed", "unknown"]
          .filter((type) => files.some((file) => file.ranges.some((range) => range.type === type)))
          .map((type) => (
            <span>
              <i class={`swatch ${type}`} /> {type}
            </span>
          ))}
      </p>
      {files.map((file) => (
        <File file={file} colours={colours} go={go} state={state} marked={file.path === selected} />
      ))}
    </div>
  );
}

/** A file: its path, a strip of its lines in the colours of their authors, and a table of its ranges. */
function File({
  file,
  colours,
  go,
  state,
  marked,
}: {
  file: AttributedFile;
  colours: Map<string, string>;
  go: Props["go"];
  state: PageState;
  marked: boolean;
}) {
  const last = file.ranges.reduce((largest, range) => Math.max(largest, range.end), 1);
  const lines = file.ranges.reduce((sum, range) => sum + range.end - range.start + 1, 0);
  return (
    <section
      class={`file${marked ? " marked" : ""}`}
      id={`file-${file.session}-${file.path}`}
      tabIndex={-1}
      aria-label={makeVisible(file.path)}
    >
      <h3>
        {makeVisible(file.path)}{" "}
        <small>
          {pluralize(lines, "line")}
          {file.complete ? "" : ", file known only in part"}
        </small>
      </h3>
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
    </section>
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
