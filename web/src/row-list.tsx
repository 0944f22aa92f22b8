/** The list of rows. Only the rows near the screen are in the document. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { PageState } from "./page-state";
import type { PageRow } from "./protocol";
import { AssistantHead, RowView, type WrittenLines } from "./row-view";
import { isSilentStart } from "./rows";
import { makeVisible } from "./text";

/** The height of a row in pixels until it is measured. */
const ESTIMATES = { user: 90, assistant: 150, reasoning: 40, tool: 44, event: 40 } as const;

/** A request to scroll to a row. */
export interface Jump {
  /** The index of the row among all rows. */
  row: number;
  /** Grows with each jump, so that a second jump to the same row takes effect. */
  count: number;
  /** Whether the row also gets the keyboard focus. */
  focus: boolean;
}

interface Props {
  state: PageState;
  scroller: { current: HTMLElement | null };
  /** The height of the sticky toolbar, which covers the top of the list. */
  covered: number;
  selected: number;
  select: (row: number) => void;
  jump: Jump | null;
  /** The rows that the reader opened (true) or closed (false). */
  opened: Map<number, boolean>;
  toggle: (row: number) => void;
  rawRows: Set<number>;
  toggleRaw: (row: number) => void;
  /** The lines that each entry wrote, by session and entry. */
  wrote: Map<string, WrittenLines[]>;
  showFile: (path: string) => void;
}

/** The rows near the screen, at their positions in the list. */
export function RowList({
  state,
  scroller,
  covered,
  selected,
  select,
  jump,
  opened,
  toggle,
  rawRows,
  toggleRaw,
  wrote,
  showFile,
}: Props) {
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  const list = useRef<HTMLDivElement>(null);
  const { rows, shown } = state;
  const options = {
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at: number) => ESTIMATES[rows[shown[at]].kind],
    getItemKey: (at: number) => shown[at],
    overscan: 6,
    scrollMargin: list.current?.offsetTop ?? 0,
    scrollPaddingStart: covered,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => renderAgain(undefined),
  };
  const virtualizer = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  virtualizer.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtual = virtualizer.current;
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());

  useEffect(() => {
    if (!jump) return;
    const position = shown.indexOf(jump.row);
    if (position < 0) return;
    virtual.scrollToIndex(position, { align: "start" });
    if (jump.focus)
      requestAnimationFrame(() =>
        requestAnimationFrame(() =>
          list.current?.querySelector<HTMLElement>(`[data-row="${jump.row}"]`)?.focus({ preventScroll: true }),
        ),
      );
  }, [jump, shown]);

  return (
    <div
      ref={list}
      class="list"
      role="feed"
      aria-label="Conversation"
      aria-busy={!state.done}
      style={{ height: `${virtual.getTotalSize()}px` }}
    >
      {virtual.getVirtualItems().map((item) => {
        const at = shown[item.index];
        const row = rows[at];
        const previous = item.index ? rows[shown[item.index - 1]] : undefined;
        return (
          <article
            key={item.key}
            ref={virtual.measureElement}
            data-index={item.index}
            data-row={at}
            data-anchor={row.anchor}
            class={`row ${row.kind}${row.isError ? " failed" : ""}${at === selected ? " selected" : ""}${row.agent ? " nested" : ""}${row.superseded || row.isInherited ? " past" : ""}`}
            aria-posinset={item.index + 1}
            aria-setsize={shown.length}
            aria-label={`${row.kind} ${makeVisible(row.tool)} ${makeVisible(row.summary)}`.slice(0, 200)}
            tabIndex={-1}
            style={{
              transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
              paddingInlineStart: `${Math.min(6, row.agent ? Math.max(1, row.depth) : row.depth ? 0.6 : 0) * 1.1}rem`,
            }}
            onFocusIn={() => select(at)}
          >
            {row.agent && row.agent !== previous?.agent && <AgentHeader row={row} state={state} />}
            {!(row.agent && state.folded.has(row.agent)) && isSilentStart(row, findPrevious(rows, shown, item.index)) && (
              <AssistantHead row={row} />
            )}
            {!(row.agent && state.folded.has(row.agent)) && (
              <RowView
                row={row}
                state={state}
                open={opened.get(at)}
                toggle={() => toggle(at)}
                raw={rawRows.has(at)}
                toggleRaw={() => toggleRaw(at)}
                wrote={listWrittenLines(row, wrote)}
                showFile={showFile}
              />
            )}
          </article>
        );
      })}
    </div>
  );
}

/** Return the last row shown before a position, apart from events; undefined if there is none. */
function findPrevious(rows: PageRow[], shown: number[], position: number): PageRow | undefined {
  let at = position - 1;
  while (at >= 0 && rows[shown[at]].kind === "event") at--;
  return at < 0 ? undefined : rows[shown[at]];
}

/** Return the lines that the call or the result of a row wrote, each once. */
function listWrittenLines(row: PageRow, wrote: Map<string, WrittenLines[]>): WrittenLines[] {
  const names = row.result ? [row.name, row.place, row.result.name, row.result.place] : [row.name, row.place];
  const lines = [...new Set(names)].flatMap((name) => wrote.get(`${row.session}:${name}`) ?? []);
  // The attribution may name both a call and its result for the same lines.
  return [...new Map(lines.map((item) => [`${item.lines} ${item.path}`, item])).values()];
}

/** The button above the rows of a sub-agent, which folds and unfolds them. */
function AgentHeader({ row, state }: { row: PageRow; state: PageState }) {
  const folded = state.folded.has(row.agent);
  return (
    <button type="button" class="agent" aria-expanded={!folded} onClick={() => state.toggleFold(row.agent)}>
      Sub-agent {makeVisible(row.agent).slice(0, 60)}
      {folded ? ", folded" : ""}
    </button>
  );
}
