/** The toolbar that filters the conversation: search, kinds, failures, tools, detail. */

import type { Ref } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Detail, DETAILS, type PageState } from "./page-state";
import { isFiltering, NO_FILTER } from "./row-filter";
import { formatNumber, makeVisible, pluralize } from "./text";

const KIND_LABELS = { prompt: "Prompts", assistant: "Answers", reasoning: "Reasoning", tool: "Tools", event: "Events" } as const;
/** Milliseconds to wait for more letters before searching. */
const TYPING_PAUSE = 150;

/** The controls of the filter; typed text takes effect after a short pause. */
export function Toolbar({ state, search }: { state: PageState; search: Ref<HTMLInputElement> }) {
  const { filter, setFilter, overview } = state;
  const [typed, setTyped] = useState(filter.text);
  /** The last text that went from the field to the filter: when it arrives there, the field may already be ahead. */
  const sent = useRef(filter.text);
  useLayoutEffect(() => {
    if (filter.text !== sent.current) setTyped(filter.text);
    sent.current = filter.text;
  }, [filter.text]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      setFilter((current) => ({ ...current, text: typed }));
    }, TYPING_PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  const toggleKind = (kind: string) =>
    setFilter((current) => ({
      ...current,
      kinds: current.kinds.includes(kind) ? current.kinds.filter((other) => other !== kind) : [...current.kinds, kind],
    }));
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
        {Object.entries(KIND_LABELS).map(([kind, label]) => (
          <button type="button" aria-pressed={filter.kinds.includes(kind)} onClick={() => toggleKind(kind)}>
            {label}
          </button>
        ))}
        <button
          type="button"
          aria-pressed={filter.errors}
          onClick={() => setFilter((current) => ({ ...current, errors: !current.errors }))}
        >
          Failures
        </button>
      </div>
      <select
        aria-label="Only this tool"
        value={filter.tools[0] ?? ""}
        onChange={(event) => {
          const tool = event.currentTarget.value;
          setFilter((current) => ({ ...current, tools: tool ? [tool] : [] }));
        }}
      >
        <option value="">All tools</option>
        {(overview?.tools ?? []).map(([tool, count]) => (
          <option value={tool}>
            {makeVisible(tool).slice(0, 60)} ({count})
          </option>
        ))}
      </select>
      <select aria-label="Detail" value={state.detail} onChange={(event) => state.setDetail(event.currentTarget.value as Detail)}>
        {DETAILS.map((detail) => (
          <option value={detail}>Detail: {detail}</option>
        ))}
      </select>
    </div>
  );
}

/** The number of rows, how many of them a filter shows, and a button to remove the filter; `prefiltered` if the page opened with one. */
export function RowCount({ state, prefiltered }: { state: PageState; prefiltered: boolean }) {
  const { filter, shown, rows, setFilter } = state;
  const filtered = isFiltering(filter);
  const count = filtered ? `${formatNumber(shown.length)} of ${formatNumber(rows.length)} rows` : pluralize(shown.length, "row");
  return (
    <p class="count" role="status">
      {state.done ? count : "Reading …"}
      {filtered && state.done && (
        <>
          {" "}
          · {prefiltered ? "This page opens with a filter. " : ""}
          <button type="button" class="more" onClick={() => setFilter(NO_FILTER)}>
            Show all
          </button>
        </>
      )}
    </p>
  );
}
