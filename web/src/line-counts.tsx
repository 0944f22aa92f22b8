/** The numbers of added and removed lines, without a 0: "+6 −1", "+6", "−1", or "+0". Mirrors `format_line_counts` in `vacr.viewer`. */

import { formatNumber } from "./text";

export function LineCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <>
      {(added > 0 || !removed) && <span class="plus">+{formatNumber(added)}</span>}
      {added > 0 && removed > 0 && " "}
      {removed > 0 && <span class="minus">−{formatNumber(removed)}</span>}
    </>
  );
}
