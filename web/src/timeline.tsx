/** The timeline of the conversation: tokens over time, prompts below, failures in red. */

import type { Overview } from "./protocol";

const [WIDTH, HEIGHT] = [600, 48];

/** A bar for each bucket; a click goes to its first row. Null if the conversation is too short for two buckets. */
export function Timeline({ overview, go }: { overview: Overview; go: (row: number) => void }) {
  const { buckets, span, totals } = overview;
  if (buckets.length < 2) return null;
  const hasTokens = buckets.some((bucket) => bucket.tokens);
  const size = (bucket: Overview["buckets"][number]) => (hasTokens ? bucket.tokens : bucket.rows);
  const largest = Math.max(1, ...buckets.map(size));
  const width = WIDTH / buckets.length;
  const label = `${hasTokens ? `${totals.output.toLocaleString("en")} output tokens` : `${overview.count} rows`}${span ? ` from ${span[0]} to ${span[1]}` : ""}, ${totals.prompts} prompts, ${totals.errors} errors`;
  return (
    <figure class="timeline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {buckets.map((bucket, at) => {
          const height = (size(bucket) / largest) * (HEIGHT - 10);
          return (
            <g class="bucket" onClick={() => bucket.first >= 0 && go(bucket.first)}>
              <rect class="area" x={at * width} y={0} width={width} height={HEIGHT} />
              <rect class="bar" x={at * width} y={HEIGHT - 8 - height} width={Math.max(1, width - 1)} height={height} />
              {bucket.prompts > 0 && (
                <rect class="prompt" x={at * width} y={HEIGHT - 6} width={Math.max(1, width - 1)} height={3} />
              )}
              {bucket.commits > 0 && <rect class="commit" x={at * width} y={0} width={Math.max(1, width - 1)} height={4} />}
              {bucket.errors > 0 && (
                <rect class="error" x={at * width} y={HEIGHT - 3} width={Math.max(1, width - 1)} height={3} />
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>
        {span ? (
          <>
            <span title={span[0]}>{shortenSpan(span)[0]}</span>
            <span>
              {hasTokens ? "output tokens" : "rows"} ·{" "}
              <span class="key">
                <i class="prompt" /> prompts
              </span>{" "}
              ·{" "}
              <span class="key">
                <i class="error" /> failures
              </span>
              {buckets.some((bucket) => bucket.commits) && (
                <>
                  {" "}
                  ·{" "}
                  <span class="key">
                    <i class="commit" /> commits
                  </span>
                </>
              )}
            </span>
            <span title={span[1]}>{shortenSpan(span)[1]}</span>
          </>
        ) : (
          label
        )}
      </figcaption>
    </figure>
  );
}

/** Return the times at both ends in short: without seconds, and without the date if it is the same. */
function shortenSpan(span: [string, string]): string[] {
  const isOneDay = span[0].slice(0, 10) === span[1].slice(0, 10);
  return span.map((time) => (isOneDay ? time.slice(11) : time.slice(0, 16)));
}
