/** The local app: all conversations on this machine, searched and filtered, live. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "./app";
import {
  type AppState,
  ask,
  type Conversation,
  type ConversationData,
  type ConversationList,
  type ConversationOverview,
  type ConversationVersion,
  type Facet,
  type Hit,
  type SearchResult,
} from "./app-server";
import { explainCost, formatCost, spellCost } from "./costs";
import { nameAgentProgram, nameModel } from "./header";
import { KeepNotice } from "./keep-notice";
import { ThemeSwitch } from "./panels";
import { describeSpeaker } from "./rows";
import { formatNumber, makeVisible, pluralize } from "./text";
import { HitList, shortenNumber, Shelves, type Tile, type TileHit } from "./shelves";
import { type Day, UsageChart } from "./usage-chart";

const POLL_MILLISECONDS = 2000;
const TYPING_MILLISECONDS = 150;
const PAGE_SIZE = 50;
/** Conversations drawn at first: enough for a tall screen. The others follow at once. */
const FIRST_TILES = 20;
const DAY = 24 * 3600 * 1000;
/** A conversation with an entry of the last minutes is running. */
const RUNNING = 3 * 60 * 1000;
const SPEAKERS: Record<string, string> = { assistant: "Answer", reasoning: "Thought", event: "Event" };
const SPANS = { "": "Any time", "1": "Today", "7": "7 days", "30": "30 days", "90": "90 days" } as const;
const OUTCOMES = { "": "Any outcome", failed: "With failures", clean: "Without failures" } as const;
const ROUTE = /^\/conversation\/([^/]+)$/;

interface Choices {
  text: string;
  agent: string;
  repo: string;
  project: string;
  model: string;
  days: string;
  outcome: string;
}

const NO_CHOICES: Choices = { text: "", agent: "", repo: "", project: "", model: "", days: "", outcome: "" };

