/** The cumulative diff of a file over the session: each line with its owner, each hunk with the calls and prompts behind it. */

import { useEffect, useState } from "preact/hooks";
import type { ChangedLine, Hunk } from "./file-changes";
import type { PageState } from "./page-state";
import type { AttributedFile, PageRow, Range } from "./protocol";
import { shownParts } from "./rows";
import { type Token, tokenizeLines } from "./syntax";
import { makeVisible, pluralize, truncate } from "./text";
import type { Turns } from "./turns";

const MAX_LINES = 300;
const MAX_LENGTH = 500;
const MAX_CALLS = 4;
const MAX_PROMPT = 70;
const LOOKS = { "+": "added", "-": "removed", "@": "gap", " ": "" } as const;
const SIGNS = { "+": "+", "-": "−", "@": "", " ": "" } as const;

interface Props {
  state: PageState;
  turns: Turns;
  /** The number of the file among the changes. */
  number: number;
  path: string;
  /** The attribution of the file, or null. */
  attributed: AttributedFile | null;
  go: (row: number) => void;
}

/** The hunks of a file; they are computed when they are first shown. */
export function CumulativeDiff(props: Props) {
  const { state, number } = props;
  const [limit, setLimit] = useState(MAX_LINES);
  const hunks = state.hunks.get(number);
  useEffect(() => {
    if (!hunks) state.requestHunks(number);
  }, [number]);
  if (!hunks) return <p class="note">Reading …</p>;
  if (!hunks.length) return <p class="note">The changes undo each other, or their text is not in the calls.</p>;
  let left = limit;
  const shown = hunks.flatMap((hunk) => {
    const lines = hunk.lines.slice(0, Math.max(0, left));
    left -= hunk.lines.length;
    return lines.length ? [{ ...hunk, lines }] : [];
  });
  return (
    <>
      {shown.map((hunk) => (
        <HunkView hunk={hunk} {...props} />
      ))}
      {left < 0 && (
        <button type="button" class="more" onClick={() => setLimit(limit * 4)}>
          Show more of {pluralize(-left, "more line")}
        </button>
      )}
    </>
  );
}

/** A hunk: the calls that made it with their prompt, and its lines. */
function HunkView({ hunk, state, turns, path, attributed, go }: Props & { hunk: Hunk }) {
  const prompt = turns.prompts[hunk.rows[hunk.rows.length - 1]] ?? -1;
  const tokens = tokenizeLines(
    hunk.lines.map((line) => line.text.slice(0, MAX_LENGTH)),
    hunk.lines.map((line) => line.mark),
    path,
  );
  return (
    <figure class="diff hunk">
      <figcaption>
        {hunk.rows.slice(-MAX_CALLS).map((row) => (
          <button type="button" class="more" onClick={() => go(row)}>
            {describeCall(state.rows[row], turns.numbers.get(turns.prompts[row]))}
          </button>
        ))}
        {hunk.rows.length > MAX_CALLS && <span>and {hunk.rows.length - MAX_CALLS} before</span>}
        {prompt >= 0 && (
          <button type="button" class="more prompt" onClick={() => go(prompt)}>
            “{previewPrompt(state.rows[prompt])}”
          </button>
        )}
      </figcaption>
      {hunk.lines.map((line, at) => (
        <div class={`line ${LOOKS[line.mark]}`}>
          {attributed && <Owner line={line} row={state.rows[line.row]} file={attributed} go={go} />}
          <span class="sign" aria-hidden="true">
            {SIGNS[line.mark]}
          </span>
          {line.mark === "@" ? "⋯" : <LineText tokens={tokens[at]} isCut={line.text.length > MAX_LENGTH} />}
          {line.mark === "-" && <span class="hidden"> (removed)</span>}
          {line.mark === "+" && <span class="hidden"> (added)</span>}
        </div>
      ))}
    </figure>
  );
}

/** Return a call in words, such as "edited in turn 3". */
function describeCall(row: PageRow | undefined, turn: number | undefined): string {
  const verb = row?.diffs[0]?.what === "write" || row?.diffs[0]?.what === "add" ? "written" : "edited";
  return turn ? `${verb} in turn ${turn.toLocaleString("en")}` : `${verb} before the first prompt`;
}

/** Return the beginning of a prompt in one line. */
function previewPrompt(row: PageRow): string {
  const text = shownParts(row).find((part) => part.is === "text");
  return text?.is === "text" ? makeVisible(truncate(text.text.trim().slice(0, 1000), MAX_PROMPT)).replaceAll("\n", " ") : "";
}

/** The owner of a line in the gutter: ● an AI, ○ a person, · unknown. A line that is gone has none. */
function Owner({ line, row, file, go }: { line: ChangedLine; row: PageRow | undefined; file: AttributedFile; go: Props["go"] }) {
  if (line.mark === "-" || line.mark === "@") return <span class="owner" />;
  const range = row && findRange(file, row);
  if (!range)
    return (
      <span class="owner" title={line.mark === "+" ? "Written by a call, but not attributed" : "Not changed in this session"}>
        ·
      </span>
    );
  const author = range.type === "ai" ? `AI, ${range.model || "unknown model"}` : range.type;
  return (
    <span class="owner" title={makeVisible([author, range.evidence].filter(Boolean).join(", "))} onClick={() => go(line.row)}>
      {range.type === "ai" ? "●" : range.type === "human" ? "○" : "·"}
    </span>
  );
}

/** Return the attributed range that a call wrote in a file; undefined if there is none. */
function findRange(file: AttributedFile, row: PageRow): Range | undefined {
  const names = [row.name, row.place, row.result?.name, row.result?.place];
  return file.ranges.find((range) => range.entries.some((entry) => names.includes(entry)));
}

/** The text of a line in colours; a very long one is cut. */
function LineText({ tokens, isCut }: { tokens: Token[]; isCut: boolean }) {
  return (
    <>
      {tokens.map((token) =>
        token.look ? <span class={`token-${token.look}`}>{makeVisible(token.text)}</span> : makeVisible(token.text),
      )}
      {isCut ? "…" : ""}
    </>
  );
}
