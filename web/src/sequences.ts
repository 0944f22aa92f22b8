/**
 * What two lists of lines have in common, found as Python's difflib finds it, so that page and terminal show the same diffs:
 * the longest run that is in both, then the same on each side of it.
 */

type Block = [a: number, b: number, size: number];
type Code = [what: "equal" | "replace" | "delete" | "insert", a1: number, a2: number, b1: number, b2: number];

/** From so many lines on, those that are in more than one in a hundred begin no run. */
const MANY = 200;

/** Give the lines of a unified diff, each with its first letter, without heads. */
export function unified(a: string[], b: string[], context: number): string[] {
  return grouped(codes(a, b), context).flatMap((group) =>
    group.flatMap(([what, a1, a2, b1, b2]) =>
      what === "equal"
        ? a.slice(a1, a2).map((line) => ` ${line}`)
        : [...a.slice(a1, a2).map((line) => `-${line}`), ...b.slice(b1, b2).map((line) => `+${line}`)],
    ),
  );
}

function places(b: string[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  b.forEach((line, at) => (found.get(line) ?? found.set(line, []).get(line)!).push(at));
  const most = Math.floor(b.length / 100) + 1;
  if (b.length >= MANY) for (const [line, all] of found) if (all.length > most) found.delete(line);
  return found;
}

function longest(a: string[], b: string[], where: Map<string, number[]>, [alo, ahi, blo, bhi]: number[]): Block {
  let [besti, bestj, size] = [alo, blo, 0];
  let lengths = new Map<number, number>();
  for (let i = alo; i < ahi; i++) {
    const next = new Map<number, number>();
    for (const j of where.get(a[i]) ?? []) {
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

function blocks(a: string[], b: string[]): Block[] {
  const where = places(b);
  const open = [[0, a.length, 0, b.length]];
  const found: Block[] = [];
  for (let range = open.pop(); range; range = open.pop()) {
    const [alo, ahi, blo, bhi] = range;
    const [i, j, size] = longest(a, b, where, range);
    if (!size) continue;
    found.push([i, j, size]);
    if (alo < i && blo < j) open.push([alo, i, blo, j]);
    if (i + size < ahi && j + size < bhi) open.push([i + size, ahi, j + size, bhi]);
  }
  return [...found.sort((one, other) => one[0] - other[0] || one[1] - other[1]), [a.length, b.length, 0]];
}

function codes(a: string[], b: string[]): Code[] {
  const found: Code[] = [];
  let [i, j] = [0, 0];
  for (const [ai, bj, size] of blocks(a, b)) {
    if (i < ai && j < bj) found.push(["replace", i, ai, j, bj]);
    else if (i < ai) found.push(["delete", i, ai, j, bj]);
    else if (j < bj) found.push(["insert", i, ai, j, bj]);
    [i, j] = [ai + size, bj + size];
    if (!size) continue;
    const last = found[found.length - 1];
    if (last?.[0] === "equal")
      [last[2], last[4]] = [i, j]; // Runs that follow each other are one.
    else found.push(["equal", ai, i, bj, j]);
  }
  return found;
}

function grouped(all: Code[], context: number): Code[][] {
  const found: Code[][] = [];
  let group: Code[] = [];
  all.forEach(([what, a1, a2, b1, b2], at) => {
    if (what === "equal" && at === 0) [a1, b1] = [Math.max(a1, a2 - context), Math.max(b1, b2 - context)];
    if (what === "equal" && at === all.length - 1) [a2, b2] = [Math.min(a2, a1 + context), Math.min(b2, b1 + context)];
    if (what === "equal" && a2 - a1 > 2 * context) {
      group.push([what, a1, Math.min(a2, a1 + context), b1, Math.min(b2, b1 + context)]);
      found.push(group);
      group = [];
      [a1, b1] = [Math.max(a1, a2 - context), Math.max(b1, b2 - context)];
    }
    group.push([what, a1, a2, b1, b2]);
  });
  found.push(group);
  return found.filter((one) => one.some(([what]) => what !== "equal"));
}
