/** The times in a record: RFC 3339 text, or milliseconds since the epoch. */

/** Return a time in milliseconds since the epoch; null if it cannot be read. */
export function toMilliseconds(time: unknown): number | null {
  const value = typeof time === "number" ? time : typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isFinite(value) ? value : null;
}

/** Return a time as "2026-03-14 09:26:01"; "" if it cannot be read. A text keeps its time zone; a number becomes UTC. */
export function formatTime(time: unknown): string {
  if (typeof time === "string") return time.slice(0, 19).replace("T", " ");
  const value = toMilliseconds(time);
  return value === null || Math.abs(value) > 8.64e15 ? "" : new Date(value).toISOString().slice(0, 19).replace("T", " ");
}

/** Return a duration as "3 min 20 s", or from an hour on as "1 h 5 min". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
