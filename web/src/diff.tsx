/** What a call asks to be changed in a file, line by line. */

import { useState } from "preact/hooks";
import type { FileDiff } from "./diffs";
import { visible } from "./texts";

const LONGEST = 500;
const LOOKS: Record<string, string> = { "+": "added", "-": "removed", "@": "gap" };

export function counts(diffs: FileDiff[]): [number, number] {
  const count = (mark: string) => diffs.reduce((sum, diff) => sum + diff.lines.filter((line) => line.startsWith(mark)).length, 0);
  return [count("+"), count("-")];
}

function Line({ line }: { line: string }) {
  const [whole, setWhole] = useState(false);
  const long = line.length > LONGEST && !whole;
  return (
    <div class={`line ${LOOKS[line[0]] ?? ""}`}>
      {visible(long ? line.slice(0, LONGEST) : line)}
      {long && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {line.length - LONGEST} more
        </button>
      )}
    </div>
  );
}

/** A diff; its file is named unless the row does that. */
export function Diff({ diff, most, named }: { diff: FileDiff; most: number; named: boolean }) {
  const [whole, setWhole] = useState(false);
  const lines = diff.lines[0] === "@@" ? diff.lines.slice(1) : diff.lines;
  const shown = whole ? lines : lines.slice(0, most);
  const [added, removed] = counts([diff]);
  return (
    <figure class="diff">
      <figcaption class={named ? "" : "hidden"}>
        <span class="path">{visible(diff.path)}</span> <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
      </figcaption>
      {shown.map((line) => (
        <Line line={line} />
      ))}
      {lines.length > shown.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </figure>
  );
}
