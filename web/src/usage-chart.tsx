/** A chart of tokens, cost or failures over time. */

import { useState } from "preact/hooks";
import { formatCost, shortenNumber } from "./shelves";
import { pluralize } from "./text";

const DAY = 24 * 3600 * 1000;
const MAX_BARS = 90;
/** The spans of a bar, in days: the shortest that gives few enough bars is used. */
const SPANS: [number, string][] = [
  [1, "day"],
  [7, "week"],
  [30, "30 days"],
  [90, "90 days"],
];

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

/** The chart, with a switch between the figures; null if there are fewer than two days. Until the days arrive, an empty chart. */
export function UsageChart({ days }: { days?: Day[] }) {
  const [metric, setMetric] = useState<Metric>("tokens");
  const [unit, bars] = divideDays(days ?? []);
  if (days && bars.length < 2) return null;
  const largest = Math.max(...bars.map((bar) => bar[metric]));
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
        {days && (
          <span>
            per {unit} · max {format(largest)}
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
            {bar[metric] > 0 && (
              <rect
                class={metric}
                x={at + 0.1}
                y={1 - bar[metric] / largest}
                width={0.8}
                height={bar[metric] / largest}
                pointer-events="none"
              />
            )}
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

/** Return the sums of equal spans from the first day to the last, and the name of a span. The days are in order. */
function divideDays(days: Day[]): [string, Day[]] {
  const known = days.filter((day) => Number.isFinite(Date.parse(day.day)));
  if (!known.length) return ["day", []];
  const number = (day: Day) => Math.floor(Date.parse(day.day) / DAY);
  const [first, last] = [number(known[0]), number(known[known.length - 1])];
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
  return [unit, bars];
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
