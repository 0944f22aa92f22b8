/** What of the conversation is shown: search, kinds, tools, failures, detail. */

import type { Ref } from "preact";
import { useEffect, useState } from "preact/hooks";
import { EVERYTHING } from "./filters";
import { KINDS } from "./rows";
import { DETAILS, type Detail, type State } from "./state";
import { visible } from "./texts";

const NAMES = { user: "Prompts", assistant: "Answers", reasoning: "Thoughts", tool: "Tools", event: "Events" } as const;
const PAUSE = 150;

export function Toolbar({ state, search }: { state: State; search: Ref<HTMLInputElement> }) {
  const { filter, setFilter, overview } = state;
  const [typed, setTyped] = useState(filter.text);
  useEffect(() => setTyped(filter.text), [filter.text]);
  useEffect(() => {
    if (typed === filter.text) return;
    const timer = setTimeout(() => setFilter({ ...filter, text: typed }), PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  const flip = (kind: string) =>
    setFilter({
      ...filter,
      kinds: filter.kinds.includes(kind) ? filter.kinds.filter((one) => one !== kind) : [...filter.kinds, kind],
    });
  return (
    <div class="toolbar" role="search">
      <input
        ref={search}
        type="search"
        aria-label="Search the conversation"
        placeholder="Search  ( / )"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <div class="kinds" role="group" aria-label="Only these kinds">
        {KINDS.map((kind) => (
          <button type="button" aria-pressed={filter.kinds.includes(kind)} onClick={() => flip(kind)}>
            {NAMES[kind]}
          </button>
        ))}
        <button type="button" aria-pressed={filter.errors} onClick={() => setFilter({ ...filter, errors: !filter.errors })}>
          Failures
        </button>
      </div>
      <select
        aria-label="Only this tool"
        value={filter.tools[0] ?? ""}
        onChange={(event) => setFilter({ ...filter, tools: event.currentTarget.value ? [event.currentTarget.value] : [] })}
      >
        <option value="">All tools</option>
        {(overview?.tools ?? []).map(([tool, count]) => (
          <option value={tool}>
            {visible(tool).slice(0, 60)} ({count})
          </option>
        ))}
      </select>
      <select aria-label="Detail" value={state.detail} onChange={(event) => state.setDetail(event.currentTarget.value as Detail)}>
        {DETAILS.map((detail) => (
          <option value={detail}>{detail}</option>
        ))}
      </select>
    </div>
  );
}

/** Say how much is shown, and that it may be a part. */
export function Count({ state, made }: { state: State; made: boolean }) {
  const { filter, shown, rows, setFilter } = state;
  const filtered = JSON.stringify({ ...EVERYTHING, repeated: filter.repeated }) !== JSON.stringify(filter);
  return (
    <p class="count" role="status">
      {!state.done ? "Reading …" : `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`}
      {filtered && state.done && (
        <>
          {" "}
          · {made ? "This page was made to show a part. " : ""}
          <button type="button" class="more" onClick={() => setFilter(EVERYTHING)}>
            Show all
          </button>
        </>
      )}
    </p>
  );
}
