/** The parts of the timeline: equal spans of time, with what happened in each. Long pauses are shortened. */

import type { Bucket, PageRow } from "./protocol";
import { isPrompt } from "./rows";
import { formatTime, toMilliseconds } from "./time";

const BUCKETS = 120;
/** A longer pause takes no more room than this, so that a night does not hide the work. */
const LONGEST_PAUSE = 5 * 60 * 1000;

/**
 * Divide the conversation into equal spans of time or, if most rows have no time, into equal numbers of rows.
 *
 * Also return the number of the bucket of each row, and the first and the last time, or null if the buckets are not spans of time.
 * `outputTokens` has the count of each entry.
 */
export function divideTimeline(
  rows: PageRow[],
  outputTokens: Map<string, number>,
): [Bucket[], number[], [string, string] | null] {
  const times = rows.map((row) => toMilliseconds(row.time));
  const sorted = [...new Set(times.filter((time) => time !== null))].sort((left, right) => left - right);
  const isTimed = sorted.length > 1 && times.filter((time) => time !== null).length > rows.length / 2;
  const active = shortenPauses(sorted);
  const total = active.get(sorted[sorted.length - 1]) ?? 1;
  const count = Math.min(BUCKETS, rows.length);
  const buckets = Array.from({ length: count }, makeBucket);
  const left = new Map(outputTokens);
  const isInOrder = findRowsInOrder(rows, times);
  const numbers: number[] = [];
  let position = 0;
  rows.forEach((row, at) => {
    const time = times[at];
    if (!isTimed) position = at / rows.length;
    else if (time !== null) position = active.get(time)! / total;
    const number = Math.min(count - 1, Math.floor(position * count));
    const bucket = buckets[number];
    // A row with a time of its own, such as a copied one, is on the screen where its neighbours are.
    const isPlaced = !isTimed || isInOrder[at];
    numbers.push(isPlaced ? number : (numbers[at - 1] ?? 0));
    const isTurn = isPrompt(row) && !row.isRepeated;
    const isFirst = (seen: number, applies: boolean) => applies && seen === 0;
    if (bucket.first < 0 || (isPlaced && numbers[bucket.first] !== number)) bucket.first = bucket.main = at;
    if (isFirst(bucket.errors, row.isError)) bucket.main = at;
    else if (!bucket.errors && isFirst(bucket.prompts, isTurn)) bucket.main = at;
    else if (!bucket.errors && !bucket.prompts && isFirst(bucket.commits, row.commit !== null)) bucket.main = at;
    bucket.rows += 1;
    bucket.errors += Number(row.isError);
    bucket.prompts += Number(isTurn);
    bucket.commits += Number(row.commit !== null);
    // An entry may have several rows; its tokens count once.
    const key = `${row.session}:${row.place.replace(/\/children\/.*$/, "")}`;
    bucket.tokens += left.get(key) ?? 0;
    left.delete(key);
  });
  return [buckets, numbers, isTimed ? [formatTime(sorted[0]), formatTime(sorted[sorted.length - 1])] : null];
}

/** Return, for each row, whether it is in the longest sequence of rows of its session in which times never go back. */
function findRowsInOrder(rows: PageRow[], times: (number | null)[]): boolean[] {
  const isInOrder = rows.map(() => false);
  const previous: number[] = [];
  for (const session of new Set(rows.map((row) => row.session))) {
    /** The last row of the best sequence of each length. */
    const ends: number[] = [];
    rows.forEach((row, at) => {
      const time = times[at];
      if (row.session !== session || time === null) return;
      let [low, high] = [0, ends.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (times[ends[middle]]! <= time) low = middle + 1;
        else high = middle;
      }
      previous[at] = ends[low - 1] ?? -1;
      ends[low] = at;
    });
    for (let at = ends[ends.length - 1] ?? -1; at >= 0; at = previous[at]) isInOrder[at] = true;
  }
  return isInOrder;
}

/** Return an empty part of the timeline. */
function makeBucket(): Bucket {
  return { first: -1, main: -1, rows: 0, tokens: 0, errors: 0, prompts: 0, commits: 0 };
}

/** Return how much time passed until each of some sorted times, where a long pause counts as a short one. */
function shortenPauses(sorted: number[]): Map<number, number> {
  const active = new Map<number, number>();
  let passed = 0;
  sorted.forEach((time, at) => {
    if (at) passed += Math.min(time - sorted[at - 1], LONGEST_PAUSE);
    active.set(time, passed);
  });
  return active;
}
