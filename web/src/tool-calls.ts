/** A tool call for display: a summary in one line, its inputs as texts, and the file changes it asks for. Mirrors `vacr.viewer.rows`. */

import { type FilePatch, parseApplyPatch } from "./apply-patch";
import { isShownDiff } from "./content-parts";
import { canonicalJson, isObject, type Value } from "./json";
import { diffLines } from "./line-diff";
import tables from "./tables.json";
import { splitLines, splitWords, truncate } from "./text";

/** The change of one file that a call asks for. */
export interface FileDiff {
  path: string;
  /** "edit", "write", "add", "delete" or "move". */
  what: string;
  /** Lines with their marks: "+", "-", a blank, or "@@" where lines are left out. */
  lines: string[];
}

/** The change of one file that a call asks for, as texts. */
export interface FileEdit {
  path: string;
  /** The old and the new text of each place that it replaces. */
  pairs: [string, string][];
  /** The whole new text, or null. */
  whole: string | null;
  isDelete: boolean;
}

/** A member of an input: its name and its value as text. */
export type Input = [string, string];

const DONE_STATUSES = new Set(["completed", "complete", "done"]);
const BEGUN_STATUSES = new Set(["in_progress", "in-progress", "active"]);
const MAX_SUMMARY_LENGTH = 200;
const CONTEXT = 3;
/** The largest product of two line counts to compare line by line: comparing may take time in proportion to its square. */
const MAX_COMPARISON = 4_000_000;
const TOOLS: Record<string, Record<string, string>> = tables.tools;
const TOOL_COMMANDS: Record<string, Record<string, Record<string, string>>> = tables.toolCommands;

/**
 * Return a line of at most 200 characters about a call: its command, pattern or file, or else all its arguments.
 *
 * The tool of one file, by its effect, has the file; an editor with commands also has the command.
 */
export function summarizeCall(tool: string, input: Value, effect?: string): string {
  const path = effect !== undefined && tables.fileEffects.includes(effect) ? findText(input, tables.paths) : null;
  if (path === null) return shortenLine(chooseSummary(tool, input));
  const command = findText(input, ["command"]);
  return shortenLine(command ? `${command} ${path}` : path);
}

/** Return a text in one line, cut to 200 characters. */
export function shortenLine(text: string): string {
  return truncate(splitWords(text).join(" "), MAX_SUMMARY_LENGTH);
}

/** Return the most telling argument of a call in full; "" if it has no arguments. */
function chooseSummary(tool: string, input: Value): string {
  if (tool.toLowerCase().includes("patch")) {
    const text = (typeof input === "string" ? input : findText(input, tables.patches)) ?? "";
    const paths = parseApplyPatch(text).map((file) => file.to || file.path);
    return paths.join(", ") || text;
  }
  if (typeof input === "string") return input;
  if (!isObject(input) || !Object.keys(input).length) return "";
  for (const names of [tables.commands, tables.searches, tables.paths]) {
    const text = findText(input, names);
    if (text !== null) return text;
  }
  for (const name of tables.commands) if (Array.isArray(input[name])) return input[name].map(String).join(" ");
  return summarizeLists(input) || summarizePlan(input) || (findText(input, tables.descriptions) ?? canonicalJson(input));
}

/** Return the commands, files, addresses or questions of a call; "" if it lists none. */
function summarizeLists(input: Value): string {
  for (const name of tables.lists) {
    const texts = Array.isArray(input[name]) ? input[name].map(nameItem) : [];
    if (texts.length && texts.every(Boolean)) return texts.join(", ");
  }
  return "";
}

/** Return a text as it is, or the command, file or question of an object; else "". */
function nameItem(item: Value): string {
  if (typeof item === "string") return item;
  return findText(item, [...tables.commands, ...tables.paths, "url", "question"]) ?? "";
}

/** Return how many steps of a plan are done, and the current step; "" without a plan. */
function summarizePlan(input: Value): string {
  const steps: Value[] = tables.plans.map((name) => input[name]).find((plan) => Array.isArray(plan) && plan.length) ?? [];
  if (!steps.length || !steps.every((step) => isObject(step) && typeof step.status === "string")) return "";
  const open = steps.filter((step) => !DONE_STATUSES.has(step.status));
  const current = open.find((step) => BEGUN_STATUSES.has(step.status)) ?? open[0];
  const words = findText(current, tables.steps);
  return `${steps.length - open.length} of ${steps.length} done${words ? `: ${words}` : ""}`;
}

