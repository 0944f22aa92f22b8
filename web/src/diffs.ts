/** What a tool call asks to be changed in files, as `vacr.viewer.diffs` says it. */

import type { Value } from "./json";
import { type FilePatch, patchesIn } from "./patches";
import { unified } from "./sequences";
import tables from "./tables.json";
import { lines } from "./texts";

export interface FileDiff {
  path: string;
  what: string;
  lines: string[];
}

const CONTEXT = 3;
/** How many pairs of lines are compared: finding what is alike takes at times the square of that, and an edit may have any length. */
const MOST_COMPARED = 4_000_000;
const TOOLS: Record<string, Record<string, string>> = tables.tools;

/** Give the first argument of these names that is a text. */
export function textOf(given: Value, names: string[]): string | null {
  if (!isObject(given)) return null;
  const name = names.find((one) => Object.hasOwn(given, one) && typeof given[one] === "string");
  return name === undefined ? null : given[name];
}

export function isObject(value: Value): boolean {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
}

export function diffsOf(agent: string, tool: string, given: Value): FileDiff[] {
  const known = Object.hasOwn(TOOLS, agent) ? TOOLS[agent] : {};
  const kind = Object.hasOwn(known, tool) ? known[tool] : undefined;
  const path = textOf(given, tables.paths);
  if (kind === "patch") {
    const text = typeof given === "string" ? given : textOf(given, tables.patches);
    return patchesIn(text ?? "").map(patched);
  }
  if (path === null) return [];
  if (kind === "replace") {
    const found = edits(given).flatMap(([old, now]) => compared(old, now));
    return found.length ? [{ path, what: "edit", lines: found }] : [];
  }
  const text = textOf(given, tables.text);
  if ((kind === "write" || kind === "sketch") && text !== null)
    return [{ path, what: "write", lines: lines(text).map((line) => `+${line}`) }];
  return kind === "delete" ? [{ path, what: "delete", lines: [] }] : [];
}

function edits(given: Value): [string, string][] {
  const all = Object.hasOwn(given, "edits") ? given.edits : [given];
  const found: [string, string][] = [];
  for (const item of Array.isArray(all) ? all : []) {
    const [old, now] = [textOf(item, tables.old), textOf(item, tables.new)];
    if (old === null || now === null) return [];
    found.push([old, now]);
  }
  return found;
}

function patched(file: FilePatch): FileDiff {
  if (file.kind === "add") return { path: file.path, what: "add", lines: lines(file.text).map((line) => `+${line}`) };
  const found = file.parts.flatMap((part) => [
    `@@ ${part.anchor}`.trimEnd(),
    ...compared(part.old.join("\n"), part.new.join("\n")).slice(1),
  ]);
  const what = file.kind === "delete" ? "delete" : file.to && !found.length ? "move" : "edit";
  return { path: file.to ? `${file.path} → ${file.to}` : file.path, what, lines: found };
}

function compared(old: string, now: string): string[] {
  let [before, after] = [lines(old), lines(now)];
  if (before.length * after.length > MOST_COMPARED) [before, after] = changed(before, after);
  const found =
    before.length * after.length > MOST_COMPARED
      ? [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)]
      : unified(before, after, CONTEXT);
  return ["@@"].concat(found);
}

/** Leave out the lines that two texts begin and end alike with, but for some around what differs. */
function changed(before: string[], after: string[]): [string[], string[]] {
  const shortest = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < shortest && before[start] === after[start]) start++;
  while (end < shortest - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const [first, last] = [Math.max(0, start - CONTEXT), Math.max(0, end - CONTEXT)];
  return [before.slice(first, before.length - last), after.slice(first, after.length - last)];
}
