/** The times in a record: RFC 3339 text, or milliseconds since the epoch. */

/** The largest time of a date, in milliseconds. */
const MAX_TIME = 8.64e15;

/** Return a time in milliseconds since the epoch; null if it cannot be read. */
export function toMilliseconds(time: unknown): number | null {
  const value = typeof time === "number" ? time : typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isFinite(value) ? value : null;
}

/** Return a time as "2026-03-14 09:26:01" in the time zone of the reader; "" if it is not known, and a text that is no time as it is. */
export function formatTime(time: unknown): string {
  const value = toMilliseconds(time);
  if (value === null || Math.abs(value) > MAX_TIME) return typeof time === "string" ? time.slice(0, 19).replace("T", " ") : "";
  const date = new Date(value);
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":")}`;
}

function pad(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

/** Return a time as the record has it, such as "2026-03-14T09:26:01Z"; milliseconds become UTC, and "" stands for an unknown time. */
export function spellTime(time: unknown): string {
  if (typeof time === "string") return time;
  const value = toMilliseconds(time);
  return value === null || Math.abs(value) > MAX_TIME ? "" : new Date(value).toISOString();
}

/** Return a day such as "2026-03-14" as "Saturday 14 March 2026", or with short names; the text itself if it is not a day. */
export function formatDay(day: string, names: "long" | "short" = "long"): string {
  const time = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isFinite(time)) return day;
  const [weekday, month] = ["weekday", "month"].map((part) =>
    new Date(time).toLocaleDateString("en", { [part]: names, timeZone: "UTC" }),
  );
  return `${weekday} ${Number(day.slice(8, 10))} ${month} ${day.slice(0, 4)}`;
}

/** Return a time since the start of a turn as "+12 s", "+3:20" or "+1:05:00". */
export function formatSince(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `+${seconds} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours ? `+${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `+${minutes}:${rest}`;
}

/** Return a duration as "18 s", "3 min 20 s", "1 h 5 min" or from two days on "8 d 7 h". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  const pairs: [number, string][] =
    hours >= 48
      ? [
          [days, "d"],
          [hours % 24, "h"],
        ]
      : hours
        ? [
            [hours, "h"],
            [minutes % 60, "min"],
          ]
        : minutes
          ? [
              [minutes, "min"],
              [seconds % 60, "s"],
            ]
          : [[seconds, "s"]];
  return pairs
    .filter(([value], at) => at === 0 || value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(" ");
}
