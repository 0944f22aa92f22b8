/** The page of a record: verdict, conversation and files, with keyboard shortcuts and links to entries. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Bars, Charts } from "./charts";
import type { DiffLayout } from "./cumulative-diff";
import { describeLines, Files, LayoutSwitch, listFiles } from "./files";
import { Header, nameAgent } from "./header";
import { useKeyboard } from "./keyboard";
import { Lines } from "./line-statistics";
import { usePageState } from "./page-state";
import { Help, Prompts, ThemeSwitch } from "./panels";
import type { Island, Overview, PageRow } from "./protocol";
import { isFiltering, NO_FILTER } from "./row-filter";
import { type Jump, RowList } from "./row-list";
import { isFoldable, isOpenAtFirst, type WrittenLines } from "./row-view";
import { SummaryCard } from "./summary-card";
import { Timeline } from "./timeline";
import { formatNumber, makeVisible } from "./text";
import { RowCount, Toolbar } from "./toolbar";
import { buildItems, findTurns, type Item, rowKey, type Turns } from "./turns";
import { Checks, summarizePage } from "./verdict";

/** A page scrolled to within so many pixels of its end shows the end. */
const END = 150;

/** The whole page; it connects the state from the worker with the views. `openRecords` sends the records to the worker. */
export function App({ island, worker, openRecords }: { island: Island; worker: Worker; openRecords: () => void }) {
  const state = usePageState(island, worker, openRecords);
  const { rows, shown, overview, filter } = state;
  const [tab, setTab] = useState<"conversation" | "files">("conversation");
  const [selected, select] = useState("");
  const [jump, setJump] = useState<Jump | null>(null);
  /** A row to go to, as soon as it is in the list. */
  const [wanted, setWanted] = useState(-1);
  const [opened, setOpened] = useState(new Map<string, boolean>());
  const [rawRows, setRawRows] = useState(new Set<number>());
  const [layout, setLayout] = useState<DiffLayout>("unified");
  const [file, setFile] = useState<string | null>(null);
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const [checks, setChecks] = useState(false);
  /** Whether a phone shows the toolbar, which larger screens always show. */
  const [tools, setTools] = useState(false);
  /** Whether the search field gets the focus, as soon as it is there. */
  const [searching, setSearching] = useState(false);
  const [covered, setCovered] = useState(0);
  const [missing, setMissing] = useState("");
  const scroller = useRef<HTMLElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const sticky = useRef<HTMLDivElement>(null);
  const followed = useRef(false);
  /** The item of the last jump, known before the page is drawn again. */
  const target = useRef("");
  /** Returns the first and the last row on the screen; the list sets it. */
  const findVisible = useRef<() => [number, number] | null>(() => null);

  const rowsByName = useMemo(() => indexRows(rows), [rows]);
  const wrote = useMemo(() => indexWrittenLines(overview), [overview]);
  const turns = useMemo(() => findTurns(rows), [rows]);
  const isFiltered = isFiltering(filter);
  const list = useMemo(
    () => buildItems(rows, shown, { flat: isFiltered, openAll: state.detail === "full", opened }),
    [rows, shown, isFiltered, state.detail, opened],
  );
  const headline = summarizePage(island, state);

  /** Select an item and scroll to it. */
  const goToItem = (key: string) => {
    target.current = key;
    setTab("conversation");
    setMenu(false);
    select(key);
    setJump((last) => ({ key, count: (last?.count ?? 0) + 1, focus: true }));
  };
  /** Go to a row; if a filter hides it, remove the filter first. Open the groups around it. */
  const reveal = (row: number | undefined) => {
    if (row === undefined || !rows[row]) return;
    if (!shown.includes(row)) state.setFilter({ ...NO_FILTER, repeated: rows[row].isRepeated });
    if (rows[row].kind !== "event") setOpened((known) => new Map(known).set(rowKey(row), true));
    setTab("conversation");
    setWanted(row);
  };
  /** Scroll to a row or, if it is folded, to the item around it. */
  const scrollToRow = (row: number) => {
    const names = [...(list.containers.get(row) ?? []), rowKey(row)];
    const shownBefore = list.items.findLast((item) => item.at <= row)?.key;
    const key = names.find((name) => list.positions.has(name)) ?? shownBefore;
    if (key) setJump((last) => ({ key, count: (last?.count ?? 0) + 1, focus: false }));
  };
  const toggle = (item: Item) => {
    if (item.is !== "row") setOpened((known) => new Map(known).set(item.key, !item.open));
    else if (rows[item.at].kind === "event") toggleRaw(item.at);
    else if (isFoldable(rows[item.at]))
      setOpened((known) => new Map(known).set(item.key, !(known.get(item.key) ?? isOpenAtFirst(rows[item.at], state.detail))));
  };
  const toggleRaw = (row: number) => {
    state.requestRaw(rows[row]);
    setRawRows((known) => (known.has(row) ? new Set([...known].filter((other) => other !== row)) : new Set([...known, row])));
  };
  const showFile = (path: string) => {
    setFile(path);
    setTab("files");
  };

  // Before the next key: it must act on the row that this one led to.
  useLayoutEffect(() => {
    if (wanted < 0) return;
    if (list.positions.has(rowKey(wanted))) {
      setWanted(-1);
      goToItem(rowKey(wanted));
      return;
    }
    const closed = list.containers.get(wanted)?.filter((key) => opened.get(key) !== true) ?? [];
    if (closed.length) setOpened((known) => new Map([...known, ...closed.map((key): [string, boolean] => [key, true])]));
    // The level of detail hides the row, or the reader closed an item around it.
    else if (shown.includes(wanted) || state.detail === "brief") state.setDetail("full");
  }, [wanted, list]);
  useLayoutEffect(() => {
    if (!searching) return;
    setSearching(false);
    search.current?.focus();
  }, [searching]);
  useEffect(() => {
    if (!state.done) return;
    const followLink = () => {
      const name = decodeFragment(location.hash.slice(1));
      const row = rowsByName.get(name) ?? findTurn(name, turns);
      setMissing(name && row === undefined ? name : "");
      if (name) reveal(row);
    };
    // A conversation that goes on does not move the reader back to where a link led.
    if (!followed.current) followLink();
    followed.current = true;
    addEventListener("hashchange", followLink);
    return () => removeEventListener("hashchange", followLink);
  }, [state.done, rowsByName]);
  useEffect(() => {
    // The matches may be below the screen, under the summary.
    const top = scroller.current?.querySelector<HTMLElement>(".list")?.offsetTop;
    const height = sticky.current!.offsetHeight + 1;
    if (isFiltered && state.done && top !== undefined) scroller.current!.scrollTo({ top: top - height });
  }, [filter]);
  useEffect(() => {
    if (tab !== "files" || file === null) return;
    const section = document.querySelector<HTMLElement>(".file.marked");
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  }, [tab, file]);
  useEffect(() => {
    const toolbar = sticky.current!;
    const observer = new ResizeObserver(() =>
      setCovered(getComputedStyle(toolbar).position === "sticky" ? toolbar.offsetHeight : 0),
    );
    observer.observe(toolbar);
    return () => observer.disconnect();
  }, []);
  useFollowing(scroller, rows.length);
  useKeyboard({
    state,
    list,
    selected,
    go: (item) => item && goToItem(item.key),
    reveal,
    toggle,
    search: () => {
      setTab("conversation");
      setTools(true);
      setSearching(true);
    },
    help: () => setHelp((on) => !on),
    files: () => setTab((current) => (current === "files" ? "conversation" : "files")),
  });

  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          scroller.current?.focus();
        }}
      >
        Skip to the conversation
      </a>
      <Header
        {...{ island, state, headline, checks }}
        toggleChecks={() => {
          setChecks(!checks);
          scroller.current?.scrollTo({ top: 0 });
        }}
        before={
          <>
            <button type="button" class="menu" aria-expanded={menu} aria-controls="prompts" onClick={() => setMenu(!menu)}>
              Prompts
            </button>
            {island.index && (
              <a class="up" href={island.index} aria-label="All conversations">
                ‹ All<span class="rest"> conversations</span>
              </a>
            )}
          </>
        }
        after={
          <span class="tools">
            <button type="button" class="keys" onClick={() => setHelp(true)} aria-label="Keyboard help">
              ?
            </button>
            <ThemeSwitch />
          </span>
        }
      />
      <nav id="prompts" class={menu ? "side open" : "side"} aria-label="Prompts">
        <Prompts state={state} turns={turns} go={reveal} selected={list.items[list.positions.get(selected) ?? -1]?.at ?? -1} />
      </nav>
      <main id="main" ref={scroller} tabIndex={0} aria-label="Record">
        {checks && <Checks island={island} state={state} />}
        {!state.failed && (
          <SummaryCard island={island} state={state} go={reveal} showFile={showFile} showFiles={() => setTab("files")}>
            {overview && (
              <Charts>
                <Bars title="Calls by tool" bars={overview.totals.tools} />
                <Bars title="Output tokens by model" bars={overview.totals.models} />
              </Charts>
            )}
            {island.lines && <Lines lines={island.lines} />}
          </SummaryCard>
        )}
        <div class={tools || isFiltered ? "sticky open" : "sticky"} ref={sticky}>
          <div class="tabs" role="group" aria-label="View">
            <button type="button" aria-pressed={tab === "conversation"} onClick={() => setTab("conversation")}>
              Conversation
            </button>
            <button type="button" aria-pressed={tab === "files"} onClick={() => setTab("files")}>
              Files{overview ? ` (${formatNumber(listFiles(overview).length)})` : ""}
            </button>
            {tab === "conversation" && (
              <button type="button" class="menu" aria-pressed={tools} onClick={() => setTools(!tools)}>
                Search
              </button>
            )}
            {tab === "files" && overview && overview.changes.length > 0 && <LayoutSwitch {...{ layout, setLayout }} />}
            {tab === "conversation" && <RowCount state={state} prefiltered={island.filter !== null} />}
          </div>
          {tab === "conversation" && <Toolbar state={state} search={search} />}
          {tab === "conversation" && overview && state.done && (
            <Timeline {...{ overview, rows, turns, scroller, findVisible }} scrollTo={scrollToRow} go={reveal} />
          )}
        </div>
        {missing && (
          <p class="note" role="alert">
            The link leads to entry {makeVisible(missing).slice(0, 100)}, but this record has no such entry.
          </p>
        )}
        <h2 class="hidden">{tab === "files" ? "Files" : "Conversation"}</h2>
        {tab === "files" ? (
          <Files
            {...{ state, turns, reveal, layout }}
            selected={file}
            go={(session, entry) => reveal(rowsByName.get(`${session}:${entry}`) ?? rowsByName.get(entry))}
          />
        ) : (
          <RowList
            {...{
              state,
              list,
              turns,
              scroller,
              covered,
              findVisible,
              selected,
              select,
              jump,
              target,
              opened,
              toggle,
              rawRows,
              toggleRaw,
              wrote,
              showFile,
            }}
            agent={nameAgent(state.sessions[0]) || "Assistant"}
          />
        )}
        {tab === "conversation" && state.done && !shown.length && (
          <p class="empty">{rows.length ? "No matches." : "This conversation is empty."}</p>
        )}
        <footer>Made by {island.producer}. This page loads nothing from a network.</footer>
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

