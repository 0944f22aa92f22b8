/** The change of a file by a call, line by line. */

import { useState } from "preact/hooks";
import { LineCounts } from "./line-counts";
import { formatNumber, makeVisible } from "./text";
import type { FileDiff } from "./tool-calls";

const MAX_LENGTH = 500;
const LOOKS: Record<string, string> = { "+": "added", "-": "removed", "@": "gap" };

/** Return the number of added and the number of removed lines in diffs. */
function countLines(diffs: FileDiff[]): [number, number] {
  const count = (mark: string) => diffs.reduce((sum, diff) => sum + diff.lines.filter((line) => line.startsWith(mark)).length, 0);
  return [count("+"), count("-")];
}

/** The changes of diffs together: "+6 −1", "+6", "deleted", or "+6 −1, 1 deleted". Mirrors `format_changes` in `vacr.viewer`. */
export function Changes({ diffs }: { diffs: FileDiff[] }) {
  const [added, removed] = countLines(diffs);
  const deleted = diffs.filter((diff) => diff.what === "delete").length;
  const word = diffs.length > 1 ? `${formatNumber(deleted)} deleted` : "deleted";
  if (deleted && deleted === diffs.length)
    return (
      <>
        <span class="minus">{word}</span>
        {removed > 0 && (
          <>
            {" "}
            <LineCounts added={0} removed={removed} />
          </>
        )}
      </>
    );
  return (
    <>
      <LineCounts added={added} removed={removed} />
      {deleted > 0 && <span class="minus">, {word}</span>}
    </>
  );
}

/** A line of a diff; a button shows the rest of a long one. */
function Line({ line }: { line: string }) {
  const [whole, setWhole] = useState(false);
  const long = line.length > MAX_LENGTH && !whole;
  return (
    <div class={`line ${LOOKS[line[0]] ?? ""}`}>
      {makeVisible(long ? line.slice(0, MAX_LENGTH) : line)}
      {long && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {line.length - MAX_LENGTH} more
        </button>
      )}
    </div>
  );
}

/** A diff, cut to `maxLines` lines at first; `named` shows the path of the file. */
export function Diff({ diff, maxLines, named }: { diff: FileDiff; maxLines: number; named: boolean }) {
  const [whole, setWhole] = useState(false);
  const lines = diff.lines[0] === "@@" ? diff.lines.slice(1) : diff.lines;
  const shown = whole ? lines : lines.slice(0, maxLines);
  const hidden = lines.length - shown.length;
  return (
    <figure class="diff">
      <figcaption class={named ? "" : "hidden"}>
        <span class="path">{makeVisible(diff.path)}</span> <Changes diffs={[diff]} />
      </figcaption>
      {shown.map((line) => (
        <Line line={line} />
      ))}
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {formatNumber(hidden)} more {hidden === 1 ? "line" : "lines"}
        </button>
      )}
    </figure>
  );
}
