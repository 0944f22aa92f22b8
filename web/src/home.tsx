/** The local app: all conversations on this machine, searched and filtered, live. */

import { useEffect, useRef, useState } from "preact/hooks";
import { App } from "./app";
import {
  type AppState,
  ask,
  type Conversation,
  type ConversationData,
  type ConversationList,
  type Day,
  type Facet,
  type Hit,
  type SearchResult,
} from "./app-server";
import { ThemeSwitch } from "./panels";
import { makeVisible, pluralize } from "./text";
import { formatDuration } from "./time";

const POLL_MILLISECONDS = 2000;
const TYPING_MILLISECONDS = 150;
const PAGE_SIZE = 100;
const DAY = 24 * 3600 * 1000;
const SPANS = { "": "Any time", "1": "Today", "7": "7 days", "30": "30 days", "90": "90 days" } as const;
const OUTCOMES = { "": "Any outcome", failed: "With failures", clean: "Without failures" } as const;
const ROUTE = /^\/conversation\/([^/]+)$/;

interface Choices {
  text: string;
  agent: string;
  repo: string;
  model: string;
  days: string;
  outcome: string;
}

const NO_CHOICES: Choices = { text: "", agent: "", repo: "", model: "", days: "", outcome: "" };

/** The whole app: the list, or one conversation. `startWorker` starts the worker of a conversation's page. */
export function Home({ startWorker, first }: { startWorker: () => Worker; first: string }) {
  const [session, setSession] = useState(first || readRoute());
  const [choices, setChoices] = useState(NO_CHOICES);
  useEffect(() => {
    if (first) history.replaceState(null, "", makeRoute(first));
    const follow = () => setSession(readRoute());
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const open = (wanted: string, entry = "") => {
    history.pushState(null, "", `${makeRoute(wanted)}${entry && `#${encodeURIComponent(entry)}`}`);
    setSession(wanted);
  };
  return session ? (
    <OpenConversation key={session} session={session} startWorker={startWorker} />
  ) : (
    <ConversationBrowser choices={choices} setChoices={setChoices} open={open} />
  );
}

/** Return the session that the address names; "" for the list. */
function readRoute(): string {
  const match = ROUTE.exec(location.pathname);
  return match ? decodeURIComponent(match[1]) : "";
}

function makeRoute(session: string): string {
  return `/conversation/${encodeURIComponent(session)}`;
}

/** One conversation, in the page that `vacr view` makes as well. */
function OpenConversation({ session, startWorker }: { session: string; startWorker: () => Worker }) {
  const [data, setData] = useState<ConversationData | null>(null);
  const [problem, setProblem] = useState("");
  const worker = useRef<Worker | null>(null);
  useEffect(() => {
    ask<ConversationData>("/api/conversation", { session }).then(setData, (error: Error) => setProblem(error.message));
    return () => worker.current?.terminate();
  }, []);
  if (problem) return <Problem text={problem} />;
  if (!data) return <p class="wait">Reading …</p>;
  worker.current ??= startWorker();
  document.title = data.island.title;
  const island = { ...data.island, index: "/" };
  return (
    <App
      island={island}
      worker={worker.current}
      openRecords={() => worker.current!.postMessage({ do: "open", island, records: data.records, statements: data.statements })}
    />
  );
}

function Problem({ text }: { text: string }) {
  return (
    <div class="problem" role="alert">
      <h1>vacr</h1>
      <p>{makeVisible(text)}</p>
      <p>
        <a href="/">All conversations</a>
      </p>
    </div>
  );
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
  const [result, setResult] = useState<SearchResult | null>(null);
  const [limit, setLimit] = useState(PAGE_SIZE);
  const [problem, setProblem] = useState("");
  const search = useRef<HTMLInputElement>(null);
  const version = state?.version ?? -1;

  useEffect(() => {
    document.title = "vacr";
    const poll = () => ask<AppState>("/api/state").then(setState, (error: Error) => setProblem(error.message));
    poll();
    const timer = setInterval(poll, POLL_MILLISECONDS);
    const focusSearch = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target === search.current) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", focusSearch);
    return () => {
      clearInterval(timer);
      removeEventListener("keydown", focusSearch);
    };
  }, []);
  useEffect(() => {
    let isCurrent = true;
    const { agent, repo, model, outcome } = choices;
    const since = choices.days ? Date.now() - Number(choices.days) * DAY : null;
    const keep =
      <Answer,>(set: (answer: Answer) => void) =>
      (answer: Answer) =>
        isCurrent && set(answer);
    const report = (error: Error) => isCurrent && setProblem(error.message);
    const timer = setTimeout(
      () => {
        ask<ConversationList>("/api/conversations", { agent, repo, model, outcome, since, limit }).then(keep(setList), report);
        if (choices.text.trim())
          ask<SearchResult>("/api/search", { q: choices.text, agent, repo, outcome, since }).then(keep(setResult), report);
        else setResult(null);
      },
      list ? TYPING_MILLISECONDS : 0,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [choices, limit, version]);

  if (problem) return <Problem text={problem} />;
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
      </header>
      <main tabIndex={0} aria-label="Conversations">
        <div class="filters" role="group" aria-label="Filters">
          <Select label="Agent" facets={list?.facets.agent} value={choices.agent} set={(agent) => set({ agent })} />
          <Select label="Repository" facets={list?.facets.repo} value={choices.repo} set={(repo) => set({ repo })} />
          <Select label="Model" facets={list?.facets.model} value={choices.model} set={(model) => set({ model })} />
          <Options label="When" options={SPANS} value={choices.days} set={(days) => set({ days })} />
          <Options label="Outcome" options={OUTCOMES} value={choices.outcome} set={(outcome) => set({ outcome })} />
        </div>
        {list && <Totals list={list} state={state} />}
        {list && list.days.length > 1 && <DailyChart days={list.days} />}
        {result ? (
          <Hits result={result} open={open} />
        ) : (
          list && <Groups list={list} open={open} more={() => setLimit(limit + PAGE_SIZE)} isReady={state?.is_ready ?? false} />
        )}
      </main>
    </div>
  );
}

/** A list of values to choose from, each with its number of conversations; nothing if there are fewer than two. */
function Select({ label, facets, value, set }: { label: string; facets?: Facet[]; value: string; set: (value: string) => void }) {
  if (!facets || facets.length < 2) return null;
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{label}: all</option>
      {facets.map(({ name, count }) => (
        <option value={name}>
          {makeVisible(name)} ({count.toLocaleString("en")})
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

/** The sums over the chosen conversations, and how far the index is. */
function Totals({ list, state }: { list: ConversationList; state: AppState | null }) {
  const { totals } = list;
  const facts = [
    pluralize(list.count, "conversation"),
    totals.output ? `${shortenNumber(totals.input + totals.output)} tokens` : "",
    formatDollars(totals.cost, totals.is_estimated),
  ];
  const isReading = state && !state.is_ready;
  return (
    <p class="count" role="status">
      {facts.filter(Boolean).join(" · ")}
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

/** Output tokens of each day, as bars; the days without any are left out at the ends only. */
function DailyChart({ days }: { days: Day[] }) {
  const shown = days.slice(-60);
  const largest = Math.max(...shown.map((day) => day.output), 1);
  return (
    <figure class="days">
      <svg viewBox={`0 0 ${shown.length} 1`} preserveAspectRatio="none" role="img" aria-label="Output tokens by day">
        {shown.map((day, at) => (
          <rect x={at + 0.1} y={1 - day.output / largest} width={0.8} height={day.output / largest}>
            <title>
              {day.day}: {shortenNumber(day.output)} output tokens, {formatDollars(day.cost, true) || "no cost known"},{" "}
              {pluralize(day.sessions, "session")}
            </title>
          </rect>
        ))}
      </svg>
      <figcaption>
        <span>{shown[0].day}</span>
        <span>output tokens by day</span>
        <span>{shown[shown.length - 1].day}</span>
      </figcaption>
    </figure>
  );
}

interface GroupsProps {
  list: ConversationList;
  open: (session: string) => void;
  more: () => void;
  isReady: boolean;
}

/** The conversations by repository, or by folder where no repository is known; the last used group first. */
function Groups({ list, open, more, isReady }: GroupsProps) {
  if (!list.conversations.length)
    return (
      <p class="empty">
        {isReady
          ? "No conversations match. vacr looks where agents keep their sessions: vacr list -v shows the places."
          : "Reading …"}
      </p>
    );
  const groups = new Map<string, Conversation[]>();
  for (const conversation of list.conversations) {
    const name = conversation.repo || conversation.project || "No project";
    groups.set(name, [...(groups.get(name) ?? []), conversation]);
  }
  return (
    <>
      {[...groups].map(([name, conversations]) => (
        <section class="shelf" aria-label={makeVisible(name)}>
          <h2 title={makeVisible(name)}>{shortenName(makeVisible(name))}</h2>
          <ul>
            {conversations.map((conversation) => (
              <li>
                <Card conversation={conversation} open={open} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {list.count > list.conversations.length && (
        <button type="button" class="more" onClick={more}>
          Show more of {list.count.toLocaleString("en")}
        </button>
      )}
    </>
  );
}

/** A line about a conversation; a click opens it. */
function Card({ conversation, open }: { conversation: Conversation; open: (session: string) => void }) {
  const { session, title, agent, model, calls, failed, added, removed, end_ms, start_ms, duration_ms } = conversation;
  const when = end_ms ?? start_ms;
  return (
    <a class="tile" href={makeRoute(session)} onClick={(event) => followHere(event, () => open(session))}>
      <span class={failed ? "dot failed" : "dot"} aria-hidden="true" />
      <span class="title">{makeVisible(title) || "Untitled"}</span>
      <span class="facts">
        {makeVisible(agent)}
        {model && ` · ${makeVisible(model)}`}
        {calls > 0 && ` · ${pluralize(calls, "call")}`}
        {failed > 0 && <span class="bad">, {failed.toLocaleString("en")} failed</span>}
        {added + removed > 0 && (
          <>
            {" · "}
            <span class="plus">+{added.toLocaleString("en")}</span> <span class="minus">−{removed.toLocaleString("en")}</span>
          </>
        )}
        {duration_ms > 0 && ` · ${formatDuration(duration_ms)}`}
        {conversation.cost > 0 && ` · ${formatDollars(conversation.cost, Boolean(conversation.is_estimated))}`}
      </span>
      {when !== null && (
        <time class="when" dateTime={new Date(when).toISOString()} title={new Date(when).toLocaleString()}>
          {formatAge(when)}
        </time>
      )}
    </a>
  );
}

/** The hits of a search; a click opens the conversation at the entry. */
function Hits({ result, open }: { result: SearchResult; open: (session: string, entry?: string) => void }) {
  if (!result.count) return <p class="empty">No matches.</p>;
  return (
    <section class="shelf" aria-label="Matches">
      <h2>
        {pluralize(result.count, "hit")} in {pluralize(result.conversations, "conversation")}
      </h2>
      <ul>
        {result.hits.map((hit) => (
          <li>
            <HitCard hit={hit} open={open} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function HitCard({ hit, open }: { hit: Hit; open: (session: string, entry?: string) => void }) {
  return (
    <a
      class="tile hit"
      href={`${makeRoute(hit.session)}#${encodeURIComponent(hit.place)}`}
      onClick={(event) => followHere(event, () => open(hit.session, hit.place))}
    >
      <span class={hit.is_error ? "dot failed" : "dot"} aria-hidden="true" />
      <span class="title">{makeVisible(hit.title) || "Untitled"}</span>
      <span class="facts">
        {makeVisible(hit.agent)} · {makeVisible(hit.tool || hit.kind)}
        {hit.is_error && <span class="bad"> failed</span>}
      </span>
      {hit.time_ms !== null && <time class="when">{formatAge(hit.time_ms)}</time>}
      <span class="snippet">{hit.snippet.map(({ text, isWord }) => (isWord ? <mark>{text}</mark> : text))}</span>
    </a>
  );
}

/** Follow a link inside the app, unless the reader wants a new tab or window. */
function followHere(event: MouseEvent, act: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  act();
}

/** Return a number in short, such as "1.3 M". */
function shortenNumber(value: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** Return an amount, with ≈ before an estimate; "" for nothing. */
function formatDollars(amount: number, isEstimated: boolean): string {
  if (!amount) return "";
  return `${isEstimated ? "≈ " : ""}$${amount < 0.01 ? amount.toPrecision(1) : amount.toFixed(2)}`;
}

/** Return the last two parts of a path or an address. */
function shortenName(name: string): string {
  return name.split(/[/\\]/).filter(Boolean).slice(-2).join("/") || name;
}

/** Return how long ago a time was, or its date if that is more than a week. */
function formatAge(time: number): string {
  const minutes = Math.floor((Date.now() - time) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  const days = Math.floor(minutes / (24 * 60));
  if (days < 7) return days === 1 ? "yesterday" : `${days} days ago`;
  return new Date(time).toISOString().slice(0, 10);
}
