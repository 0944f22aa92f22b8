/** Small bar charts, such as the calls of each tool. */

import type { ComponentChildren } from "preact";
import type { NamedCount } from "./named-counts";
import { formatNumber, makeVisible } from "./text";

const MAX_BARS = 6;
const WIDTH = 100;

/** A chart of the six largest counts or, if the names are days, of the six latest; null without counts. */
export function Bars({ title, bars, days = false }: { title: string; bars: NamedCount[]; days?: boolean }) {
  if (!bars.length) return null;
  const sorted = bars.toSorted((left, right) => (days ? right.name.localeCompare(left.name) : right.value - left.value));
  const largest = Math.max(...sorted.slice(0, MAX_BARS).map((bar) => bar.value));
  return (
    <table class="bars">
      <caption>{title}</caption>
      <tbody>
        {sorted.slice(0, MAX_BARS).map((bar) => (
          <tr>
            <th scope="row" title={makeVisible(bar.name)}>
              {makeVisible(bar.name)}
            </th>
            <td>
              <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
                <rect width={(bar.value / largest) * WIDTH} height={1} />
                <rect class="error" width={((bar.failed ?? 0) / largest) * WIDTH} height={1} />
              </svg>
            </td>
            <td>
              {formatNumber(bar.value)}
              {bar.failed ? <span class="bad">, {formatNumber(bar.failed)} failed</span> : null}
            </td>
          </tr>
        ))}
      </tbody>
      {sorted.length > MAX_BARS && (
        <tfoot>
          <tr>
            <td colSpan={3}>and {formatNumber(sorted.length - MAX_BARS)} more</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** A section of charts that is closed at first. */
export function Charts({ children }: { children: ComponentChildren }) {
  return (
    <details class="charts">
      <summary>Charts</summary>
      <div>{children}</div>
    </details>
  );
}