/** Return the first of these arguments that is a text, or null. */
function findText(input: Value, names: string[]): string | null {
  if (!isObject(input)) return null;
  const name = names.find((candidate) => Object.hasOwn(input, candidate) && typeof input[candidate] === "string");
  return name === undefined ? null : input[name];
}

/** Return name and text of each member of an input; an input that is not an object becomes one text with the name "". */
export function listInputs(input: Value): Input[] {
  if (input === undefined || input === null) return [];
  return isObject(input) ? Object.keys(input).map((name) => [name, toText(input[name])]) : [["", toText(input)]];
}

/** Return a text as it is, and any other value as JSON. */
function toText(value: Value): string {
  return typeof value === "string" ? value : canonicalJson(value);
}

/** Return the file changes that a call asks for; empty if its tool does not change files. */
export function buildDiffs(agent: string, tool: string, input: Value): FileDiff[] {
  const effect = findEffect(agent, tool, input);
  if (effect === "patch") {
    const text = typeof input === "string" ? input : findText(input, tables.patches);
    return parseApplyPatch(text ?? "").map(diffFilePatch);
  }
  const path = findText(input, tables.paths);
  if (path === null) return [];
  if (effect === "replace") {
    const lines = listEdits(input).flatMap(([before, after]) => diffTexts(before, after));
    return lines.length ? [{ path, what: "edit", lines }] : buildAddition(path, input);
  }
  if (effect === "write" || effect === "sketch") {
    const text = findText(input, tables.contents);
    return text === null ? buildAddition(path, input) : [{ path, what: "write", lines: markAdded(text) }];
  }
  return effect === "delete" ? [{ path, what: "delete", lines: [] }] : [];
}

/** Return the file changes that an output shows by the old and the new text of files. */
export function buildShownDiffs(output: Value): FileDiff[] {
  const blocks: Value[] = Array.isArray(output) ? output.filter(isShownDiff) : [];
  return blocks.map(({ path, oldText, newText }) =>
    typeof oldText === "string" && oldText
      ? { path, what: "edit", lines: diffTexts(oldText, newText) }
      : { path, what: "write", lines: markAdded(newText) },
  );
}

/** Return the file changes that a call asks for as texts; empty if its tool does not change files. */
export function listFileEdits(agent: string, tool: string, input: Value): FileEdit[] {
  const effect = findEffect(agent, tool, input);
  if (effect === "patch") {
    const text = typeof input === "string" ? input : findText(input, tables.patches);
    return parseApplyPatch(text ?? "").map((file) => ({
      path: file.to ?? file.path,
      pairs: file.parts.map((part) => [part.old.join("\n"), part.new.join("\n")]),
      whole: file.kind === "add" ? file.text : null,
      isDelete: file.kind === "delete",
    }));
  }
  const path = findText(input, tables.paths);
  if (path === null) return [];
  const none: FileEdit = { path, pairs: [], whole: null, isDelete: false };
  const pairs = effect === "replace" ? listEdits(input) : [];
  if (pairs.length) return [{ ...none, pairs }];
  if (effect === "replace") return [{ ...none, ...listAddition(input) }];
  if (effect === "write" || effect === "sketch") {
    const whole = findText(input, tables.contents);
    return [{ ...none, ...(whole === null ? listAddition(input) : { whole }) }];
  }
  return effect === "delete" ? [{ ...none, isDelete: true }] : [];
}

/** Return the lines of a text, each with a "+" before it. */
function markAdded(text: string): string[] {
  return splitLines(text).map((line) => `+${line}`);
}

/** Return the new text of a call of an editor with no old text; null for any other call. */
function findAddition(input: Value): string | null {
  return findText(input, tables.oldTexts) ? null : findText(input, tables.newTexts);
}

/** Return whether an input states the line that a text is inserted at. */
function isInsertion(input: Value): boolean {
  return tables.insertions.some(
    (name) => Object.hasOwn(input, name) && (typeof input[name] === "bigint" || Number.isInteger(input[name])),
  );
}

