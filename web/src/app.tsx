/** The page: verdict, conversation, files; keyboard and links. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Banner } from "./banner";
import { Files } from "./files";
import { Bars, Charts } from "./bars";
import { Facts, Help, Prompts, ThemeSwitch } from "./frame";
import { type Jump, List } from "./list";
import type { Island } from "./protocol";
import { linesOf } from "./ranges";
import { isOpen, type Wrote } from "./row";
import { useRecords } from "./state";
import { visible } from "./texts";
import { Timeline } from "./timeline";
import { Count, Toolbar } from "./toolbar";
import { useKeys } from "./keyboard";

export function App({ island, worker }: { island: Island; worker: Worker }) {
  const state = useRecords(island, worker);
  const { rows, shown, overview, filter } = state;
  const [tab, setTab] = useState<"conversation" | "files">("conversation");
  const [selected, select] = useState(-1);
  const [jump, setJump] = useState<Jump | null>(null);
  const [opened, setOpened] = useState(new Map<number, boolean>());
  const [raws, setRaws] = useState(new Set<number>());
  const [file, setFile] = useState<string | null>(null);
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const [covered, setCovered] = useState(0);
  const [missing, setMissing] = useState("");
  const scroller = useRef<HTMLElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const sticky = useRef<HTMLDivElement>(null);

  const names = useMemo(() => {
    const found = new Map<string, number>();
    rows.forEach((row, at) => {
      const own = [row.anchor, `${row.session}:${row.name}`, `${row.session}:${row.place}`, row.session ? "" : row.place];
      if (row.result)
        own.push(
          `${row.session}:${row.result.name}`,
          `${row.session}:${row.result.place}`,
          row.session ? "" : row.result.name,
          row.session ? "" : row.result.place,
        );
      for (const name of own) if (name && !found.has(name)) found.set(name, at);
    });
    return found;
  }, [rows]);
  const wrote = useMemo(() => {
    const found = new Map<string, Wrote[]>();
    for (const one of overview?.files ?? [])
      for (const range of one.ranges)
        for (const entry of range.entries) {
          const key = `${one.session}:${entry}`;
          found.set(key, [...(found.get(key) ?? []), { path: one.path, lines: linesOf(range) }]);
        }
    return found;
  }, [overview]);

  const go = (row: number, focus = true) => {
    if (row < 0) return;
    setTab("conversation");
    setMenu(false);
    select(row);
    setJump((last) => ({ row, count: (last?.count ?? 0) + 1, focus }));
  };
  /** Go to a row whether it is shown or not: what hides it is taken away. */
  const reach = (row: number | undefined) => {
    if (row === undefined) return;
    if (!shown.includes(row)) {
      state.setFilter({ ...filter, kinds: [], tools: [], text: "", errors: false, names: [], repeated: rows[row].isRepeated });
      if (rows[row].kind === "event" || rows[row].kind === "reasoning") state.setDetail("full");
      if (state.folded.has(rows[row].agent)) state.fold(rows[row].agent);
    }
    setOpened((known) => new Map(known).set(row, true));
    go(row);
  };
  const toggle = (row: number) =>
    setOpened((known) => new Map(known).set(row, !(known.get(row) ?? isOpen(rows[row], state.detail))));
  const toggleRaw = (row: number) => {
    state.askRaw(rows[row]);
    setRaws((known) => (known.has(row) ? new Set([...known].filter((one) => one !== row)) : new Set([...known, row])));
  };
  const showFile = (path: string) => {
    setFile(path);
    setTab("files");
  };

  useEffect(() => {
    if (!state.done) return;
    const follow = () => {
      const name = decoded(location.hash.slice(1));
      setMissing(name && !names.has(name) ? name : "");
      if (name) reach(names.get(name));
    };
    follow();
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [state.done, names]);
  useEffect(() => {
    if (tab !== "files" || file === null) return;
    const found = [...document.querySelectorAll<HTMLElement>(".file")].find((one) => one.id.endsWith(`-${file}`));
    found?.scrollIntoView();
    found?.focus({ preventScroll: true });
  }, [tab, file]);
  useEffect(() => {
    const observer = new ResizeObserver(() =>
      setCovered(getComputedStyle(sticky.current!).position === "sticky" ? sticky.current!.offsetHeight : 0),
    );
    observer.observe(sticky.current!);
    return () => observer.disconnect();
  }, []);
  useKeys({
    state,
    selected,
    go,
    toggle: (row) => (rows[row].kind === "event" ? toggleRaw(row) : toggle(row)),
    search,
    help: () => setHelp((on) => !on),
    files: () => setTab((one) => (one === "files" ? "conversation" : "files")),
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
        <button type="button" onClick={() => setHelp(true)} aria-label="Help with the keyboard">
          ?
        </button>
        <ThemeSwitch />
      </header>
      <nav id="prompts" class={menu ? "side open" : "side"} aria-label="Prompts">
        <Prompts state={state} go={reach} selected={selected} />
      </nav>
      <main id="main" ref={scroller} tabIndex={0} aria-label="Record">
        <Banner island={island} state={state} />
        {overview && <Facts overview={overview} />}
        {overview && <Timeline overview={overview} go={reach} />}
        {overview && (
          <Charts>
            <Bars title="Calls of each tool" bars={overview.totals.tools} />
            <Bars title="Output tokens of each model" bars={overview.totals.models} />
          </Charts>
        )}
        <div class="sticky" ref={sticky}>
          <div class="tabs" role="group" aria-label="View">
            <button type="button" aria-pressed={tab === "conversation"} onClick={() => setTab("conversation")}>
              Conversation
            </button>
            <button type="button" aria-pressed={tab === "files"} onClick={() => setTab("files")}>
              Files{overview ? ` (${overview.files.length})` : ""}
            </button>
            {tab === "conversation" && <Count state={state} made={island.filter !== null} />}
          </div>
          {tab === "conversation" && <Toolbar state={state} search={search} />}
        </div>
        {missing && (
          <p class="note" role="alert">
            There is no entry {visible(missing).slice(0, 100)} in this record, which the link asks for.
          </p>
        )}
        {tab === "files" ? (
          <Files state={state} at={file} go={(session, entry) => reach(names.get(`${session}:${entry}`) ?? names.get(entry))} />
        ) : (
          <List {...{ state, scroller, covered, selected, select, jump, opened, toggle, raws, toggleRaw, wrote, showFile }} />
        )}
        {tab === "conversation" && state.done && !shown.length && (
          <p class="empty">{rows.length ? "Nothing here is what was asked for." : "Nothing was said in it."}</p>
        )}
        <footer>Made by {island.made}. Nothing in this page comes from a network.</footer>
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
