/**
 * The changes of a session to each file, from its tool calls alone.
 *
 * A call shows only the lines that it replaces. So a file is a list of pieces: each has its lines before the session and its lines
 * now, and for each line the call that wrote it. An edit of lines that an earlier call wrote changes that piece, so the diff of a
 * piece is the change over the whole session. A call that writes a whole file replaces all pieces by one.
 */

import type { Value } from "./json";
import { resolvePointer } from "./json";
import { diffChanges, listMatches } from "./line-diff";
import type { PageRow } from "./protocol";
import { splitLines } from "./text";
import { type FileEdit, listFileEdits } from "./tool-calls";

/** A file that calls changed; failed calls do not count. */
export interface FileChange {
  session: number;
  path: string;
  /** Lines that the calls added and removed, each call counted on its own. */
  added: number;
  removed: number;
  /** The indexes of the calls among the rows. */
  rows: number[];
  isDeleted: boolean;
}

/** A line of a cumulative diff. */
export interface ChangedLine {
  mark: "+" | "-" | " " | "@";
  text: string;
  /** The index of the call that wrote the line, or -1. */
  row: number;
}

/** A contiguous part of a file that changed, and the calls that changed it. */
export interface Hunk {
  lines: ChangedLine[];
  rows: number[];
}

interface Line {
  text: string;
  row: number;
}

interface Piece {
  old: string[];
  now: Line[];
  rows: number[];
}

const CONTEXT = 3;
const MAX_COMPARISON = 4_000_000;
/** More pieces than this are not searched for the lines of an edit. */
const MAX_PIECES = 200;

/** Return the files that the calls changed, in the order of their first change. */
export function collectFileChanges(records: Value[], rows: PageRow[]): FileChange[] {
  const files = new Map<string, FileChange>();
  rows.forEach((row, at) => {
    if (!row.diffs.length || row.isError || row.isRepeated) return;
    for (const diff of row.diffs) {
      const path = nameFile(diff.path, records[row.session]);
      const key = `${row.session}:${path}`;
      if (!files.has(key)) files.set(key, { session: row.session, path, added: 0, removed: 0, rows: [], isDeleted: false });
      const file = files.get(key)!;
      for (const line of diff.lines) {
        if (line[0] === "+") file.added += 1;
        else if (line[0] === "-") file.removed += 1;
      }
      file.isDeleted = diff.what === "delete";
      if (file.rows[file.rows.length - 1] !== at) file.rows.push(at);
    }
  });
  return [...files.values()];
}

/** Return the path of a file within the folder of the session; of a moved file the new one. A path elsewhere stays whole. */
export function nameFile(path: string, record: Value): string {
  return shortenPath(path.split(" → ").pop()!, String(record?.session?.environment?.["working-dir"] ?? ""));
}

/** Return a path without the folder of the session, with slashes between its parts. */
export function shortenPath(path: string, folder: string): string {
  const whole = path.replace(/^file:\/\/(?=\/)/, "").replaceAll("\\", "/");
  const base = `${folder.replaceAll("\\", "/").replace(/(?<!\/)\/+$/, "")}/`;
  return base.length > 1 && whole.startsWith(base) ? whole.slice(base.length) : whole.replace(/^\.\//, "");
}

/** Return the cumulative diff of a file. */
export function buildHunks(file: FileChange, records: Value[], rows: PageRow[]): Hunk[] {
  const record = records[file.session];
  const agent = String(record?.session?.["agent-meta"]?.["cli-name"] ?? "");
  let pieces: Piece[] = [];
  for (const at of file.rows) {
    const row = rows[at];
    for (const edit of listFileEdits(agent, row.tool, resolvePointer(record, row.place)?.input))
      if (nameFile(edit.path, record) === file.path) pieces = applyEdit(pieces, edit, at);
  }
  return pieces.map(diffPiece).filter((hunk) => hunk.lines.length);
}

/** Return the pieces of a file after an edit. */
function applyEdit(pieces: Piece[], edit: FileEdit, row: number): Piece[] {
  if (edit.whole !== null) {
    const [first] = pieces;
    const isWhole = pieces.length === 1 && first.old.length === 0;
    const now = isWhole ? keepOwners(first.now, splitLines(edit.whole), row) : asLines(splitLines(edit.whole), row);
    return [{ old: [], now, rows: [...pieces.flatMap((piece) => piece.rows), row] }];
  }
  if (edit.isDelete) return pieces.map((piece) => ({ ...piece, now: [], rows: [...piece.rows, row] }));
  return edit.pairs.reduce((known, [before, after]) => applyPair(known, before, after, row), pieces);
}

/** Return the pieces after the text `before` became `after`, in the piece that has it or in a new one. */
function applyPair(pieces: Piece[], before: string, after: string, row: number): Piece[] {
  const found = before && pieces.length <= MAX_PIECES ? pieces.findIndex((piece) => joinLines(piece.now).includes(before)) : -1;
  if (found < 0) {
    const old = splitLines(before);
    return [...pieces, { old, now: keepOwners(asLines(old, -1), splitLines(after), row), rows: [row] }];
  }
  const piece = pieces[found];
  const text = joinLines(piece.now);
  const start = text.indexOf(before);
  const changed = text.slice(0, start) + after + text.slice(start + before.length);
  const now = keepOwners(piece.now, splitLines(changed), row);
  return pieces.with(found, { ...piece, now, rows: [...piece.rows, row] });
}

/** Return new lines, where each line that was there before keeps the call that wrote it, and all others get `row`. */
function keepOwners(before: Line[], after: string[], row: number): Line[] {
  const lines = asLines(after, row);
  let start = 0;
  while (start < before.length && start < after.length && before[start].text === after[start]) lines[start] = before[start++];
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end)!.text === after.at(-1 - end)) {
    lines[after.length - 1 - end] = before[before.length - 1 - end];
    end++;
  }
  const [left, right] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  if (left.length * right.length > MAX_COMPARISON) return lines;
  const texts = left.map((line) => line.text);
  for (const [a, b, size] of listMatches(texts, right)) for (let at = 0; at < size; at++) lines[start + b + at] = left[a + at];
  return lines;
}

function asLines(texts: string[], row: number): Line[] {
  return texts.map((text) => ({ text, row }));
}

function joinLines(lines: Line[]): string {
  return lines.map((line) => line.text).join("\n");
}

/** Return the diff of a piece, with a line "@" where lines are left out. */
function diffPiece(piece: Piece): Hunk {
  const { old, now } = piece;
  const rows = [...new Set(piece.rows)];
  const remove = (text: string): ChangedLine => ({ mark: "-", text, row: -1 });
  const add = ({ text, row }: Line): ChangedLine => ({ mark: "+", text, row });
  if (!old.length || !now.length || old.length * now.length > MAX_COMPARISON)
    return { lines: [...old.map(remove), ...now.map(add)], rows };
  const groups = diffChanges(
    old,
    now.map((line) => line.text),
    CONTEXT,
  );
  const lines = groups.flatMap((group, at): ChangedLine[] => [
    ...(at ? [{ mark: "@" as const, text: "", row: -1 }] : []),
    ...group.flatMap(([kind, a1, a2, b1, b2]): ChangedLine[] =>
      kind === "equal"
        ? now.slice(b1, b2).map(({ text, row }) => ({ mark: " ", text, row }))
        : [...old.slice(a1, a2).map(remove), ...now.slice(b1, b2).map(add)],
    ),
  ]);
  return { lines, rows };
}