/** Return the diff of a call with a new text and no old one, which is inserted or is the whole file; else empty. */
function buildAddition(path: string, input: Value): FileDiff[] {
  const text = findAddition(input);
  return text === null ? [] : [{ path, what: isInsertion(input) ? "edit" : "write", lines: markAdded(text) }];
}

/** Return the same change as texts. */
function listAddition(input: Value): Partial<FileEdit> {
  const text = findAddition(input);
  if (text === null) return {};
  return isInsertion(input) ? { pairs: [["", text]] } : { whole: text };
}

/** Return the diff of one file in a patch; a moved file has the path "old → new". */
function diffFilePatch(file: FilePatch): FileDiff {
  if (file.kind === "add") return { path: file.path, what: "add", lines: markAdded(file.text) };
  const lines = file.parts.flatMap((part) => [
    `@@ ${part.anchor}`.trimEnd(),
    ...diffTexts(part.old.join("\n"), part.new.join("\n")).slice(1),
  ]);
  const what = file.kind === "delete" ? "delete" : file.to && !lines.length ? "move" : "edit";
  return { path: file.to ? `${file.path} → ${file.to}` : file.path, what, lines };
}

/** Return the old and new text of each edit in an input; empty if one of them lacks a text. */
function listEdits(input: Value): [string, string][] {
  const items = Object.hasOwn(input, "edits") ? input.edits : [input];
  const edits: [string, string][] = [];
  for (const item of Array.isArray(items) ? items : []) {
    const [before, after] = [findText(item, tables.oldTexts), findText(item, tables.newTexts)];
    if (before === null || after === null) return [];
    edits.push([before, after]);
  }
  return edits;
}

/** Return the lines of a diff of two texts, with "@@" before each hunk. Very long texts have one hunk: all old lines, then all new ones. */
function diffTexts(oldText: string, newText: string): string[] {
  let [before, after] = [splitLines(oldText), splitLines(newText)];
  if (before.length * after.length > MAX_COMPARISON) {
    const { head, old, replacement, tail } = splitAtDifferences(before, after);
    if (old.length * replacement.length > MAX_COMPARISON) {
      const mark = (sign: string, lines: string[]) => lines.map((line) => sign + line);
      return ["@@"].concat(mark(" ", head), mark("-", old), mark("+", replacement), mark(" ", tail));
    }
    before = head.concat(old, tail);
    after = head.concat(replacement, tail);
  }
  return ["@@"].concat(diffLines(before, after, CONTEXT));
}

/** Split two texts into their different lines, and the common lines before and after these; of the common ones, only the context is left. */
function splitAtDifferences(before: string[], after: string[]) {
  const shorter = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < shorter && before[start] === after[start]) start++;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const [oldEnd, newEnd] = [before.length - end, after.length - end];
  return {
    head: before.slice(Math.max(0, start - CONTEXT), start),
    old: before.slice(start, oldEnd),
    replacement: after.slice(start, newEnd),
    tail: before.slice(oldEnd, oldEnd + CONTEXT),
  };
}

/** Return the effect of an agent's tool on files, by its command where that decides; undefined if the tool is not known. */
export function findEffect(agent: string, tool: string, input?: Value): string | undefined {
  const editors = Object.hasOwn(TOOL_COMMANDS, agent) ? TOOL_COMMANDS[agent] : {};
  if (Object.hasOwn(editors, tool)) {
    const command = findText(input, ["command"]) ?? "";
    return Object.hasOwn(editors[tool], command) ? editors[tool][command] : undefined;
  }
  const effects = Object.hasOwn(TOOLS, agent) ? TOOLS[agent] : {};
  return Object.hasOwn(effects, tool) ? effects[tool] : undefined;
}

/** Return the command of a shell call; "" if the input has none. */
export function extractCommand(input: Value): string {
  if (typeof input === "string") return input;
  const text = findText(input, tables.commands);
  if (text !== null || !Array.isArray(input?.command)) return text ?? "";
  const words: string[] = input.command.filter((word: Value) => typeof word === "string");
  if (words.length > 2 && ["-c", "-lc", "-cl"].includes(words[1])) return words[2];
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}
