/** Small charts: the largest of some, each with a bar. */

import type { ComponentChildren } from "preact";
import type { Sum } from "./sums";
import { visible } from "./texts";

const MOST = 6;
const WIDTH = 100;

/** Draw the largest, or, of days, the last. */
export function Bars({ title, bars, days = false }: { title: string; bars: Sum[]; days?: boolean }) {
  if (!bars.length) return null;
  const sorted = bars.toSorted((one, other) => (days ? other.name.localeCompare(one.name) : other.value - one.value));
  const most = Math.max(...sorted.slice(0, MOST).map((bar) => bar.value));
  return (
    <table class="bars">
      <caption>{title}</caption>
      <tbody>
        {sorted.slice(0, MOST).map((bar) => (
          <tr>
            <th scope="row" title={visible(bar.name)}>
              {visible(bar.name)}
            </th>
            <td>
              <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
                <rect width={(bar.value / most) * WIDTH} height={1} />
                <rect class="error" width={((bar.failed ?? 0) / most) * WIDTH} height={1} />
              </svg>
            </td>
            <td>
              {bar.value.toLocaleString("en")}
              {bar.failed ? <span class="bad">, {bar.failed.toLocaleString("en")} failed</span> : null}
            </td>
          </tr>
        ))}
      </tbody>
      {sorted.length > MOST && (
        <tfoot>
          <tr>
            <td colSpan={3}>and {(sorted.length - MOST).toLocaleString("en")} more</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** Charts that are folded away until they are asked for. */
export function Charts({ children }: { children: ComponentChildren }) {
  return (
    <details class="charts">
      <summary>Charts</summary>
      <div>{children}</div>
    </details>
  );
}
