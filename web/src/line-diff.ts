/**
 * Line diffs by the algorithm of Python's difflib, so that page and terminal show the same diffs: find the longest run of lines
 * that both texts contain, then repeat on each side of it.
 */

/** A run of equal lines: where it begins in each text, and its length. */
type Block = [a: number, b: number, size: number];
/** A change of lines a1 to a2 into lines b1 to b2; the ends are not included. */
export type Change = [kind: "equal" | "replace" | "delete" | "insert", a1: number, a2: number, b1: number, b2: number];

/** In texts with at least this many lines, difflib ignores lines that make up more than 1 % of the text. */
const POPULAR_FROM = 200;

/** Return the lines of a unified diff, each with its marker, and a line "@@" between two hunks. */
export function diffLines(a: string[], b: string[], context: number): string[] {
  return diffChanges(a, b, context).flatMap((group, at) => [
    ...(at ? ["@@"] : []),
    ...group.flatMap(([kind, a1, a2, b1, b2]) =>
      kind === "equal"
        ? a.slice(a1, a2).map((line) => ` ${line}`)
        : [...a.slice(a1, a2).map((line) => `-${line}`), ...b.slice(b1, b2).map((line) => `+${line}`)],
    ),
  ]);
}

/** Return the changes that turn one text into the other, in groups with some lines of context. */
export function diffChanges(a: string[], b: string[], context: number): Change[][] {
  return groupChanges(listChanges(a, b), context);
}

/** Return the positions of each line in a text, without the lines that difflib ignores. */
function indexLines(b: string[]): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  b.forEach((line, at) => (positions.get(line) ?? positions.set(line, []).get(line)!).push(at));
  const limit = Math.floor(b.length / 100) + 1;
  if (b.length >= POPULAR_FROM) for (const [line, all] of positions) if (all.length > limit) positions.delete(line);
  return positions;
}

/** Return the longest run of equal lines within a range of both texts; its length is 0 if no line is equal. */
function findLongestMatch(a: string[], b: string[], positions: Map<string, number[]>, [alo, ahi, blo, bhi]: number[]): Block {
  let [besti, bestj, size] = [alo, blo, 0];
  let lengths = new Map<number, number>();
  for (let i = alo; i < ahi; i++) {
    const next = new Map<number, number>();
    for (const j of positions.get(a[i]) ?? []) {
      if (j < blo) continue;
      if (j >= bhi) break;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, length);
      if (length > size) [besti, bestj, size] = [i - length + 1, j - length + 1, length];
    }
    lengths = next;
  }
  while (besti > alo && bestj > blo && a[besti - 1] === b[bestj - 1]) [besti, bestj, size] = [besti - 1, bestj - 1, size + 1];
  while (besti + size < ahi && bestj + size < bhi && a[besti + size] === b[bestj + size]) size++;
  return [besti, bestj, size];
}

/** Return all runs of equal lines in order; the last is an empty run at the ends of both texts. */
export function listMatches(a: string[], b: string[]): Block[] {
  const positions = indexLines(b);
  const open = [[0, a.length, 0, b.length]];
  const matches: Block[] = [];
  for (let range = open.pop(); range; range = open.pop()) {
    const [alo, ahi, blo, bhi] = range;
    const [i, j, size] = findLongestMatch(a, b, positions, range);
    if (!size) continue;
    matches.push([i, j, size]);
    if (alo < i && blo < j) open.push([alo, i, blo, j]);
    if (i + size < ahi && j + size < bhi) open.push([i + size, ahi, j + size, bhi]);
  }
  return [...matches.sort((left, right) => left[0] - right[0] || left[1] - right[1]), [a.length, b.length, 0]];
}

/** Return the changes that turn one text into the other, with the equal runs between them. */
function listChanges(a: string[], b: string[]): Change[] {
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  for (const [ai, bj, size] of listMatches(a, b)) {
    if (i < ai && j < bj) changes.push(["replace", i, ai, j, bj]);
    else if (i < ai) changes.push(["delete", i, ai, j, bj]);
    else if (j < bj) changes.push(["insert", i, ai, j, bj]);
    [i, j] = [ai + size, bj + size];
    if (!size) continue;
    const last = changes[changes.length - 1];
    if (last?.[0] === "equal")
      [last[2], last[4]] = [i, j]; // Adjacent runs become one.
    else changes.push(["equal", ai, i, bj, j]);
  }
  return changes;
}

/** Split changes into hunks with some lines of context. */
function groupChanges(changes: Change[], context: number): Change[][] {
  const groups: Change[][] = [];
  let group: Change[] = [];
  changes.forEach(([kind, a1, a2, b1, b2], at) => {
    if (kind === "equal" && at === 0) [a1, b1] = [Math.max(a1, a2 - context), Math.max(b1, b2 - context)];
    if (kind === "equal" && at === changes.length - 1) [a2, b2] = [Math.min(a2, a1 + context), Math.min(b2, b1 + context)];
    if (kind === "equal" && a2 - a1 > 2 * context) {
      group.push([kind, a1, Math.min(a2, a1 + context), b1, Math.min(b2, b1 + context)]);
      groups.push(group);
      group = [];
      [a1, b1] = [Math.max(a1, a2 - context), Math.max(b1, b2 - context)];
    }
    group.push([kind, a1, a2, b1, b2]);
  });
  groups.push(group);
  return groups.filter((members) => members.some(([kind]) => kind !== "equal"));
}
