/** Facts about shell calls that a reader looks for: test runs with their results, and commits. */

import type { Part } from "./content-parts";
import type { Row } from "./rows";
import { truncate } from "./text";

/** A run of tests. */
export interface TestRun {
  /** The command that ran them, such as `cargo test`. */
  program: string;
  /** Whether they passed; null if neither the exit code nor the output tells. */
  passed: boolean | null;
  /** The line of the output with the result, such as "3 failed, 12 passed", or "". */
  line: string;
}

/** A commit: its id and its subject as git printed them; "" if that is not known. */
export interface Commit {
  id: string;
  subject: string;
}

// Limits, so that no text of a stranger makes a pattern slow.
const MAX_SCRIPT_LENGTH = 4000;
const MAX_COMMAND_LENGTH = 300;
const MAX_OUTPUT_LENGTH = 50_000;
const MAX_OUTPUT_LINE = 300;
const MAX_LINE_LENGTH = 90;
/** Words before a program that do not matter: variables, wrappers, launchers. */
const WRAPPERS =
  /^(?:\w+=\S*\s+|(?:sudo|time|command|exec|env|npx|bunx|uvx|rtk)\s+|timeout\s+(?:-\S+\s+)*\S+\s+|(?:uv|poetry|pdm|hatch|pipenv|rye)\s+run\s+(?:--?\S+\s+)*|(?:pnpm|yarn|npm)\s+exec\s+(?:--\s+)?|bundle\s+exec\s+|xvfb-run\s+(?:-\S+\s+)*|\(|!\s+)+/;
const TEST_COMMANDS: RegExp[] = [
  /^(?:pytest|py\.test|tox|nox|vitest|jest|mocha|ava|rspec|phpunit|pest|ctest|bats|gotestsum)(?=\s|$)/,
  /^python[\d.]*\s+(?:-\S\s+)*-m\s+(?:pytest|unittest|nose2|tox|nox)(?=\s|$)/,
  // No value starts with a hyphen: two ways to match it would take exponential time.
  /^(?:npm|pnpm|yarn|bun)\s+(?:(?:-\S+|(?:--filter|--prefix|-C|-w)\s+[^\s-]\S*)\s+)*(?:run\s+)?(?:t|tests?(?:[:.-][:\w.-]*)?)(?=\s|$)/,
  /^(?:cargo|go|dotnet|swift|mix|deno|flutter|dart|composer|rails|zig|bazel|playwright|artisan|forge)\s+(?:\+\S+\s+)?(?:build\s+)?test(?=\s|$)/,
  /^cargo\s+nextest\s+run(?=\s|$)/,
  /^node\s+(?:\S+\s+)*--test(?=\s|$)/,
  /^(?:make|just|task|rake|gradle|gradlew|mvn|mvnw)\s+(?:\S+\s+)*?(?::?\w+:)*(?:test|tests|check|verify)(?=\s|$)/,
];
/** Options with which a test program runs no test. */
const NO_TEST_RUN = /\s--(?:collect-only|co|help|version|dry-run|listTests)(?=\s|$)/;
/** Options between a program and the name of its test script, with their values. */
const OPTIONS = /\s(?:--(?:filter|prefix)\s+\S+|-[Cw]\s+\S+|-j\d*|-[sk]|--silent)(?=\s)/g;
const COMMIT =
  /^git\s+(?:(?:-C|-c)\s+(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])+\s+|--\S+\s+)*commit(?=\s|$)(?![^\n]*(?:--dry-run|--help))/;
