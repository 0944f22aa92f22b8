/** The list of rows. Only the rows near the screen are in the document. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { FoldedItem } from "./group-view";
import type { PageState } from "./page-state";
import type { PageRow } from "./protocol";
import { RowView, type WrittenLines } from "./row-view";
import { makeVisible } from "./text";
import { formatDay } from "./time";
import { type Item, type ItemList, measureSince, type Turns } from "./turns";

/** The height of an item in pixels until it is measured. */
const ROW_ESTIMATES = { user: 110, assistant: 110, reasoning: 34, tool: 34, event: 34 } as const;
const FOLDED_ESTIMATE = 36;
const MAX_INDENT = 6;
/** How many frames to wait for an item that gets the focus. */
const FOCUS_FRAMES = 60;

/** A request to scroll to an item. */
export interface Jump {
  key: string;
  /** Grows with each jump, so that a second jump to the same item takes effect. */
  count: number;
  /** Whether the item also gets the keyboard focus. */
  focus: boolean;
}

interface Props {
  state: PageState;
  list: ItemList;
  turns: Turns;
  scroller: { current: HTMLElement | null };
  /** The height of the sticky toolbar, which covers the top of the list. */
  covered: number;
  /** Set to a function that returns the first and the last row on the screen; null for an empty list. */
  findVisible: { current: () => [number, number] | null };
  /** The key of the selected item, or "". */
  selected: string;
  select: (key: string) => void;
  jump: Jump | null;
  /** The item of the last jump with focus, which may be later than `jump`. */
  target: { current: string };
  /** The items that the reader opened (true) or closed (false). */
  opened: Map<string, boolean>;
  toggle: (item: Item) => void;
  rawRows: Set<number>;
  toggleRaw: (row: number) => void;
  /** The lines that each entry wrote, by session and entry. */
  wrote: Map<string, WrittenLines[]>;
  showFile: (path: string) => void;
  /** The name of the agent, as a heading. */
  agent: string;
}

/** The items near the screen, at their positions in the list. */
export function RowList(props: Props) {
  const { state, list, scroller, covered, selected, select, jump, target: latest } = props;
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  const element = useRef<HTMLDivElement>(null);
  const { rows } = state;
  const { items } = list;
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at: number) => (items[at].is === "row" ? ROW_ESTIMATES[rows[items[at].at].kind] : FOLDED_ESTIMATE),
    getItemKey: (at: number) => items[at].key,
    overscan: 6,
    scrollMargin: element.current?.offsetTop ?? 0,
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
  props.findVisible.current = () => {
    const main = scroller.current;
    if (!main || !items.length) return null;
    const first = virtual.getVirtualItemForOffset(main.scrollTop + covered);
    const last = virtual.getVirtualItemForOffset(main.scrollTop + main.clientHeight);
    return first && last ? [items[first.index].at, items[last.index].members.at(-1)!] : null;
  };
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());

  useEffect(() => {
    if (!jump) return;
    const position = list.positions.get(jump.key);
    if (position === undefined) return;
    virtual.scrollToIndex(position, { align: "start" });
    if (!jump.focus) return;
    // The item is in the document some frames later. A later jump cancels this one, so that a late focus does not select it
    // again; and a reader who has begun to type in a field, or opened a dialog, keeps the focus there.
    let frame = 0;
    const focus = (framesLeft: number) => {
      if (!framesLeft || latest.current !== jump.key || document.activeElement?.closest("input, select, textarea, dialog"))
        return;
      const target = element.current?.querySelector<HTMLElement>(`[data-key="${jump.key}"]`);
      if (target && framesLeft < FOCUS_FRAMES) target.focus({ preventScroll: true });
      else frame = requestAnimationFrame(() => focus(framesLeft - 1));
    };
    frame = requestAnimationFrame(() => focus(FOCUS_FRAMES));
    return () => cancelAnimationFrame(frame);
  }, [jump]);

  return (
    <div
      ref={element}
      class="list"
      role={items.length ? "feed" : undefined}
      aria-label={items.length ? "Conversation" : undefined}
      aria-busy={!state.done}
      style={{ height: `${virtual.getTotalSize()}px` }}
    >
      {virtual.getVirtualItems().map((virtualItem) => {
        const item = items[virtualItem.index];
        const row = rows[item.at];
        return (
          <article
            key={virtualItem.key}
            ref={virtual.measureElement}
            data-index={virtualItem.index}
            data-key={item.key}
            data-anchor={item.is === "row" ? row.anchor : undefined}
            class={`row ${chooseLook(item, row)}${item.key === selected ? " selected" : ""}${item.level ? " nested" : ""}`}
            aria-posinset={virtualItem.index + 1}
            aria-setsize={items.length}
            aria-label={nameItem(item, row)}
            tabIndex={-1}
            style={{
              transform: `translateY(${virtualItem.start - virtual.options.scrollMargin}px)`,
              paddingInlineStart: `${Math.min(MAX_INDENT, item.level) * 1.2}rem`,
            }}
            onFocusIn={() => select(item.key)}
          >
            <ItemView item={item} {...props} />
          </article>
        );
      })}
    </div>
  );
}

/** Return the CSS classes of an item. */
function chooseLook(item: Item, row: PageRow): string {
  if (item.is !== "row") return item.is;
  return `${row.kind}${row.isError ? " failed" : ""}${row.superseded || row.isInherited ? " past" : ""}`;
}

/** Return the name of an item for screen readers. */
function nameItem(item: Item, row: PageRow): string {
  if (item.is !== "row") return `${item.is}, ${item.members.length} rows`;
  return `${row.kind} ${makeVisible(row.tool)} ${makeVisible(row.summary)}`.slice(0, 200);
}

/** The content of an item, with the day and the speaker above it where they change. */
function ItemView({ item, ...props }: Props & { item: Item }) {
  const { state, turns, agent } = props;
  const row = state.rows[item.at];
  return (
    <>
      {item.day && <div class="day">{formatDay(item.day)}</div>}
      {(item.isFirst || item.model) && (
        <div class="speaker">
          {item.isFirst && <span class="who">{row.agent ? "Sub-agent" : agent}</span>}
          {item.model && <span class="model">{makeVisible(item.model)}</span>}
        </div>
      )}
      {item.is === "row" ? (
        <RowView
          row={row}
          state={state}
          open={props.opened.get(item.key)}
          toggle={() => props.toggle(item)}
          raw={props.rawRows.has(item.at)}
          toggleRaw={() => props.toggleRaw(item.at)}
          turn={turns.numbers.get(item.at) ?? 0}
          since={measureSince(state.rows, turns, item.at)}
          wrote={listWrittenLines(row, props.wrote)}
          showFile={props.showFile}
        />
      ) : (
        <FoldedItem item={item} state={state} toggle={() => props.toggle(item)} />
      )}
    </>
  );
}

/** Return the lines that the call or the result of a row wrote, each once. */
function listWrittenLines(row: PageRow, wrote: Map<string, WrittenLines[]>): WrittenLines[] {
  const names = row.result ? [row.name, row.place, row.result.name, row.result.place] : [row.name, row.place];
  const lines = [...new Set(names)].flatMap((name) => wrote.get(`${row.session}:${name}`) ?? []);
  // The attribution may name both a call and its result for the same lines.
  return [...new Map(lines.map((item) => [`${item.lines} ${item.path}`, item])).values()];
}
