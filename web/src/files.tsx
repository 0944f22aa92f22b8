/** The files that came of a conversation: which lines, by whom, on what evidence, and by which entries. */

import { entryName, Lines } from "./ranges";
import type { AttributedFile, Range } from "./protocol";
import type { State } from "./state";
import { visible } from "./texts";

const COLOURS = 6;

/** Give each contributor a colour of its own: AI by model, all others by kind. */
export function colours(files: AttributedFile[]): Map<string, string> {
  const models = [
    ...new Set(files.flatMap((file) => file.ranges.filter((range) => range.type === "ai").map((range) => range.model))),
  ].sort();
  return new Map(models.map((model, at) => [model, `ai-${at % COLOURS}`]));
}

function lookOf(range: Range, known: Map<string, string>): string {
  return range.type === "ai" ? (known.get(range.model) ?? "ai-0") : range.type;
}

interface Given {
  state: State;
  go: (session: number, entry: string) => void;
  at: string | null;
}

export function Files({ state, go, at }: Given) {
  const files = state.overview?.files ?? [];
  const known = colours(files);
  if (!files.length)
    return (
      <p class="empty">
        The record says nothing about files: <code>vacr attribute</code> finds out which lines it wrote.
      </p>
    );
  return (
    <div class="files">
      <p class="legend">
        {[...known].map(([model, look]) => (
          <span>
            <i class={`swatch ${look}`} /> {visible(model) || "AI"}
          </span>
        ))}
        {["human", "mixed", "unknown"]
          .filter((type) => files.some((file) => file.ranges.some((range) => range.type === type)))
          .map((type) => (
            <span>
              <i class={`swatch ${type}`} /> {type}
            </span>
          ))}
      </p>
      {files.map((file) => (
        <File file={file} known={known} go={go} state={state} marked={file.path === at} />
      ))}
    </div>
  );
}

function File({
  file,
  known,
  go,
  state,
  marked,
}: {
  file: AttributedFile;
  known: Map<string, string>;
  go: Given["go"];
  state: State;
  marked: boolean;
}) {
  const last = file.ranges.reduce((most, range) => Math.max(most, range.end), 1);
  const lines = file.ranges.reduce((sum, range) => sum + range.end - range.start + 1, 0);
  return (
    <section
      class={`file${marked ? " marked" : ""}`}
      id={`file-${file.session}-${file.path}`}
      tabIndex={-1}
      aria-label={visible(file.path)}
    >
      <h3>
        {visible(file.path)}{" "}
        <small>
          {lines.toLocaleString("en")} lines{file.complete ? "" : ", not all of the file is known"}
        </small>
      </h3>
      <svg class="strip" viewBox={`0 0 ${last} 1`} preserveAspectRatio="none" aria-hidden="true">
        {file.ranges.map((range) => (
          <rect
            class={lookOf(range, known)}
            x={range.start - 1}
            y={0}
            width={range.end - range.start + 1}
            height={1}
            onClick={() => range.entries[0] && go(file.session, range.entries[0])}
          />
        ))}
      </svg>
      <table>
        <thead>
          <tr>
            <th scope="col">Lines</th>
            <th scope="col">By</th>
            <th scope="col">Evidence</th>
            <th scope="col">Entry</th>
          </tr>
        </thead>
        <tbody>
          {file.ranges.map((range) => (
            <Lines file={file} range={range} look={lookOf(range, known)} go={go} state={state} />
          ))}
        </tbody>
      </table>
      {file.loose.length > 0 && (
        <p class="note">
          Changed at a place that is not known by{" "}
          {file.loose.map((entry) => (
            <button type="button" class="more" onClick={() => go(file.session, entry)}>
              {entryName(entry)}
            </button>
          ))}
        </p>
      )}
    </section>
  );
}