const QUIET = /\s(?:-[^\Wq]*q\w*|--quiet)(?=\s|$)/;
const PRINTED_COMMIT = /^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] (.*)$/;
/** What git prints if it makes no commit. */
const NO_COMMIT = /nothing (?:added )?to commit|no changes added to commit|^Aborting commit/i;
const COLOUR = /\x1b\[[\d;]*m/g;
/** The start of a heredoc, and the text of the line that ends it. */
const HEREDOC = /<<-?\s*(?:(['"])([^'"\n]+)\1|(\w+))/g;
const FAILED_LINES: RegExp[] = [
  /\b[1-9]\d{0,6}\s+(?:tests? |specs? |examples? )?(?:failed|failing|failures?|errors?)\b/i,
  /^test result: FAILED|^FAIL(?:ED)?\b|^--- FAIL|BUILD (?:FAILURE|FAILED)/,
  /^not ok\b|\bFail(?:ed|ures):\s*[1-9]/,
];
const PASSED_LINES: RegExp[] = [
  /\b[1-9]\d{0,6}\s+(?:tests? |specs? |examples? )?(?:passed|passing)\b/i,
  /^test result: ok|\b0 failures\b|^OK\b|^ok\s+\S|^PASS\b|BUILD SUCCESS/,
];

/** Return the test run of a shell call; null if it runs no tests, or was denied. */
export function findTestRun(command: string, row: Row): TestRun | null {
  const programs = listCommands(command).map(matchTest);
  const program = programs.find((name) => name !== "");
  if (!program || row.status === "denied") return null;
  if (!row.result) return { program, passed: null, line: "" };
  const output = listOutputLines(row.result.parts);
  const failure = matchLast(FAILED_LINES, output);
  const success = matchLast(PASSED_LINES, output);
  // A pipeline has the exit code of its last command, so the output of the tests counts first.
  if (failure) return { program, passed: false, line: failure };
  if (row.status === "interrupted") return { program, passed: null, line: "" };
  if (row.isError || row.exitCode) return { program, passed: false, line: "" };
  if (success) return { program, passed: true, line: success };
  const isAlone = programs.length === 1 && !command.includes("|");
  return { program, passed: isAlone && (row.exitCode === 0 || row.status === "success") ? true : null, line: "" };
}

/**
 * Return the commit of a shell call that succeeded; null if it makes none.
 *
 * The record lacks the output of `git commit --quiet`, and of a command in the background that ended `byNotice` of the host.
 */
export function findCommit(command: string, row: Row, byNotice = false): Commit | null {
  if (!row.result || !listCommands(command).some((one) => COMMIT.test(one))) return null;
  const printed = listOutputLines(row.result.parts)
    .map((line) => PRINTED_COMMIT.exec(line))
    .find(Boolean);
  if (printed) return { id: printed[1].slice(0, 10), subject: truncate(printed[2], MAX_LINE_LENGTH) };
  if (row.isError || row.exitCode !== 0 || !provesCommit(command, !byNotice)) return null;
  return { id: "", subject: "" };
}

/** Return whether a shell call without a commit by `findCommit` ran `git commit`, and nothing shows that it made none. */
export function mayHaveCommitted(command: string, row: Row): boolean {
  if (row.status === "denied" || !listCommands(command).some((one) => COMMIT.test(one))) return false;
  if (!row.result || row.status === "interrupted") return true;
  return !row.isError && !row.exitCode && !listOutputLines(row.result.parts).some((line) => NO_COMMIT.test(line));
}

/**
 * Return whether a script that ended with 0 surely made a commit, with `quiet` a silent one.
 *
 * The commit must be the last command, or joined to the last one by `&&`. After `||` it may not have run, as in
 * `git diff --quiet || git commit -q`.
 */
function provesCommit(script: string, quiet: boolean): boolean {
  const parts = splitScript(script);
  const place = parts.findIndex(({ command }) => COMMIT.test(command) && (!quiet || QUIET.test(command)));
  const isJoined = parts.slice(place + 1).every(({ join }) => join === "&&");
  return place >= 0 && isJoined && !parts.some(({ join }) => join === "||");
}

/** Return the commands of a script, without the words before their programs; quoted text and heredocs are not split. */
function listCommands(script: string): string[] {
  return splitScript(script).map(({ command }) => command);
}

/** Return the commands of a script, each with what stands before it, such as `&&`. */
function splitScript(script: string): { join: string; command: string }[] {
  const text = removeHeredocs(script.slice(0, MAX_SCRIPT_LENGTH).replace(/(?<![\n ;])[\n ;]+$/, ""));
  const parts: { join: string; command: string }[] = [];
  let end = 0;
  for (const match of text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^"'\\;&|\n])+/gs)) {
    const command = match[0].trim().slice(0, MAX_COMMAND_LENGTH);
    if (!command) continue;
    const program = command.replace(WRAPPERS, "").replace(/^\S*\//, "");
    parts.push({ join: text.slice(end, match.index).trim(), command: program.replace(WRAPPERS, "") });
    end = match.index + match[0].length;
  }
  return parts;
}

/**
 * Return a script without its heredocs, each from its `<<` to the line that ends it.
 *
 * A pattern for a whole heredoc would search the rest of the script after each `<<`.
 */
function removeHeredocs(script: string): string {
  const lines = script.split("\n");
  const texts = lines.map((line) => line.trim());
  const lastPlaces = new Map(texts.map((text, place) => [text, place]));
  const kept: string[] = [];
  for (let place = 0; place < lines.length; place += 1) {
    let line = lines[place];
    for (const start of line.matchAll(HEREDOC)) {
      const end = (start[2] ?? start[3]).trim();
      if ((lastPlaces.get(end) ?? 0) <= place) continue;
      line = line.slice(0, start.index);
      place = texts.indexOf(end, place + 1);
      break;
    }
    kept.push(line);
  }
  return kept.join("\n");
}

/** Return the part of a command that names a test program, such as "npm run test:unit"; "" if it runs no tests. */
function matchTest(command: string): string {
  for (const pattern of TEST_COMMANDS) {
    const match = pattern.exec(command);
    if (match && !NO_TEST_RUN.test(command)) return truncate(match[0].replace(OPTIONS, "").replace(/\s+/g, " "), 40);
  }
  return "";
}

/** Return the last line that the first matching pattern finds, without rulers around it; "" if none matches. */
function matchLast(patterns: RegExp[], lines: string[]): string {
  for (const pattern of patterns) {
    const line = lines.findLast((one) => pattern.test(one));
    if (line !== undefined) return truncate(line.replace(/^[\s=─-]+/, "").replace(/[\s=─-]+$/, ""), MAX_LINE_LENGTH);
  }
  return "";
}

/** Return the last lines of an output without colours, except for very long ones: results come last. */
function listOutputLines(parts: Part[]): string[] {
  const text = parts.map((part) => (part.is === "text" ? part.text : "")).join("\n");
  return text
    .slice(-MAX_OUTPUT_LENGTH)
    .split("\n")
    .filter((line) => line.length <= MAX_OUTPUT_LINE)
    .map((line) => line.replace(COLOUR, "").trimEnd());
}
