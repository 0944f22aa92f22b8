/** The filter that selects the rows to show. Mirrors `vacr.viewer.rows.RowFilter`. */

import type { Part } from "./content-parts";
import { canonicalJson } from "./json";
import { isPrompt, type Row } from "./rows";
import type { Input } from "./tool-calls";

/** The criteria of a filter. A row must meet all of them; an empty one accepts every row. */
export interface Filter {
  /** Kinds of rows, and "prompt" for the messages of a person. */
  kinds: string[];
  tools: string[];
  text: string;
  errors: boolean;
  /** Ids or JSON Pointers of entries. */
  names: string[];
  /** Whether to show rows that repeat another entry. */
  repeated: boolean;
}

export const NO_FILTER: Filter = { kinds: [], tools: [], text: "", errors: false, names: [], repeated: false };

/** Return the indexes of the rows that match. The inputs of a call are not part of its row; `inputsOf` returns them. */
export function filterRows<R extends Row>(rows: R[], filter: Filter, inputsOf: (row: R) => Input[]): number[] {
  const wanted = filter.text.toLowerCase();
  const indexes: number[] = [];
  rows.forEach((row, index) => {
    if (row.isRepeated && !filter.repeated && !filter.names.length) return;
    if (filter.kinds.length && !hasKind(row, filter.kinds)) return;
    if (filter.tools.length && !filter.tools.includes(row.tool)) return;
    if (filter.errors && !row.isError) return;
    if (filter.names.length && !filter.names.includes(row.name) && !filter.names.includes(row.place)) return;
    if (wanted && !rowContains(row, wanted) && !inputsOf(row).some(([, text]) => text.toLowerCase().includes(wanted))) return;
    indexes.push(index);
  });
  return indexes;
}

/** Return whether a row is of one of these kinds. */
function hasKind(row: Row, kinds: string[]): boolean {
  return kinds.includes(row.kind) || (kinds.includes("prompt") && isPrompt(row));
}

/** Return whether a row contains a text, which must be in lower case, anywhere but in the inputs of its call. */
function rowContains(row: Row, wanted: string): boolean {
  const contains = (text: string) => text.toLowerCase().includes(wanted);
  const parts = [...row.parts, ...(row.result?.parts ?? [])];
  return (
    contains(row.tool) ||
    contains(row.summary) ||
    contains(row.reason) ||
    parts.some((part) => contains(searchableText(part))) ||
    row.diffs.some((diff) => contains(diff.path) || diff.lines.some(contains))
  );
}

/** Return the text of a part; other values become JSON, and images have no text. */
function searchableText(part: Part): string {
  return part.is === "text" ? part.text : part.is === "other" ? canonicalJson(part.value) : "";
}
