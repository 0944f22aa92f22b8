/** The page of a record: verdict, conversation and files, with keyboard shortcuts and links to entries. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Banner } from "./banner";
import { Bars, Charts } from "./charts";
import { describeLines, Files } from "./files";
import { useKeyboard } from "./keyboard";
import { Lines } from "./line-statistics";
import { usePageState } from "./page-state";
import { Facts, Help, Prompts, ThemeSwitch } from "./panels";
import type { Island, Overview, PageRow } from "./protocol";
import { type Jump, RowList } from "./row-list";
import { isOpenAtFirst, type WrittenLines } from "./row-view";
import { makeVisible } from "./text";
import { Timeline } from "./timeline";
import { RowCount, Toolbar } from "./toolbar";

/** The whole page; it connects the state from the worker with the views. `openRecords` sends the records to the worker. */
export function App({ island, worker, openRecords }: { island: Island; worker: Worker; openRecords: () => void }) {
  const state = usePageState(island, worker, openRecords);
  const { rows, shown, overview, filter } = state;
  const [tab, setTab] = useState<"conversation" | "files">("conversation");
  const [selected, select] = useState(-1);
  const [jump, setJump] = useState<Jump | null>(null);
  const [opened, setOpened] = useState(new Map<number, boolean>());
  const [rawRows, setRawRows] = useState(new Set<number>());
  const [file, setFile] = useState<string | null>(null);
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const [covered, setCovered] = useState(0);
  const [missing, setMissing] = useState("");
  const scroller = useRef<HTMLElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const sticky = useRef<HTMLDivElement>(null);

  const rowsByName = useMemo(() => indexRows(rows), [rows]);
  const wrote = useMemo(() => indexWrittenLines(overview), [overview]);

  /** Select a row and scroll to it; a negative index does nothing. */
  const go = (row: number, focus = true) => {
    if (row < 0) return;
    setTab("conversation");
    setMenu(false);
    select(row);
    setJump((last) => ({ row, count: (last?.count ?? 0) + 1, focus }));
  };
  /** Go to a row; if a filter hides it, remove the filter first. */
  const reveal = (row: number | undefined) => {
    if (row === undefined) return;
    if (!shown.includes(row)) {
      state.setFilter({ ...filter, kinds: [], tools: [], text: "", errors: false, names: [], repeated: rows[row].isRepeated });
      if (rows[row].kind === "event" || rows[row].kind === "reasoning") state.setDetail("full");
      if (state.folded.has(rows[row].agent)) state.toggleFold(rows[row].agent);
    }
    setOpened((known) => new Map(known).set(row, true));
    go(row);
  };
  const toggle = (row: number) =>
    setOpened((known) => new Map(known).set(row, !(known.get(row) ?? isOpenAtFirst(rows[row], state.detail))));
  const toggleRaw = (row: number) => {
    state.requestRaw(rows[row]);
    setRawRows((known) => (known.has(row) ? new Set([...known].filter((other) => other !== row)) : new Set([...known, row])));
  };
  const showFile = (path: string) => {
    setFile(path);
    setTab("files");
  };

  useEffect(() => {
    if (!state.done) return;
    const followLink = () => {
      const name = decodeFragment(location.hash.slice(1));
      setMissing(name && !rowsByName.has(name) ? name : "");
      if (name) reveal(rowsByName.get(name));
    };
    followLink();
    addEventListener("hashchange", followLink);
    return () => removeEventListener("hashchange", followLink);
  }, [state.done, rowsByName]);
  useEffect(() => {
    if (tab !== "files" || file === null) return;
    const section = [...document.querySelectorAll<HTMLElement>(".file")].find((element) => element.id.endsWith(`-${file}`));
    section?.scrollIntoView();
    section?.focus({ preventScroll: true });
  }, [tab, file]);
  useEffect(() => {
    const observer = new ResizeObserver(() =>
      setCovered(getComputedStyle(sticky.current!).position === "sticky" ? sticky.current!.offsetHeight : 0),
    );
    observer.observe(sticky.current!);
    return () => observer.disconnect();
  }, []);
  useKeyboard({
    state,
    selected,
    go,
    toggle: (row) => (rows[row].kind === "event" ? toggleRaw(row) : toggle(row)),
    search,
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
      <header class="top">
        <button type="button" class="menu" aria-expanded={menu} aria-controls="prompts" onClick={() => setMenu(!menu)}>
          Prompts
        </button>
        {island.index && (
          <a class="up" href={island.index} aria-label="All conversations">
            All<span class="rest"> conversations</span>
          </a>
        )}
        <h1>{island.title}</h1>
        <button type="button" onClick={() => setHelp(true)} aria-label="Keyboard help">
          ?
        </button>
        <ThemeSwitch />
      </header>
      <nav id="prompts" class={menu ? "side open" : "side"} aria-label="Prompts">
        <Prompts state={state} go={reveal} selected={selected} />
      </nav>
      <main id="main" ref={scroller} tabIndex={0} aria-label="Record">
        <Banner island={island} state={state} />
        {overview && <Facts overview={overview} />}
        {overview && <Timeline overview={overview} go={reveal} />}
        {overview && (
          <Charts>
            <Bars title="Calls by tool" bars={overview.totals.tools} />
            <Bars title="Output tokens by model" bars={overview.totals.models} />
          </Charts>
        )}
        {island.lines && <Lines lines={island.lines} />}
        <div class="sticky" ref={sticky}>
          <div class="tabs" role="group" aria-label="View">
            <button type="button" aria-pressed={tab === "conversation"} onClick={() => setTab("conversation")}>
              Conversation
            </button>
            <button type="button" aria-pressed={tab === "files"} onClick={() => setTab("files")}>
              Attribution{overview ? ` (${overview.files.length})` : ""}
            </button>
            {tab === "conversation" && <RowCount state={state} prefiltered={island.filter !== null} />}
          </div>
          {tab === "conversation" && <Toolbar state={state} search={search} />}
        </div>
        {missing && (
          <p class="note" role="alert">
            The link leads to entry {makeVisible(missing).slice(0, 100)}, but this record has no such entry.
          </p>
        )}
        {tab === "files" ? (
          <Files
            state={state}
            selected={file}
            go={(session, entry) => reveal(rowsByName.get(`${session}:${entry}`) ?? rowsByName.get(entry))}
          />
        ) : (
          <RowList
            {...{ state, scroller, covered, selected, select, jump, opened, toggle, rawRows, toggleRaw, wrote, showFile }}
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
