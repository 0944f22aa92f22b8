/** A range of lines of a file: by whom, on what evidence, by which entries, and what it says. */

import { useState } from "preact/hooks";
import type { AttributedFile, Range } from "./protocol";
import { linesKey, type State } from "./state";
import { visible } from "./texts";

const ENTRIES = "/session/entries/";
const MOST_LINES = 500;
const LONGEST = 500;

/** Name an entry in a few letters: by the end of its id, or by its place. */
export function entryName(entry: string): string {
  return entry.startsWith(ENTRIES) ? `entry ${visible(entry.slice(ENTRIES.length)).slice(0, 30)}` : visible(entry).slice(-12);
}

export function linesOf(range: Range): string {
  return range.start === range.end ? `line ${range.start}` : `lines ${range.start}–${range.end}`;
}

function who(range: Range): string {
  return range.type === "ai" ? visible(range.model) || "AI" : range.type;
}

export function Lines({
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
  state: State;
}) {
  const [open, setOpen] = useState(false);
  const lines = state.lines.get(linesKey(file, range));
  const show = () => {
    state.askLines(file, range);
    setOpen(!open);
  };
  return (
    <>
      <tr>
        <td>
          <i class={`swatch ${look}`} />{" "}
          <button type="button" class="more" aria-expanded={open} onClick={show}>
            {linesOf(range)}
          </button>
        </td>
        <td>{who(range)}</td>
        <td>{visible(range.evidence)}</td>
        <td>
          {range.entries.map((entry) => (
            <button type="button" class="more" onClick={() => go(file.session, entry)}>
              {entryName(entry)}
              <span class="hidden">, the entry that wrote {linesOf(range)}</span>
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
              <span class="note">No one call holds the text of these lines. vacr replay rebuilds the file.</span>
            ) : (
              <Text lines={lines} first={range.start} look={look} />
            )}
          </td>
        </tr>
      )}
    </>
  );
}

/** Lines as they were written, which their hash in the record proves. */
function Text({ lines, first, look }: { lines: string[]; first: number; look: string }) {
  return (
    <div class={`text ${look}`}>
      {lines.slice(0, MOST_LINES).map((line, at) => (
        <div class="line">
          <span class="number">{first + at}</span>
          {visible(line.slice(0, LONGEST))}
          {line.length > LONGEST ? "…" : ""}
        </div>
      ))}
      {lines.length > MOST_LINES && <p class="note">{lines.length - MOST_LINES} more lines</p>}
    </div>
  );
}
