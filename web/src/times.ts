/** Times as records have them: RFC 3339 text, or milliseconds of the epoch. */

export function milliseconds(time: unknown): number | null {
  const found = typeof time === "number" ? time : typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isFinite(found) ? found : null;
}

/** Say a time in a line, as it was written. */
export function timeText(time: unknown): string {
  if (typeof time === "string") return time.slice(0, 19).replace("T", " ");
  const when = milliseconds(time);
  return when === null || Math.abs(when) > 8.64e15 ? "" : new Date(when).toISOString().slice(0, 19).replace("T", " ");
}

export function lasted(time: number): string {
  const seconds = Math.floor(time / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
