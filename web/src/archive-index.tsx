/** The index of an archive: its conversations by project, with search of their texts, filters and charts. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { searchTexts, unpackTexts } from "./archive-texts";
import { Bars, Charts } from "./charts";
import { explainCost, formatCost, spellCost } from "./costs";
import { Lines } from "./line-statistics";
import { addUpByName } from "./named-counts";
import { ThemeSwitch } from "./panels";
import type { Island, Site, SitePage } from "./protocol";
import { HitList, shortenNumber, Shelves, type Tile } from "./shelves";
import { formatNumber, makeVisible, pluralize } from "./text";
import { addUpDays, type Day, UsageChart } from "./usage-chart";

const VERDICT_LABELS = {
  verified: "✓ verified",
  signed: "signed by an untrusted key",
  failed: "✗ verification failed",
  unsigned: "not signed",
} as const;
const SORTS = { start: "newest first", cost: "cost", tokens: "tokens", errors: "failures", name: "name" } as const;
/** An archive may contain thousands of conversations, and browsers are slow to lay out that many. */
const BATCH_SIZE = 200;
type Sort = keyof typeof SORTS;

/** Return the comparison of two conversations for an order. */
function comparePages(sort: Sort): (left: SitePage, right: SitePage) => number {
  if (sort === "name") return (left, right) => left.name.localeCompare(right.name);
  if (sort === "start") return (left, right) => right.start.localeCompare(left.start);
  return (left, right) => right[sort] - left[sort];
}

/** A list to choose one value from; "" stands for all. */
function Choice({ label, values, value, set }: { label: string; values: string[]; value: string; set: (value: string) => void }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{label}: all</option>
      {[...new Set(values)]
        .filter(Boolean)
        .sort()
        .map((option) => (
          <option value={option}>{makeVisible(option)}</option>
        ))}
    </select>
  );
}

/** Return the cost of conversations together. */
function sumCost(pages: SitePage[]): string {
  const cost = pages.reduce((all, page) => all + page.cost, 0);
  return formatCost(
    cost,
    pages.some((page) => page.isEstimated),
    pages.some((page) => page.isUnpriced),
  );
}

/** Return a conversation for a list. */
function makeTile(page: SitePage): Tile {
  const time = Date.parse(`${page.start.replace(" ", "T")}Z`);
  const notes = [
    pluralize(page.prompts, "prompt"),
    page.errors > page.failed ? pluralize(page.errors - page.failed, "error event") : "",
    page.isRepeated ? "duplicate recording of a session, not counted" : "",
  ];
  return {
    key: page.href,
    href: page.href,
    title: page.title || page.name,
    project: page.repo || page.project,
    agent: page.agent,
    model: page.models.join(", "),
    calls: page.calls,
    failed: page.failed,
    added: page.added,
    removed: page.removed,
    milliseconds: page.milliseconds,
    cost: sumCost([page]),
    when: Number.isFinite(time) ? time : null,
    isRunning: false,
    verdict: { text: VERDICT_LABELS[page.verdict], look: page.verdict, reason: page.told },
    note: notes.filter(Boolean).join(" · "),
  };
}

/** Return the sums of each day. */
function sumDays(pages: SitePage[]): Day[] {
  return addUpDays(
    pages.map(({ start, tokens, cost, failed }) => ({ day: start.slice(0, 10), tokens, cost, failed, sessions: 1 })),
  );
}

