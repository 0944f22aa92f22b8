/** The texts that the index of an archive searches. The first search unpacks them. */

import { fromBase64, gunzip } from "./bytes";
import type { TileHit } from "./shelves";

/** A text of a conversation: the link to its entry, who speaks or the tool, whether it failed, and the words. */
type ArchiveText = [place: string, label: string, isError: number, text: string];

const BEFORE = 40;
const AFTER = 140;
/** A single one, so that positions stay. */
const SPACE = /\s/g;
const LETTER = /[\p{L}\p{N}]/u;

export interface ArchiveHits {
  /** The index of the conversation among the pages. */
  page: number;
  hits: TileHit[];
  /** Whether a hit has the words as one phrase. */
  isExact: boolean;
}

/** Unpack the texts of each conversation. */
export async function unpackTexts(packed: string): Promise<ArchiveText[][]> {
  return JSON.parse(new TextDecoder().decode(await gunzip(fromBase64(packed))));
}

/**
 * Return the hits in the conversations: the texts with all words, or with the phrase in quotes.
 *
 * Texts with the words as one phrase come first, as do the conversations that have such a text.
 */
export function searchTexts(texts: ArchiveText[][], wanted: string): ArchiveHits[] {
  const phrase = /^"(.+)"$/.exec(wanted.trim());
  const words = (phrase ? [phrase[1]] : wanted.split(/\s+/)).map((word) => word.toLowerCase()).filter(Boolean);
  if (!words.length) return [];
  const whole = words.join(" ");
  const found = texts.flatMap((own, page) => {
    const exact: TileHit[] = [];
    const loose: TileHit[] = [];
    for (const [place, label, isError, text] of own) {
      const lower = text.toLowerCase().replace(SPACE, " ");
      // Some letters change their length in lower case; then positions differ, and the snippet marks nothing.
      if (!words.every((word) => findWord(lower, word, 0) >= 0)) continue;
      const isExact = findWord(lower, whole, 0) >= 0;
      const snippet = cutSnippet(text, lower, isExact ? [whole] : words);
      (isExact ? exact : loose).push({ place, label, isError: isError === 1, snippet });
    }
    return exact.length + loose.length ? [{ page, hits: [...exact, ...loose], isExact: exact.length > 0 }] : [];
  });
  return found.sort((left, right) => Number(right.isExact) - Number(left.isExact));
}

/** Return where a word begins in a text, also as the beginning of a longer one; -1 if it does not. */
function findWord(text: string, word: string, from: number): number {
  let at = text.indexOf(word, from);
  while (at > 0 && LETTER.test(text[at - 1]) && LETTER.test(word[0])) at = text.indexOf(word, at + 1);
  return at;
}

/** Return the text around the first word, with the words marked. */
function cutSnippet(text: string, lower: string, words: string[]): TileHit["snippet"] {
  if (text.length !== lower.length) return [{ text: text.slice(0, AFTER), isWord: false }];
  const at = Math.min(...words.map((word) => findWord(lower, word, 0)));
  const [start, end] = [Math.max(0, at - BEFORE), Math.min(text.length, at + AFTER)];
  const pieces: TileHit["snippet"] = [];
  const add = (from: number, to: number, isWord: boolean) => {
    if (to > from) pieces.push({ text: text.slice(from, to).replaceAll("\n", " "), isWord });
  };
  let position = start;
  while (position < end) {
    const next = words
      .map((word): [number, number] => [findWord(lower, word, position), word.length])
      .filter(([found]) => found >= 0 && found < end)
      .sort((left, right) => left[0] - right[0] || right[1] - left[1])[0];
    if (!next) break;
    add(position, next[0], false);
    add(next[0], next[0] + next[1], true);
    position = next[0] + next[1];
  }
  add(position, end, false);
  if (start > 0) pieces.unshift({ text: "…", isWord: false });
  if (end < text.length) pieces.push({ text: "…", isWord: false });
  return pieces;
}