/** The whole app: the list, or one conversation. `startWorker` starts the worker of a conversation's page. */
export function Home({ startWorker, first }: { startWorker: () => Worker; first: string }) {
  const [session, setSession] = useState(first || readRoute());
  const [choices, setChoices] = useState(readChoices);
  useEffect(() => {
    if (first) history.replaceState(null, "", makeRoute(first));
    const follow = () => {
      const wanted = readRoute();
      setSession(wanted);
      if (!wanted) setChoices(readChoices());
    };
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  // The address of the list has the choices, so that they survive a reload, a bookmark and the way back.
  useEffect(() => {
    const address = makeListAddress(choices);
    if (!session && location.pathname + location.search !== address) history.replaceState(null, "", address);
  }, [session, choices]);
  const open = useCallback((wanted: string, entry = "") => {
    history.pushState(null, "", `${makeRoute(wanted)}${entry && `#${encodeURIComponent(entry)}`}`);
    setSession(wanted);
  }, []);
  return session ? (
    <OpenConversation key={session} session={session} startWorker={startWorker} list={makeListAddress(choices)} />
  ) : (
    <ConversationBrowser choices={choices} setChoices={setChoices} open={open} />
  );
}

/** Return the session that the address names; "" for the list. */
function readRoute(): string {
  const match = ROUTE.exec(location.pathname);
  return match ? decodeURIComponent(match[1]) : "";
}

/** Return the choices that the address of the list has. */
function readChoices(): Choices {
  const given = new URLSearchParams(location.pathname === "/" ? location.search : "");
  const entries = Object.keys(NO_CHOICES).map((name) => [name, given.get(name) ?? ""]);
  return Object.fromEntries(entries) as unknown as Choices;
}

/** Return the address of the list with some choices. */
function makeListAddress(choices: Choices): string {
  const chosen = Object.entries(choices).filter(([, value]) => value);
  return chosen.length ? `/?${new URLSearchParams(chosen)}` : "/";
}

function makeRoute(session: string): string {
  return `/conversation/${encodeURIComponent(session)}`;
}

/** One conversation, in the page that `vacr view` makes as well. While it goes on, the page follows it. */
function OpenConversation({ session, startWorker, list }: { session: string; startWorker: () => Worker; list: string }) {
  const [data, setData] = useState<ConversationData | null>(null);
  const view = useRef<typeof App | null>(null);
  const [problem, setProblem] = useState("");
  const [isRunning, setRunning] = useState(false);
  const worker = useRef<Worker | null>(null);
  useEffect(() => {
    let known = "";
    let isEnded = false;
    let timer: ReturnType<typeof setTimeout>;
    const follow = async () => {
      const now = await ask<ConversationVersion>("/api/version", { session });
      setRunning(now.end_ms !== null && Date.now() - now.end_ms < RUNNING);
      if (now.version === known) return;
      const read = await ask<ConversationData>("/api/conversation", { session });
      view.current ??= (await import("./app")).App;
      if (isEnded) return;
      // The version was read first, so the next poll sees later changes.
      known = now.version;
      worker.current?.postMessage({ do: "open", ...read });
      setData(read);
    };
    const poll = () =>
      follow().then(
        () => {
          if (!isEnded) timer = setTimeout(poll, POLL_MILLISECONDS);
        },
        // A page that has its records stays: it needs the server for new ones only.
        (error: Error) => !known && setProblem(error.message),
      );
    void poll();
    return () => {
      isEnded = true;
      clearTimeout(timer);
      worker.current?.terminate();
    };
  }, []);
  if (problem) return <Problem text={problem} />;
  const View = view.current;
  if (!data || !View) return <p class="wait">Reading …</p>;
  worker.current ??= startWorker();
  document.title = data.island.title;
  return (
    <View
      island={{ ...data.island, index: list, app: true, isRunning }}
      worker={worker.current}
      openRecords={() => worker.current!.postMessage({ do: "open", ...data })}
    />
  );
}

function Problem({ text }: { text: string }) {
  return (
    <main class="problem">
      <h1>vacr</h1>
      <p role="alert">{makeVisible(text)}</p>
      <p>
        <a href="/">All conversations</a>
      </p>
    </main>
  );
}

/** The usage of each day by the conversations of some choices, or why it is not known. */
interface Usage {
  chosen: string;
  days?: Day[];
  problem?: string;
}

interface BrowserProps {
  choices: Choices;
  setChoices: (choices: Choices) => void;
  /** Opens a conversation, at an entry if there is one. */
  open: (session: string, entry?: string) => void;
}

/** The list of conversations, or the hits of a search, below the search field and the filters. */
function ConversationBrowser({ choices, setChoices, open }: BrowserProps) {
  const [state, setState] = useState<AppState | null>(null);
  const [list, setList] = useState<ConversationList | null>(null);
  /** The values to filter by, of all conversations; undefined until they are known. */
  const [facets, setFacets] = useState<ConversationOverview["facets"]>();
  const [usage, setUsage] = useState<Usage | null>(null);
  const [result, setResult] = useState<SearchResult | null>(null);
  /** Why the server refuses to search, or "". */
  const [refusal, setRefusal] = useState("");
  const [limit, setLimit] = useState(PAGE_SIZE);
  const [problem, setProblem] = useState("");
  const search = useRef<HTMLInputElement>(null);
  /** How often the index has changed since the list was first read. */
  const [changes, setChanges] = useState(0);
  const version = useRef<number | null>(null);

  useEffect(() => {
    document.title = "vacr";
    const note = (now: AppState) => {
      if (version.current !== null && version.current !== now.version) setChanges((count) => count + 1);
      version.current = now.version;
      setState(now);
    };
    const poll = () => ask<AppState>("/api/state").then(note, (error: Error) => setProblem(error.message));
    poll();
    const timer = setInterval(poll, POLL_MILLISECONDS);
    const focusSearch = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === search.current) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", focusSearch);
    return () => {
      clearInterval(timer);
      removeEventListener("keydown", focusSearch);
    };
  }, []);
  const isPainted = useIsPainted(list !== null);
  // Before the first paint: the reader waits for the list.
  useLayoutEffect(() => {
    let isCurrent = true;
    const chosen = describeChoices(choices);
    const keep =
      <Answer,>(set: (answer: Answer) => void) =>
      (answer: Answer) =>
        isCurrent && set(answer);
    const report = (error: Error) => isCurrent && setProblem(error.message);
    const read = () => {
      ask<ConversationList>("/api/conversations", { ...chosen, limit }).then(keep(setList), report);
      if (choices.text.trim())
        ask<SearchResult>("/api/search", { ...chosen, q: choices.text, limit }).then(
          keep((answer: SearchResult) => {
            setResult(answer);
            setRefusal("");
          }),
          // Words without a letter, for example: the reader goes on typing.
          (error: Error) => isCurrent && setRefusal(error.message),
        );
      else {
        setResult(null);
        setRefusal("");
      }
    };
    let timer: ReturnType<typeof setTimeout>;
    if (list) timer = setTimeout(read, TYPING_MILLISECONDS);
    else read();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [choices, limit, changes]);

  // All choices but the words of a search, which the chart is not about.
  const chosen = JSON.stringify({ ...choices, text: "" });
  // After the first paint: the list does not wait for the chart, and stays if there is none.
  useEffect(() => {
    if (!isPainted) return;
    let isCurrent = true;
    ask<ConversationOverview>("/api/overview", describeChoices(choices)).then(
      (answer) => {
        if (!isCurrent) return;
        setFacets(answer.facets);
        setUsage({ chosen, days: answer.days });
      },
      (error: Error) => isCurrent && setUsage({ chosen, problem: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [chosen, changes, isPainted]);

  const isReady = state?.is_ready ?? false;
  // The state is asked for every other second: the list is drawn again only if it or an age in it changes.
  const minute = Math.floor(Date.now() / 60_000);
  const more = () => setLimit(limit + PAGE_SIZE);
  const shelves = useMemo(() => {
    const limitNow = isPainted ? Infinity : FIRST_TILES;
    return list && <Groups list={list} open={open} more={more} isReady={isReady} limit={limitNow} />;
  }, [list, open, limit, isReady, isPainted, minute]);
  // The chart of other choices is not shown.
  const { days, problem: chartProblem } = usage?.chosen === chosen ? usage : {};
  const hasChart = days !== undefined || (list !== null && list.count > 1);
  const chart = useMemo(() => hasChart && <UsageChart days={days} />, [hasChart, days]);

  if (problem) return <Problem text={problem} />;
  const hasFilters = Object.entries(choices).some(([name, value]) => name !== "text" && value);
  const clear = () => setChoices({ ...NO_CHOICES, text: choices.text });
  const isEmpty = isReady && !hasFilters && list?.count === 0;
  const set = (changed: Partial<Choices>) => setChoices({ ...choices, ...changed });
  return (
    <div class="frame site home">
      <header class="top">
        <h1>vacr</h1>
        <input
          ref={search}
          type="search"
          aria-label="Search all conversations"
          placeholder="Search all conversations  ( / )"
          value={choices.text}
          onInput={(event) => set({ text: event.currentTarget.value })}
        />
        <ThemeSwitch />
        {state && <KeepNotice keeping={state.keeping} set={(keeping) => setState({ ...state, keeping })} open={open} />}
      </header>
      <main tabIndex={0} aria-label="Conversations">
        {isEmpty && <NoConversations />}
        <div class="filters" role="group" aria-label="Filters" hidden={isEmpty}>
          <Select
            label="Agent"
            name={nameAgentProgram}
            facets={facets?.agent}
            value={choices.agent}
            set={(agent) => set({ agent })}
          />
          <Select label="Repository" facets={facets?.repo} value={choices.repo} set={(repo) => set({ repo })} />
          <Select label="Project" facets={facets?.project} value={choices.project} set={(project) => set({ project })} />
          <Select
            label="Model"
            name={(name) => nameModel(name) || "not recorded"}
            facets={facets?.model}
            value={choices.model}
            set={(model) => set({ model })}
          />
          <Options label="When" options={SPANS} value={choices.days} set={(days) => set({ days })} />
          <Options label="Outcome" options={OUTCOMES} value={choices.outcome} set={(outcome) => set({ outcome })} />
        </div>
        {list && !isEmpty && <Totals list={list} state={state} clear={hasFilters ? clear : undefined} />}
        {!result && !refusal && (chartProblem ? <ChartProblem text={chartProblem} hasFilters={facets !== undefined} /> : chart)}
        {isEmpty ? null : refusal ? (
          <p class="empty" role="alert">
            {makeVisible(refusal)}
          </p>
        ) : result ? (
          <Hits result={result} open={open} more={more} clear={hasFilters ? clear : undefined} isReady={isReady} />
        ) : (
          shelves
        )}
      </main>
    </div>
  );
}

/** Return the query that selects the conversations of some choices. */
function describeChoices({ agent, repo, project, model, outcome, days }: Choices): Record<string, string | number | null> {
  return { agent, repo, project, model, outcome, since: days ? Date.now() - Number(days) * DAY : null };
}

/** Return whether the page was painted since `isReady` was first true. */
function useIsPainted(isReady: boolean): boolean {
  const [isPainted, setPainted] = useState(false);
  useEffect(() => {
    if (!isReady) return;
    // The callback runs just before the paint, and a message from it just after.
    const frame = requestAnimationFrame(() => setTimeout(() => setPainted(true)));
    return () => cancelAnimationFrame(frame);
  }, [isReady]);
  return isPainted;
}

interface SelectProps {
  label: string;
  facets?: Facet[];
  value: string;
  set: (value: string) => void;
  /** Returns a value as people write it. */
  name?: (value: string) => string;
}

/** A list of values to choose from, each with its number of conversations. Not shown for fewer than two values. */
function Select({ label, facets, value, set, name: nameValue = makeVisible }: SelectProps) {
  if (!facets || facets.length < 2) return null;
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{label}: all</option>
      {facets.map(({ name, count }) => (
        <option value={name}>
          {nameValue(name)} ({formatNumber(count)})
        </option>
      ))}
    </select>
  );
}

interface OptionsProps {
  label: string;
  options: Record<string, string>;
  value: string;
  set: (value: string) => void;
}

function Options({ label, options, value, set }: OptionsProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      {Object.entries(options)
        .sort(([left], [right]) => Number(left) - Number(right))
        .map(([name, text]) => (
          <option value={name}>{text}</option>
        ))}
    </select>
  );
}

/** What to do if no agent has stored a conversation yet. */
function NoConversations() {
  return (
    <section class="welcome">
      <h2>No conversations yet</h2>
      <p>
        vacr shows the conversations that AI coding agents store on this machine, such as Claude Code, Codex, Gemini CLI, GitHub
        Copilot and Cursor. Use one of them: its conversation appears here while it goes on.
      </p>
      <p>
        To see where vacr looks: <code>vacr list -v</code>. To open a session or a record from elsewhere:{" "}
        <code>vacr open PATH</code>
      </p>
    </section>
  );
}

/** The sums over the chosen conversations, and how far the index is. `clear` removes the filters, if there are any. */
function Totals({ list, state, clear }: { list: ConversationList; state: AppState | null; clear?: () => void }) {
  const { totals } = list;
  const facts = [
    pluralize(list.count, "conversation"),
    totals.output ? `${shortenNumber(totals.input + totals.output)} tokens` : "",
  ].filter(Boolean);
  const cost = formatCost(totals.cost, totals.is_estimated, totals.is_unpriced);
  const isReading = state && !state.is_ready;
  return (
    <p class="count" role="status">
      {facts.join(" · ")}
      {cost && (
        <>
          {" "}
          · <span title={explainCost(cost)}>{spellCost(cost)}</span>
        </>
      )}
      {clear && (
        <>
          {" "}
          ·{" "}
          <button type="button" class="more" onClick={clear}>
            Clear filters
          </button>
        </>
      )}
      {isReading && (
        <span class="reading">
          {" "}
          · reading sessions <progress value={state.done} max={state.total || 1} aria-label="Sessions read" />
        </span>
      )}
      {state?.problem && <span class="bad"> · {makeVisible(state.problem)}</span>}
      {state && state.skipped > 0 && <span class="soft"> · {pluralize(state.skipped, "session")} cannot be read</span>}
    </p>
  );
}

/** What is shown in the place of the chart if the app cannot answer what it needs. */
function ChartProblem({ text, hasFilters }: { text: string; hasFilters: boolean }) {
  return (
    <p class="count" role="status">
      <span class="bad">
        The chart {!hasFilters && "and the filters "}could not be loaded: {makeVisible(text)} · Reload the page to try again.
      </span>
    </p>
  );
}

interface GroupsProps {
  list: ConversationList;
  open: (session: string) => void;
  more: () => void;
  isReady: boolean;
  /** How many conversations to draw. */
  limit: number;
}

/** The conversations by repository, or by folder where no repository is known; the last used group first. */
function Groups({ list, open, more, isReady, limit }: GroupsProps) {
  if (!list.conversations.length)
    return <p class="empty">{isReady ? "No conversations match these filters." : "Reading the sessions of this machine …"}</p>;
  return (
    <>
      <Shelves
        tiles={list.conversations.map(makeTile)}
        grouped
        cut={list.count > list.conversations.length}
        limit={limit}
        open={open}
      />
      {list.count > list.conversations.length && (
        <button type="button" class="more" onClick={more}>
          Show more of {formatNumber(list.count)}
        </button>
      )}
    </>
  );
}

/** Return a conversation for a list. */
function makeTile(conversation: Conversation): Tile {
  const { session, title, agent, model, calls, failed, added, removed } = conversation;
  const when = conversation.last_used_ms;
  return {
    key: session,
    href: makeRoute(session),
    title,
    project: conversation.repo || conversation.project,
    agent,
    model,
    calls,
    failed,
    added,
    removed,
    milliseconds: conversation.duration_ms,
    cost: formatCost(conversation.cost, Boolean(conversation.is_estimated), Boolean(conversation.is_unpriced)),
    when,
    isRunning: Date.now() - when < RUNNING,
  };
}

/** The hits of a search, by conversation. */
function Hits({
  result,
  open,
  more,
  clear,
  isReady,
}: {
  result: SearchResult;
  open: (session: string, entry?: string) => void;
  more: () => void;
  /** Removes the filters, if there are any. */
  clear?: () => void;
  /** Whether all sessions are read. */
  isReady: boolean;
}) {
  if (!result.count)
    return (
      <p class="empty">
        No conversation{clear && " that these filters select"} has all of these words.{" "}
        {isReady ? "A search finds whole words." : "vacr still reads the sessions, so there may be some soon."}{" "}
        {clear && (
          <button type="button" class="more" onClick={clear}>
            Search without the filters
          </button>
        )}
      </p>
    );
  const groups = new Map<number, { tile: Tile; hits: TileHit[]; total: number }>();
  for (const hit of result.hits) {
    if (!groups.has(hit.record)) groups.set(hit.record, { tile: makeHitTile(hit), hits: [], total: hit.count });
    const { place, snippet } = hit;
    groups.get(hit.record)!.hits.push({ place, snippet, label: hit.tool || nameSpeaker(hit), isError: hit.is_error });
  }
  return (
    <HitList
      count={result.count}
      conversations={result.conversations}
      groups={[...groups.values()]}
      open={open}
      more={groups.size < result.conversations ? more : undefined}
    />
  );
}

/** Return the conversation of a hit for a list. */
function makeHitTile(hit: Hit): Tile {
  const { session, title, agent, project } = hit;
  const unknown = { model: "", calls: 0, failed: 0, added: 0, removed: 0, milliseconds: 0, cost: "" };
  return { ...unknown, key: session, href: makeRoute(session), title, agent, project, when: hit.time_ms, isRunning: false };
}

/** Return who speaks in an entry, as a heading says it. */
function nameSpeaker({ kind, speaker }: Hit): string {
  if (kind === "user") return describeSpeaker({ speaker });
  return Object.hasOwn(SPEAKERS, kind) ? SPEAKERS[kind] : makeVisible(kind);
}
