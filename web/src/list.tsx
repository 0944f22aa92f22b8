/** The rows, of which only those near the screen are in the document. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Shown } from "./protocol";
import { RowView, type Wrote } from "./row";
import type { State } from "./state";
import { visible } from "./texts";

const ESTIMATES = { user: 90, assistant: 150, reasoning: 40, tool: 44, event: 40 } as const;

export interface Jump {
  /** The number of a row among all. */
  row: number;
  /** So that the same jump can be made twice. */
  count: number;
  focus: boolean;
}

interface Given {
  state: State;
  scroller: { current: HTMLElement | null };
  /** How much of the top is covered by what sticks there. */
  covered: number;
  selected: number;
  select: (row: number) => void;
  jump: Jump | null;
  opened: Map<number, boolean>;
  toggle: (row: number) => void;
  raws: Set<number>;
  toggleRaw: (row: number) => void;
  wrote: Map<string, Wrote[]>;
  showFile: (path: string) => void;
}

export function List({
  state,
  scroller,
  covered,
  selected,
  select,
  jump,
  opened,
  toggle,
  raws,
  toggleRaw,
  wrote,
  showFile,
}: Given) {
  const [, again] = useReducer((count: number) => count + 1, 0);
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
    onChange: () => again(undefined),
  };
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtual = held.current;
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
        const before = item.index ? rows[shown[item.index - 1]] : undefined;
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
            aria-label={`${row.kind} ${visible(row.tool)} ${visible(row.summary)}`.slice(0, 200)}
            tabIndex={-1}
            style={{
              transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
              paddingInlineStart: `${Math.min(6, row.agent ? Math.max(1, row.depth) : row.depth ? 0.6 : 0) * 1.1}rem`,
            }}
            onFocusIn={() => select(at)}
          >
            {row.agent && row.agent !== before?.agent && <Agent row={row} state={state} />}
            {!(row.agent && state.folded.has(row.agent)) && (
              <RowView
                row={row}
                state={state}
                open={opened.get(at)}
                toggle={() => toggle(at)}
                raw={raws.has(at)}
                toggleRaw={() => toggleRaw(at)}
                wrote={wroteBy(row, wrote)}
                showFile={showFile}
              />
            )}
          </article>
        );
      })}
    </div>
  );
}

function wroteBy(row: Shown, wrote: Map<string, Wrote[]>): Wrote[] {
  const names = row.result ? [row.name, row.place, row.result.name, row.result.place] : [row.name, row.place];
  const found = [...new Set(names)].flatMap((name) => wrote.get(`${row.session}:${name}`) ?? []);
  // A call and its result may both be named for the same lines.
  return [...new Map(found.map((one) => [`${one.lines} ${one.path}`, one])).values()];
}

function Agent({ row, state }: { row: Shown; state: State }) {
  const folded = state.folded.has(row.agent);
  return (
    <button type="button" class="agent" aria-expanded={!folded} onClick={() => state.fold(row.agent)}>
      Sub-agent {visible(row.agent).slice(0, 60)}
      {folded ? ", folded" : ""}
    </button>
  );
}
