/** The index of an archive: a searchable list of its conversations. */

import { useMemo, useState } from "preact/hooks";
import { Bars, Charts } from "./charts";
import { Lines } from "./line-statistics";
import { addUpByName } from "./named-counts";
import { ThemeSwitch } from "./panels";
import type { Island, Site, SitePage } from "./protocol";
import { makeVisible, pluralize } from "./text";

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

/** Return the cost of conversations with the marks of `vacr stats`: ~ is estimated, ≥ lacks a price, ? is unknown. */
function formatCost(pages: SitePage[]): string {
  const cost = pages.reduce((all, page) => all + page.cost, 0);
  const isUnpriced = pages.some((page) => page.isUnpriced);
  if (!cost) {
    return isUnpriced ? "?\u00a0$" : "";
  }
  return `${isUnpriced ? "≥" : ""}${pages.some((page) => page.isEstimated) ? "~" : ""}${cost.toFixed(2)}\u00a0$`;
}

/** Return the counts of a conversation, such as "1 prompt, 4 calls, 1 failed". */
function describeCounts(page: SitePage): string {
  const counts = [
    pluralize(page.prompts, "prompt"),
    pluralize(page.calls, "call"),
    page.failed ? `${page.failed.toLocaleString("en")} failed` : "",
    page.errors > page.failed ? pluralize(page.errors - page.failed, "error event") : "",
    page.tokens ? pluralize(page.tokens, "token") : "",
    formatCost([page]),
    page.isRepeated ? "duplicate recording of a session, not counted" : "",
  ];
  return counts.filter(Boolean).join(", ");
}

/** The page of an archive: search, totals, charts, and a card for each conversation. */
export function ArchiveIndex({ site, title, producer, lines }: Pick<Island, "title" | "producer" | "lines"> & { site: Site }) {
  const [typed, setTyped] = useState("");
  const [agent, setAgent] = useState("");
  const [project, setProject] = useState("");
  const [verdict, setVerdict] = useState("");
  const [sort, setSort] = useState<Sort>("start");
  const [limit, setLimit] = useState(BATCH_SIZE);
  const shown = useMemo(() => {
    const wanted = typed.toLowerCase();
    const matchesText = (page: SitePage) =>
      [page.title, page.name, page.agent, page.project, ...page.models].some((text) => text.toLowerCase().includes(wanted));
    return site.pages
      .filter(
        (page) =>
          (!wanted || matchesText(page)) &&
          (!agent || page.agent === agent) &&
          (!project || page.project === project) &&
          (!verdict || page.verdict === verdict),
      )
      .sort(comparePages(sort));
  }, [typed, agent, project, verdict, sort]);
  const counted = shown.filter((page) => !page.isRepeated);
  const sum = (name: "prompts" | "calls" | "failed" | "tokens") => counted.reduce((all, page) => all + page[name], 0);
  const cost = formatCost(counted);
  return (
    <div class="frame site">
      <header class="top">
        <h1>{title}</h1>
        <ThemeSwitch />
      </header>
      <main tabIndex={0} aria-label="Conversations">
        <div class="toolbar" role="search">
          <input
            type="search"
            aria-label="Search titles, names, agents, projects and models"
            placeholder="Search titles, projects, models"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <Choice label="Agent" values={site.pages.map((page) => page.agent)} value={agent} set={setAgent} />
          <Choice label="Project" values={site.pages.map((page) => page.project)} value={project} set={setProject} />
          <Choice label="Verdict" values={site.pages.map((page) => page.verdict)} value={verdict} set={setVerdict} />
          <select aria-label="Order" value={sort} onChange={(event) => setSort(event.currentTarget.value as Sort)}>
            {Object.entries(SORTS).map(([name, label]) => (
              <option value={name}>{label}</option>
            ))}
          </select>
        </div>
        <p class="count" role="status">
          {shown.length} of {site.pages.length} conversations · {sum("prompts").toLocaleString("en")} prompts ·{" "}
          {sum("calls").toLocaleString("en")} calls, {sum("failed").toLocaleString("en")} failed ·{" "}
          {sum("tokens").toLocaleString("en")} tokens
          {cost ? ` · ${cost}` : ""}
        </p>
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
        {lines && <Lines lines={lines} />}
        <p class="note">The verdicts here are from the time when this archive was built. Each page verifies its record again.</p>
        <ul class="cards">
          {shown.slice(0, limit).map((page) => (
            <li>
              <a href={page.href}>
                <h2>{makeVisible(page.title) || makeVisible(page.name)}</h2>
              </a>
              <p>
                <span class={`chip ${page.verdict}`} title={page.told}>
                  {VERDICT_LABELS[page.verdict]}
                </span>{" "}
                {[page.agent, page.models.join(", ")].filter(Boolean).map(makeVisible).join(" · ")}
                {page.start && (
                  <>
                    {" · "}
                    <time>{makeVisible(page.start)}</time>
                  </>
                )}
              </p>
              <p class="quiet">{makeVisible(page.project)}</p>
              <p class="quiet">{describeCounts(page)}</p>
            </li>
          ))}
        </ul>
        {!shown.length && (
          <p class="empty">
            No matches. This search covers titles, names, agents, projects and models. To search the conversations themselves,
            open a page, or run vacr show FOLDER --grep TEXT.
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