/** Keep the end on the screen while a conversation goes on, if it was there before. */
function useFollowing(scroller: { current: HTMLElement | null }, count: number): void {
  const before = useRef(0);
  const isAtEnd = useRef(false);
  useEffect(() => {
    const main = scroller.current!;
    const note = () => (isAtEnd.current = main.scrollTop > 0 && main.scrollTop + main.clientHeight > main.scrollHeight - END);
    main.addEventListener("scroll", note, { passive: true });
    return () => main.removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    const goesOn = before.current > 0 && count > before.current;
    before.current = count;
    if (!goesOn || !isAtEnd.current) return;
    // The heights of new rows are known once they are drawn.
    const scroll = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
    requestAnimationFrame(() => requestAnimationFrame(scroll));
  }, [count]);
}

/** Return the index of each row by every name that a link may use: anchors, ids and JSON Pointers, also of results. */
function indexRows(rows: PageRow[]): Map<string, number> {
  const index = new Map<string, number>();
  rows.forEach((row, at) => {
    const own = [row.anchor, `${row.session}:${row.name}`, `${row.session}:${row.place}`];
    if (!row.session) own.push(row.place);
    if (row.result) {
      own.push(`${row.session}:${row.result.name}`, `${row.session}:${row.result.place}`);
      if (!row.session) own.push(row.result.name, row.result.place);
    }
    for (const name of own) if (name && !index.has(name)) index.set(name, at);
  });
  return index;
}

/** Return the prompt of a turn by the name of a link such as "turn-3"; undefined if there is no such turn. */
function findTurn(name: string, turns: Turns): number | undefined {
  const number = Number(/^turn-(\d{1,9})$/.exec(name)?.[1]);
  return [...turns.numbers].find(([, other]) => other === number)?.[0];
}

/** Return the attributed lines by the session and the entry that wrote them. */
function indexWrittenLines(overview: Overview | null): Map<string, WrittenLines[]> {
  const index = new Map<string, WrittenLines[]>();
  for (const file of overview?.files ?? [])
    for (const range of file.ranges)
      for (const entry of range.entries) {
        const key = `${file.session}:${entry}`;
        index.set(key, [...(index.get(key) ?? []), { path: file.path, lines: describeLines(range) }]);
      }
  return index;
}

/** Decode the fragment of an address; a malformed one stays as it is. */
function decodeFragment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
