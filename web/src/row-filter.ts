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

/** How many characters of a match's surroundings to show. */
const SNIPPET_BEFORE = 60;
const SNIPPET_AFTER = 160;

/** Return whether a filter selects some rows. Repeated rows alone do not count. */
export function isFiltering(filter: Filter): boolean {
  return filter.kinds.length > 0 || filter.tools.length > 0 || filter.text !== "" || filter.errors || filter.names.length > 0;
}

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

/** Return the first place of a searched text in the content of a row: the words before it, itself, and the words after it. */
export function findSnippet(row: Row, wanted: string): [string, string, string] | null {
  const lower = wanted.toLowerCase();
  if (!lower) return null;
  for (const text of listTexts(row)) {
    const at = text.toLowerCase().indexOf(lower);
    if (at < 0) continue;
    const end = at + wanted.length;
    const before = text.slice(Math.max(0, at - SNIPPET_BEFORE), at);
    return [at > SNIPPET_BEFORE ? `…${before}` : before, text.slice(at, end), text.slice(end, end + SNIPPET_AFTER)];
  }
  return null;
}

/** Yield the texts of a row that are hidden while it is closed. */
function* listTexts(row: Row): Generator<string> {
  for (const part of [...row.parts, ...(row.result?.parts ?? [])]) yield searchableText(part);
  for (const diff of row.diffs) yield* diff.lines;
}

/** Return the text of a part; other values become JSON, and images have no text. */
function searchableText(part: Part): string {
  return part.is === "text" ? part.text : part.is === "other" ? canonicalJson(part.value) : "";
}
