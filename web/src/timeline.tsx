/** The timeline of the conversation, to see where things happened and to move there: by click, by dragging, or by arrow keys. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Bucket, Overview, PageRow } from "./protocol";
import { shownParts } from "./rows";
import { formatNumber, makeVisible, pluralize, truncate } from "./text";
import { formatTime } from "./time";
import type { Turns } from "./turns";

const [WIDTH, HEIGHT] = [600, 40];
const MAX_PROMPT = 60;
/** A shorter conversation needs no map. */
const MIN_BUCKETS = 6;

interface Props {
  overview: Overview;
  rows: PageRow[];
  turns: Turns;
  scroller: { current: HTMLElement | null };
  /** Returns the first and the last row on the screen; null for an empty list. */
  findVisible: { current: () => [number, number] | null };
  /** Scroll to a row as the list shows it, also inside a closed group. */
  scrollTo: (row: number) => void;
  /** Go to a row, and open the groups around it. */
  go: (row: number) => void;
}

/** The timeline: a bar for each span of time, marks, and a frame around the rows on the screen. Null for a single span. */
export function Timeline({ overview, rows, turns, scroller, findVisible, scrollTo, go }: Props) {
  const { buckets, bucketOfRow, span } = overview;
  const [view, setView] = useState<[number, number]>([0, 0]);
  /** The bucket under the pointer, or -1. */
  const [pointed, setPointed] = useState(-1);
  /** The bucket where the pointer went down, or -1; and whether it has left that bucket. */
  const drag = useRef({ from: -1, moved: false });
  const strip = useRef<HTMLDivElement>(null);
  const isShown = buckets.length >= MIN_BUCKETS;

  useEffect(() => {
    const main = scroller.current;
    if (!main || !isShown) return;
    let frame = 0;
    const follow = () => {
      frame = 0;
      const visible = findVisible.current();
      if (!visible) return;
      const [from, to] = visible.map((row) => bucketOfRow[row] ?? 0);
      setView([Math.min(from, to), Math.max(from, to)]);
    };
    const onScroll = () => (frame ||= requestAnimationFrame(follow));
    main.addEventListener("scroll", onScroll, { passive: true });
    onScroll();
    return () => {
      cancelAnimationFrame(frame);
      main.removeEventListener("scroll", onScroll);
    };
  }, [isShown, buckets]);

  if (!isShown) return null;
  const hasTokens = buckets.some((bucket) => bucket.tokens);
  const size = (bucket: Bucket) => (hasTokens ? bucket.tokens : bucket.rows);
  const largest = Math.max(1, ...buckets.map(size));
  const width = WIDTH / buckets.length;
  const bar = Math.max(1, width - 1);

  const findPointed = (event: PointerEvent) => {
    const box = strip.current!.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * buckets.length);
    return Math.min(buckets.length - 1, Math.max(0, at));
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button) return;
    strip.current!.setPointerCapture(event.pointerId);
    drag.current = { from: findPointed(event), moved: false };
  };
  const onPointerMove = (event: PointerEvent) => {
    const at = findPointed(event);
    setPointed(at);
    if (drag.current.from < 0 || (!drag.current.moved && at === drag.current.from)) return;
    drag.current.moved = true;
    const nearest = findNearest(buckets, at);
    if (nearest) scrollTo(nearest.first);
  };
  const onPointerUp = (event: PointerEvent) => {
    const { from, moved } = drag.current;
    drag.current = { from: -1, moved: false };
    const nearest = findNearest(buckets, findPointed(event));
    if (from >= 0 && !moved && nearest) go(nearest.main);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number | undefined> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
    const step = steps[event.key];
    const filled = buckets.flatMap((bucket, at) => (bucket.first < 0 ? [] : [at]));
    let target: number | undefined;
    if (step === 1) target = filled.find((at) => at > view[0]);
    else if (step === -1) target = filled.findLast((at) => at < view[0]);
    else if (event.key === "Home") target = filled[0];
    else if (event.key === "End") target = filled[filled.length - 1];
    else if (event.key === "Enter") return go(buckets[view[0]].main);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (target === undefined) return;
    scrollTo(buckets[target].first);
    setView([target, target]);
  };
  const describe = (bucket: Bucket) => describeBucket(bucket, rows, turns);
  const label = pointed >= 0 ? findNearest(buckets, pointed) : undefined;
  return (
    <figure class="timeline">
      <div
        ref={strip}
        class="strip-of-time"
        role="slider"
        tabIndex={0}
        aria-label="Timeline"
        aria-valuemin={1}
        aria-valuemax={buckets.length}
        aria-valuenow={view[0] + 1}
        aria-valuetext={describe(buckets[view[0]])}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => (drag.current = { from: -1, moved: false })}
        onPointerLeave={() => setPointed(-1)}
        onKeyDown={onKeyDown}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {view[1] - view[0] + 1 < buckets.length && (
            <rect class="view" x={view[0] * width} y={0} width={(view[1] - view[0] + 1) * width} height={HEIGHT} />
          )}
          {buckets.map((bucket, at) => {
            const height = (size(bucket) / largest) * (HEIGHT - 14);
            return (
              <g class={at === pointed ? "pointed" : ""}>
                {height > 0 && (
                  <rect
                    class={hasTokens ? "bar" : "bar plain"}
                    x={at * width}
                    y={HEIGHT - 8 - height}
                    width={bar}
                    height={height}
                  />
                )}
                {bucket.commits > 0 && <rect class="commit" x={at * width} y={0} width={bar} height={4} />}
                {bucket.prompts > 0 && <rect class="prompt" x={at * width} y={HEIGHT - 7} width={bar} height={3} />}
                {bucket.errors > 0 && <rect class="error" x={at * width} y={HEIGHT - 3} width={bar} height={3} />}
              </g>
            );
          })}
        </svg>
        {label && (
          <span
            class={pointed > buckets.length / 2 ? "label left" : "label"}
            style={{ insetInlineStart: place(pointed, buckets) }}
          >
            {describe(label)}
          </span>
        )}
      </div>
      <figcaption>
        <span title={span?.[0]}>{span ? shortenSpan(span)[0] : "first"}</span>
        <span>
          {hasTokens ? "output tokens" : "rows"}
          <Key look="prompt" name="prompts" />
          {buckets.some((bucket) => bucket.errors) && <Key look="error" name="failures" />}
          {buckets.some((bucket) => bucket.commits) && <Key look="commit" name="commits" />}
        </span>
        <span title={span?.[1]}>{span ? shortenSpan(span)[1] : "last"}</span>
      </figcaption>
    </figure>
  );
}

