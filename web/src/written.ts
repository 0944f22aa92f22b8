/**
 * The text of lines that an attribution names by their hash: looked for in what the calls wrote that are said to have written them.
 * What is found is proved by the hash.
 */

import { hashed, hex } from "./bytes";
import type { Shown } from "./protocol";

const MOST_TRIED = 5000;

/** Give the lines whose bytes have a hash, of so many lines; nothing where the calls do not hold them in one piece. */
export async function writtenLines(calls: Shown[], count: number, hash: string): Promise<string[] | null> {
  const encoder = new TextEncoder();
  let tried = 0;
  for (const piece of calls.flatMap((row) => row.diffs.flatMap((diff) => pieces(diff.lines)))) {
    for (let at = 0; at + count <= piece.length && tried < MOST_TRIED; at++, tried++) {
      const lines = piece.slice(at, at + count);
      const text = lines.join("\n");
      // The last line of a file may have no end.
      for (const end of ["\n", "", "\r\n"])
        if (hex(await hashed("SHA-256", encoder.encode(end === "\r\n" ? lines.join(end) + end : text + end))) === hash)
          return lines;
    }
  }
  return null;
}

/** Give what stands in a file after a change, as far as a diff shows it, in pieces that hang together. */
function pieces(lines: string[]): string[][] {
  const found: string[][] = [[]];
  for (const line of lines) {
    if (line.startsWith("@@")) found.push([]);
    else if (!line.startsWith("-")) found[found.length - 1].push(line.slice(1));
  }
  return found;
}
