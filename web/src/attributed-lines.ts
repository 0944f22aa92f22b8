/**
 * The text of attributed lines. A record names these lines only by their hash, so the page searches the diffs of the calls that
 * wrote them. The hash proves that the text is right.
 */

import { computeHash, toHex } from "./bytes";
import type { PageRow } from "./protocol";

const MAX_ATTEMPTS = 5000;

/** Return `count` lines with the given hash; null if no diff contains them in one piece. */
export async function findLinesByHash(calls: PageRow[], count: number, hash: string): Promise<string[] | null> {
  const encoder = new TextEncoder();
  const hashText = async (text: string) => toHex(await computeHash("SHA-256", encoder.encode(text)));
  let attempts = 0;
  for (const piece of calls.flatMap((row) => row.diffs.flatMap((diff) => listWrittenPieces(diff.lines)))) {
    for (let start = 0; start + count <= piece.length && attempts < MAX_ATTEMPTS; start++, attempts++) {
      const lines = piece.slice(start, start + count);
      const text = lines.join("\n");
      // The last line of a file may lack a line end.
      for (const variant of [`${text}\n`, text, `${lines.join("\r\n")}\r\n`])
        if ((await hashText(variant)) === hash) return lines;
    }
  }
  return null;
}

/** Return the lines that a diff leaves in the file, in contiguous pieces. */
function listWrittenPieces(lines: string[]): string[][] {
  const pieces: string[][] = [[]];
  for (const line of lines) {
    if (line.startsWith("@@")) pieces.push([]);
    else if (!line.startsWith("-")) pieces[pieces.length - 1].push(line.slice(1));
  }
  return pieces;
}
