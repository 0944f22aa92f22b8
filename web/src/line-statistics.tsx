/** The lines that the commits of a range added: who wrote them, and how many of the agents' lines are still there later. */

import { useState } from "preact/hooks";
import type { LineCounts, LineGroups, LineStatistics } from "./protocol";
import { formatNumber, makeVisible, pluralize } from "./text";

const KINDS = ["ai", "human", "mixed", "unknown"] as const;
const MAX_ROWS = 8;
const WIDTH = 100;

/** A section with the lines of a range, by author, agent, model, folder and week. */
export function Lines({ lines }: { lines: LineStatistics }) {
  const { total } = lines;
  return (
    <details class="lines" open>
      <summary>Lines of {makeVisible(lines.range)}</summary>
      <p class="count">
        {pluralize(lines.commits, "commit")} added {pluralize(countLines(total), "line")}.
      </p>
      <SplitBar counts={total} largest={countLines(total)} />
      <ul class="legend">
        {KINDS.map((kind) => (
          <li>
            <i class={kind} /> {formatNumber(total[kind])} {kind} ({formatShare(total[kind], countLines(total))})
          </li>
        ))}
      </ul>
      <Survival total={total} />
      <details>
        <summary>By {lines.groups.map((groups) => groups.by).join(", ")}</summary>
        {lines.groups.map((groups) => (
          <GroupTable groups={groups} />
        ))}
      </details>
      <p class="note">vacr counted these lines when it made this page. The browser cannot check them.</p>
    </details>
  );
}

/** How many ai lines are still there after some days, and how many lines were edited before their commit. */
function Survival({ total }: { total: LineCounts }) {
  const written = total.ai + total.mixed;
  if (!written) return null;
  return (
    <dl class="facts">
      <div>
        <dt>Edited before commit</dt>
        <dd>
          {formatNumber(total.mixed)} of {formatNumber(written)} lines that agents wrote ({formatShare(total.mixed, written)})
        </dd>
      </div>
      {total.survival.map(({ days, lines, survived, young }) => (
        <div>
          <dt>Survived {days} days</dt>
          <dd>
            {lines
              ? `${formatNumber(survived)} of ${formatNumber(lines)} ai lines (${formatShare(survived, lines)})`
              : "no ai line is old enough"}
            {lines && young ? `; ${formatNumber(young)} too young` : ""}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A table of the groups of one kind; only the first few rows are shown at first. */
function GroupTable({ groups }: { groups: LineGroups }) {
  const [all, setAll] = useState(false);
  const largest = Math.max(...groups.rows.map(countLines), 1);
  const shown = all ? groups.rows : groups.rows.slice(0, MAX_ROWS);
  const hidden = groups.count - shown.length;
  return (
    <>
      <table aria-label={`Lines by ${groups.by}`}>
        <thead>
          <tr>
            <th scope="col">By {groups.by}</th>
            <td class="bar" />
            {KINDS.map((kind) => (
              <th scope="col">{kind}</th>
            ))}
            {groups.rows[0]?.survival.map(({ days }) => (
              <th scope="col" class="days" title={`ai lines that survived ${days} days`}>
                {days} d
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr>
              <th scope="row" title={makeVisible(row.name)}>
                {makeVisible(row.name)}
              </th>
              <td class="bar">
                <SplitBar counts={row} largest={largest} />
              </td>
              {KINDS.map((kind) => (
                <td>{formatNumber(row[kind])}</td>
              ))}
              {row.survival.map(({ lines, survived }) => (
                <td class="days">{lines ? formatShare(survived, lines) : "–"}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {groups.rows.length > shown.length ? (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show {formatNumber(groups.rows.length - shown.length)} more
        </button>
      ) : (
        hidden > 0 && <p class="note">and {formatNumber(hidden)} more: vacr stats --lines -v</p>
      )}
    </>
  );
}

/** A bar whose parts are the lines of each kind of contributor. The numbers next to it say the same. */
function SplitBar({ counts, largest }: { counts: LineCounts; largest: number }) {
  let start = 0;
  return (
    <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
      {KINDS.map((kind) => {
        const width = (counts[kind] / (largest || 1)) * WIDTH;
        start += width;
        return <rect class={kind} x={start - width} width={width} height={1} />;
      })}
    </svg>
  );
}

/** Return the number of all lines. */
function countLines(counts: LineCounts): number {
  return KINDS.reduce((sum, kind) => sum + counts[kind], 0);
}

/** Return a part as a percentage, rounded down; a dash if the whole is 0. */
function formatShare(part: number, whole: number): string {
  const share = Math.floor((100 * part) / whole);
  return !whole ? "–" : part && !share ? "<1%" : `${share}%`;
}
