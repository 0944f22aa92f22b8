/** A chart of tokens, cost or failures over time. */

import { useState } from "preact/hooks";
import { formatCost } from "./costs";
import { shortenNumber } from "./shelves";
import { pluralize } from "./text";

const DAY = 24 * 3600 * 1000;
const MAX_BARS = 90;
/** The days that the chart shows at first: one very old session must not make the bars of all others narrow. */
const RECENT_DAYS = 12 * 7;
/** The spans of a bar, in days: the shortest that gives few enough bars is used. */
const SPANS: [number, string][] = [
  [1, "day"],
  [7, "week"],
  [30, "30 days"],
  [90, "90 days"],
];
/** A bar that is so many times as high as the next one is cut, so that the others can be seen. */
const DOMINANCE = 4;
/** The height of the chart above the highest bar that is not cut, as a part of that bar. */
const ROOM = 1.3;
/** The smallest height of a bar with a value. */
const MIN_HEIGHT = 0.03;
/** The gap in a cut bar: its place and its height. */
const [GAP_TOP, GAP_HEIGHT] = [0.14, 0.08];

/** The sums of a day such as "2026-03-14". */
export interface Day {
  day: string;
  tokens: number;
  cost: number;
  failed: number;
  sessions: number;
}

type Metric = "tokens" | "cost" | "failed";
const METRICS: Record<Metric, string> = { tokens: "Tokens", cost: "Cost", failed: "Failures" };

/** The chart, with switches between the figures, and between recent and all days; null if there are fewer than two days. Until the days arrive, an empty chart. */
export function UsageChart({ days }: { days?: Day[] }) {
  const [metric, setMetric] = useState<Metric>("tokens");
  const [showsAll, setShowsAll] = useState(false);
  const [unit, bars, hasOlder] = divideDays(days ?? [], showsAll ? Infinity : RECENT_DAYS);
  if (days && bars.length < 2) return null;
  const values = bars.map((bar) => bar[metric]);
  const largest = Math.max(...values);
  const top = chooseTop(values);
  const format = (value: number) => (metric === "cost" ? formatCost(value, false, false) || "$0" : shortenNumber(value));
  return (
    <figure class="days">
      <figcaption>
        <span class="metrics" role="group" aria-label="Figure">
          {(Object.keys(METRICS) as Metric[]).map((name) => (
            <button type="button" aria-pressed={metric === name} onClick={() => setMetric(name)}>
              {METRICS[name]}
            </button>
          ))}
        </span>
        {hasOlder && (
          <span class="metrics" role="group" aria-label="Time">
            <button type="button" aria-pressed={!showsAll} onClick={() => setShowsAll(false)}>
              12 weeks
            </button>
            <button type="button" aria-pressed={showsAll} onClick={() => setShowsAll(true)}>
              All
            </button>
          </span>
        )}
        {days && (
          <span class="scale">
            per {unit} · max {format(largest)}
            {top < largest && ", one bar is cut"}
          </span>
        )}
      </figcaption>
      <svg viewBox={`0 0 ${bars.length} 1`} preserveAspectRatio="none" role="img" aria-label={`${METRICS[metric]} per ${unit}`}>
        {bars.map((bar, at) => (
          <g>
            <rect class="area" x={at} y={0} width={1} height={1}>
              <title>
                {[
                  bar.day,
                  `${shortenNumber(bar.tokens)} tokens`,
                  formatCost(bar.cost, false, false),
                  bar.failed ? pluralize(bar.failed, "failure") : "",
                  pluralize(bar.sessions, "conversation"),
                ]
                  .filter(Boolean)
                  .join(", ")}
              </title>
            </rect>
            {bar[metric] > 0 && <Bar kind={metric} at={at} height={bar[metric] / top} />}
          </g>
        ))}
      </svg>
      <figcaption>
        <span>{days ? bars[0].day : "\u00a0"}</span>
        <span>{days?.[days.length - 1].day}</span>
      </figcaption>
    </figure>
  );
}

/** A bar; one that is higher than the chart has a gap. */
function Bar({ kind, at, height }: { kind: string; at: number; height: number }) {
  const shown = Math.min(1, Math.max(MIN_HEIGHT, height));
  return (
    <g pointer-events="none">
      <rect class={kind} x={at + 0.1} y={1 - shown} width={0.8} height={shown} />
      {height > 1 && <rect class="gap" x={at} y={GAP_TOP} width={1} height={GAP_HEIGHT} />}
    </g>
  );
}

/**
 * Return the value at the top of the chart: the largest one.
 *
 * If a few values dominate all others, at most one of ten, it is a little more than the largest of the others.
 */
export function chooseTop(values: number[]): number {
  const sorted = values.filter((value) => value > 0).sort((left, right) => right - left);
  for (let count = Math.max(1, Math.floor(sorted.length / 10)); count > 0; count--)
    if (sorted[count - 1] > DOMINANCE * sorted[count]) return sorted[count] * ROOM;
  return sorted[0] ?? 1;
}

/**
 * Return the name of a span, the sums of equal spans up to the last day, and whether there are days that are not recent.
 *
 * The days are in order. Only the last `most` days count.
 */
function divideDays(days: Day[], most: number): [unit: string, bars: Day[], hasOlder: boolean] {
  const known = days.filter((day) => Number.isFinite(Date.parse(day.day)));
  if (!known.length) return ["day", [], false];
  const number = (day: Day) => Math.floor(Date.parse(day.day) / DAY);
  const [oldest, last] = [number(known[0]), number(known[known.length - 1])];
  const first = Math.max(oldest, last - most + 1);
  const [span, unit] = SPANS.find(([size]) => (last - first) / size < MAX_BARS) ?? SPANS[SPANS.length - 1];
  const bars = Array.from({ length: Math.min(2000, Math.floor((last - first) / span) + 1) }, (_, at): Day => {
    const day = new Date((first + at * span) * DAY).toISOString().slice(0, 10);
    return { day, tokens: 0, cost: 0, failed: 0, sessions: 0 };
  });
  for (const day of known) {
    const bar = bars[Math.floor((number(day) - first) / span)];
    if (!bar) continue;
    bar.tokens += day.tokens;
    bar.cost += day.cost;
    bar.failed += day.failed;
    bar.sessions += day.sessions;
  }
  return [unit, bars, last - oldest >= RECENT_DAYS];
}

/** Add up the sums of each day, and sort them. */
export function addUpDays(days: Day[]): Day[] {
  const sums = new Map<string, Day>();
  for (const day of days) {
    if (!day.day) continue;
    const sum = sums.get(day.day) ?? { day: day.day, tokens: 0, cost: 0, failed: 0, sessions: 0 };
    for (const name of ["tokens", "cost", "failed", "sessions"] as const) sum[name] += day[name];
    sums.set(day.day, sum);
  }
  return [...sums.values()].sort((left, right) => left.day.localeCompare(right.day));
}
