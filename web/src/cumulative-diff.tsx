/** The cumulative diff of a file over the session: each line with its owner, each hunk with the calls and prompts behind it. */

import { useEffect, useState } from "preact/hooks";
import type { ChangedLine, Hunk } from "./file-changes";
import type { PageState } from "./page-state";
import type { AttributedFile, PageRow, Range } from "./protocol";
import { shownParts } from "./rows";
import { type Token, tokenizeLines } from "./syntax";
import { formatNumber, makeVisible, pluralize, truncate } from "./text";
import type { Turns } from "./turns";

const MAX_LINES = 300;
const MAX_LENGTH = 500;
const MAX_CALLS = 4;
const MAX_PROMPT = 70;
const LOOKS = { "+": "added", "-": "removed", "@": "gap", " ": "" } as const;
const SIGNS = { "+": "+", "-": "−", "@": "", " ": "" } as const;

/** Whether a diff has one column, or the lines before and after side by side. */
export type DiffLayout = "unified" | "split";

interface Props {
  state: PageState;
  turns: Turns;
  /** The number of the file among the changes. */
  number: number;
  path: string;
  /** The attribution of the file, or null. */
  attributed: AttributedFile | null;
  layout: DiffLayout;
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
function HunkView({ hunk, state, turns, path, attributed, go, layout }: Props & { hunk: Hunk }) {
  const prompt = turns.prompts[hunk.rows[hunk.rows.length - 1]] ?? -1;
  const tokens = tokenizeLines(
    hunk.lines.map((line) => line.text.slice(0, MAX_LENGTH)),
    hunk.lines.map((line) => line.mark),
    path,
  );
  const lineProps = { hunk, tokens, state, turns, attributed, go };
  return (
    <figure class={`diff hunk ${layout}`}>
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
      {layout === "split"
        ? pairLines(hunk.lines).map(([before, after]) => (
            <div class="pair">
              <Line at={before} side="before" {...lineProps} />
              <Line at={after} side="after" {...lineProps} />
            </div>
          ))
        : hunk.lines.map((_, at) => <Line at={at} side="both" {...lineProps} />)}
    </figure>
  );
}

/** Return a call in words, such as "edited in turn 3". */
function describeCall(row: PageRow | undefined, turn: number | undefined): string {
  const verb = row?.diffs[0]?.what === "write" || row?.diffs[0]?.what === "add" ? "written" : "edited";
  return turn ? `${verb} in turn ${formatNumber(turn)}` : `${verb} before the first prompt`;
}

/** Return the beginning of a prompt in one line. */
function previewPrompt(row: PageRow): string {
  const text = shownParts(row).find((part) => part.is === "text");
  return text?.is === "text" ? makeVisible(truncate(text.text.trim().slice(0, 1000), MAX_PROMPT)).replaceAll("\n", " ") : "";
}

/**
 * Return the lines of a hunk side by side, as pairs of indexes: before and after, or -1 where a side has no line.
 *
 * Removed lines are paired with the added lines that follow them.
 */
function pairLines(lines: ChangedLine[]): [number, number][] {
  const pairs: [number, number][] = [];
  for (let at = 0; at < lines.length;) {
    let [removed, added] = [at, at];
    while (lines[removed]?.mark === "-") removed++;
    for (added = removed; lines[added]?.mark === "+";) added++;
    const [before, after] = [removed - at, added - removed];
    if (!before && !after) {
      pairs.push([at, at]);
      at++;
      continue;
    }
    for (let step = 0; step < Math.max(before, after); step++)
      pairs.push([step < before ? at + step : -1, step < after ? removed + step : -1]);
    at = added;
  }
  return pairs;
}

interface LineProps {
  /** The index of the line in its hunk, or -1 for an empty place. */
  at: number;
  /** The column of the line, or "both" in a single column. */
  side: "before" | "after" | "both";
  hunk: Hunk;
  tokens: Token[][];
  state: PageState;
  turns: Turns;
  attributed: AttributedFile | null;
  go: (row: number) => void;
}

/** A line of a diff: its owner, its sign, and its text. */
function Line({ at, side, hunk, tokens, state, turns, attributed, go }: LineProps) {
  const line = hunk.lines[at] as ChangedLine | undefined;
  if (!line) return <div class="line none" />;
  return (
    <div class={`line ${LOOKS[line.mark]}`}>
      {side !== "before" && (
        <Owner
          line={line}
          row={state.rows[line.row]}
          turn={turns.numbers.get(turns.prompts[line.row])}
          attributed={attributed}
          go={go}
        />
      )}
      <span class="sign" aria-hidden="true">
        {SIGNS[line.mark]}
      </span>
      {line.mark === "@" ? "⋯" : <LineText tokens={tokens[at]} isCut={line.text.length > MAX_LENGTH} />}
      {line.mark === "-" && <span class="hidden"> (removed)</span>}
      {line.mark === "+" && <span class="hidden"> (added)</span>}
    </div>
  );
}

interface OwnerProps {
  line: ChangedLine;
  row: PageRow | undefined;
  turn: number | undefined;
  attributed: AttributedFile | null;
  go: (row: number) => void;
}

/**
 * The gutter of a line that a call wrote: the turn of the call, which a click leads to.
 *
 * If the file is attributed, also its owner: ● an AI, ○ a person, · unknown. A line that is gone has neither.
 */
function Owner({ line, row, turn, attributed, go }: OwnerProps) {
  if (!row || line.mark !== "+") {
    const title = attributed && line.mark === " " ? "Not changed in this session" : undefined;
    return (
      <span class="owner" title={title}>
        {title && "·"}
      </span>
    );
  }
  const range = attributed ? findRange(attributed, row) : undefined;
  const author = !range ? "" : range.type === "ai" ? `AI, ${range.model || "unknown model"}` : range.type;
  const owner = range ? [author, range.evidence].filter(Boolean).join(", ") : attributed ? "not attributed" : "";
  const sign = !attributed ? "" : range?.type === "ai" ? "● " : range?.type === "human" ? "○ " : "· ";
  const title = makeVisible([owner, describeCall(row, turn)].filter(Boolean).join("; "));
  return (
    // The buttons above the lines lead to the same calls, so these need no place in the order of the Tab key.
    <button type="button" class="owner" tabIndex={-1} title={title} aria-label={title} onClick={() => go(line.row)}>
      {sign}
      {turn && `#${turn}`}
    </button>
  );
}

/** Return the attributed range that a call wrote in a file, or undefined. */
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