/** The page of an archive: search, totals, charts, and a card for each conversation. */
export function ArchiveIndex({ site, title, producer, lines }: Pick<Island, "title" | "producer" | "lines"> & { site: Site }) {
  const [typed, setTyped] = useState("");
  const [agent, setAgent] = useState("");
  const [project, setProject] = useState("");
  const [verdict, setVerdict] = useState("");
  const [sort, setSort] = useState<Sort>("start");
  const [limit, setLimit] = useState(BATCH_SIZE);
  /** The texts of the conversations; null until somebody searches, or if the archive has none. */
  const [texts, setTexts] = useState<Awaited<ReturnType<typeof unpackTexts>> | null>(null);
  const packed = useRef<string | null | undefined>(undefined);
  useEffect(() => {
    if (!typed || packed.current !== undefined) return;
    packed.current = document.querySelector("#archive-texts")?.textContent ?? null;
    if (packed.current) void unpackTexts(packed.current).then(setTexts);
  }, [typed]);
  const matches = useMemo(() => {
    const wanted = typed.toLowerCase();
    const matchesText = (page: SitePage) =>
      [page.title, page.name, page.agent, page.repo, page.project, ...page.models].some((text) =>
        text.toLowerCase().includes(wanted),
      );
    const isChosen = (page: SitePage) =>
      (!agent || page.agent === agent) &&
      (!project || (page.repo || page.project) === project) &&
      (!verdict || page.verdict === verdict);
    const found = texts ? searchTexts(texts, typed).filter(({ page }) => isChosen(site.pages[page])) : [];
    const pages = site.pages.filter((page) => isChosen(page) && (!wanted || matchesText(page)));
    return { pages: pages.sort(comparePages(sort)), found };
  }, [typed, agent, project, verdict, sort, texts]);
  const shown = matches.pages;
  const counted = shown.filter((page) => !page.isRepeated);
  const sum = (name: "prompts" | "calls" | "failed" | "tokens") => counted.reduce((all, page) => all + page[name], 0);
  const cost = sumCost(counted);
  return (
    <div class="frame site home">
      <header class="top">
        <h1>{title}</h1>
        <ThemeSwitch />
      </header>
      <main tabIndex={0} aria-label="Conversations">
        <div class="toolbar" role="search">
          <input
            type="search"
            aria-label="Search the conversations"
            placeholder="Search the conversations"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <Choice label="Agent" values={site.pages.map((page) => page.agent)} value={agent} set={setAgent} />
          <Choice label="Project" values={site.pages.map((page) => page.repo || page.project)} value={project} set={setProject} />
          <Choice label="Verdict" values={site.pages.map((page) => page.verdict)} value={verdict} set={setVerdict} />
          <select aria-label="Order" value={sort} onChange={(event) => setSort(event.currentTarget.value as Sort)}>
            {Object.entries(SORTS).map(([name, label]) => (
              <option value={name}>{label}</option>
            ))}
          </select>
        </div>
        {!matches.found.length && (
          <p class="count" role="status">
            {shown.length < site.pages.length && `${formatNumber(shown.length)} of `}
            {pluralize(site.pages.length, "conversation")} · {pluralize(sum("prompts"), "prompt")} ·{" "}
            {pluralize(sum("calls"), "call")}, {formatNumber(sum("failed"))} failed · {shortenNumber(sum("tokens"))} tokens
            {cost && (
              <>
                {" "}
                · <span title={explainCost(cost)}>{spellCost(cost)}</span>
              </>
            )}
          </p>
        )}
        {matches.found.length > 0 && (
          <HitList
            count={matches.found.reduce((all, { hits }) => all + hits.length, 0)}
            conversations={matches.found.length}
            groups={matches.found.slice(0, BATCH_SIZE).map(({ page, hits }) => ({ tile: makeTile(site.pages[page]), hits }))}
          />
        )}
        {!typed && <UsageChart days={sumDays(counted)} />}
        {!matches.found.length && (
          <Charts>
            <Bars title="Tokens by agent" bars={addUpByName(counted.map((page) => ({ name: page.agent, value: page.tokens })))} />
            <Bars
              days
              title="Tokens by day"
              bars={addUpByName(counted.map((page) => ({ name: page.start.slice(0, 10), value: page.tokens })))}
            />
            <Bars title="Output tokens by model" bars={addUpByName(counted.flatMap((page) => page.spent))} />
            <Bars title="Calls by tool" bars={addUpByName(counted.flatMap((page) => page.tools))} />
          </Charts>
        )}
        {!matches.found.length && lines && <Lines lines={lines} />}
        <p class="note">The verdicts here are from the time when this archive was built. Each page verifies its record again.</p>
        {matches.found.length > 0 && shown.length > 0 && (
          <p class="count">{pluralize(shown.length, "conversation")} with these words in the title, project, agent or model:</p>
        )}
        <Shelves tiles={shown.slice(0, limit).map(makeTile)} grouped={sort === "start"} cut={shown.length > limit} />
        {!shown.length && !matches.found.length && (
          <p class="empty">
            {texts ? (
              "No matches. This search covers prompts, answers, the inputs of tools, and errors."
            ) : (
              <>
                No matches. This search covers titles, names, agents, projects and models. To search the conversations themselves,
                open a page, or run vacr show FOLDER --grep TEXT.
              </>
            )}
          </p>
        )}
        {shown.length > limit && (
          <button type="button" onClick={() => setLimit(limit + BATCH_SIZE)}>
            Show {Math.min(BATCH_SIZE, shown.length - limit)} more
          </button>
        )}
        <footer>Made by {producer}. This page loads nothing from a network.</footer>
      </main>
    </div>
  );
}
