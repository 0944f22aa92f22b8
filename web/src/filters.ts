/** Which rows are shown, as `vacr.viewer.filters` chooses them. */

import type { Input } from "./inputs";
import { canonical } from "./json";
import type { Part } from "./parts";
import type { Row } from "./rows";

export interface Filter {
  kinds: string[];
  tools: string[];
  text: string;
  errors: boolean;
  names: string[];
  repeated: boolean;
}

export const EVERYTHING: Filter = { kinds: [], tools: [], text: "", errors: false, names: [], repeated: false };

/** Give the numbers of the rows that are asked for; what a call was given is not in its row, and is given to be searched. */
export function chosen<R extends Row>(rows: R[], filter: Filter, given: (row: R) => Input[]): number[] {
  const wanted = filter.text.toLowerCase();
  const found: number[] = [];
  rows.forEach((row, at) => {
    if (row.isRepeated && !filter.repeated && !filter.names.length) return;
    if (filter.kinds.length && !filter.kinds.includes(row.kind)) return;
    if (filter.tools.length && !filter.tools.includes(row.tool)) return;
    if (filter.errors && !row.isError) return;
    if (filter.names.length && !filter.names.includes(row.name) && !filter.names.includes(row.place)) return;
    if (wanted && !says(row, wanted) && !given(row).some(([, text]) => text.toLowerCase().includes(wanted))) return;
    found.push(at);
  });
  return found;
}

function says(row: Row, wanted: string): boolean {
  const has = (text: string) => text.toLowerCase().includes(wanted);
  return (
    has(row.tool) ||
    has(row.summary) ||
    row.parts.some((part) => has(said(part))) ||
    (row.result?.parts.some((part) => has(said(part))) ?? false) ||
    row.diffs.some((diff) => has(diff.path) || diff.lines.some(has))
  );
}

function said(part: Part): string {
  return part.is === "text" ? part.text : part.is === "other" ? canonical(part.value) : "";
}