/** A colour of the timeline with its meaning. */
function Key({ look, name }: { look: string; name: string }) {
  return (
    <span class="key">
      {" · "}
      <i class={look} /> {name}
    </span>
  );
}

/** Return the place of a bucket from the left, in percent. */
function place(at: number, buckets: Bucket[]): string {
  return `${((at + 0.5) / buckets.length) * 100}%`;
}

/** Return a bucket, or the last one before it with rows, or else the first with rows. */
function findNearest(buckets: Bucket[], at: number): Bucket | undefined {
  return buckets.slice(0, at + 1).findLast((bucket) => bucket.first >= 0) ?? buckets.find((bucket) => bucket.first >= 0);
}

/** Return a bucket in words: its time, its turn with the prompt, and its failures. */
function describeBucket(bucket: Bucket, rows: PageRow[], turns: Turns): string {
  const row = rows[bucket.first] as PageRow | undefined;
  if (!row) return "";
  const prompt = turns.prompts[bucket.prompts ? bucket.main : bucket.first] ?? -1;
  const number = turns.numbers.get(prompt);
  const text = prompt >= 0 ? shownParts(rows[prompt]).find((part) => part.is === "text") : undefined;
  const words =
    text?.is === "text" ? makeVisible(truncate(text.text.trim().slice(0, 500), MAX_PROMPT)).replaceAll("\n", " ") : "";
  return [
    formatTime(row.time).slice(11, 16),
    number === undefined ? "" : `turn ${formatNumber(number)}${words ? `: ${words}` : ""}`,
    bucket.errors ? pluralize(bucket.errors, "failure") : "",
    bucket.commits ? pluralize(bucket.commits, "commit") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Return the times at both ends in short: without seconds, and without the date if it is the same. */
function shortenSpan(span: [string, string]): string[] {
  const isOneDay = span[0].slice(0, 10) === span[1].slice(0, 10);
  return span.map((time) => (isOneDay ? time.slice(11) : time.slice(0, 16)));
}
