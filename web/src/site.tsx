/** The index of an archive: all its conversations, with search. */

import { useMemo, useState } from "preact/hooks";
import { Bars, Charts } from "./bars";
import { ThemeSwitch } from "./frame";
import type { Site, SitePage } from "./protocol";
import { summed } from "./sums";
import { visible } from "./texts";

const VERDICTS = { verified: "✓ verified", signed: "signed", failed: "✗ does not hold", unsigned: "not signed" } as const;
const SORTS = { start: "newest first", cost: "cost", tokens: "tokens", errors: "failures", name: "name" } as const;
/** An archive may hold thousands, and a browser is slow to lay out that many. */
const AT_ONCE = 200;
type Sort = keyof typeof SORTS;

function compare(sort: Sort): (one: SitePage, other: SitePage) => number {
  if (sort === "name") return (one, other) => one.name.localeCompare(other.name);
  if (sort === "start") return (one, other) => other.start.localeCompare(one.start);
  return (one, other) => other[sort] - one[sort];
}

function Choice({ label, values, value, set }: { label: string; values: string[]; value: string; set: (value: string) => void }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{label}: all</option>
      {[...new Set(values)]
        .filter(Boolean)
        .sort()
        .map((one) => (
          <option value={one}>{visible(one)}</option>
        ))}
    </select>
  );
}

function counted(page: SitePage): string {
  const many = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const told = [
    many(page.prompts, "prompt"),
    many(page.calls, "call"),
    page.errors ? `${page.errors} failed` : "",
    page.tokens ? many(page.tokens, "token") : "",
    page.cost ? `${page.cost.toFixed(2)} $` : "",
  ];
  return told.filter(Boolean).join(", ");
}

export function SiteIndex({ site, title, made }: { site: Site; title: string; made: string }) {
  const [typed, setTyped] = useState("");
  const [agent, setAgent] = useState("");
  const [project, setProject] = useState("");
  const [verdict, setVerdict] = useState("");
  const [sort, setSort] = useState<Sort>("start");
  const [most, setMost] = useState(AT_ONCE);
  const shown = useMemo(() => {
    const wanted = typed.toLowerCase();
    const has = (page: SitePage) =>
      [page.title, page.name, page.agent, page.project, ...page.models].some((text) => text.toLowerCase().includes(wanted));
    return site.pages
      .filter(
        (page) =>
          (!wanted || has(page)) &&
          (!agent || page.agent === agent) &&
          (!project || page.project === project) &&
          (!verdict || page.verdict === verdict),
      )
      .sort(compare(sort));
  }, [typed, agent, project, verdict, sort]);
  const sum = (name: "prompts" | "calls" | "errors" | "tokens" | "cost") => shown.reduce((all, page) => all + page[name], 0);
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
            {Object.entries(SORTS).map(([name, told]) => (
              <option value={name}>{told}</option>
            ))}
          </select>
        </div>
        <p class="count" role="status">
          {shown.length} of {site.pages.length} conversations · {sum("prompts").toLocaleString("en")} prompts ·{" "}
          {sum("calls").toLocaleString("en")} calls, {sum("errors").toLocaleString("en")} failed ·{" "}
          {sum("tokens").toLocaleString("en")} tokens{sum("cost") ? ` · ${sum("cost").toFixed(2)} $` : ""}
        </p>
        <Charts>
          <Bars title="Tokens of each agent" bars={summed(shown.map((page) => ({ name: page.agent, value: page.tokens })))} />
          <Bars
            days
            title="Tokens of each day"
            bars={summed(shown.map((page) => ({ name: page.start.slice(0, 10), value: page.tokens })))}
          />
          <Bars title="Output tokens of each model" bars={summed(shown.flatMap((page) => page.spent))} />
          <Bars title="Calls of each tool" bars={summed(shown.flatMap((page) => page.tools))} />
        </Charts>
        <p class="note">What it says of each was found by vacr when the archive was made. Each page verifies its record again.</p>
        <ul class="cards">
          {shown.slice(0, most).map((page) => (
            <li>
              <a href={page.href}>
                <h2>{visible(page.title) || visible(page.name)}</h2>
              </a>
              <p>
                <span class={`chip ${page.verdict}`} title={page.told}>
                  {VERDICTS[page.verdict]}
                </span>{" "}
                {[page.agent, page.models.join(", ")].filter(Boolean).map(visible).join(" · ")}
                {page.start && (
                  <>
                    {" · "}
                    <time>{visible(page.start)}</time>
                  </>
                )}
              </p>
              <p class="quiet">{visible(page.project)}</p>
              <p class="quiet">{counted(page)}</p>
            </li>
          ))}
        </ul>
        {!shown.length && (
          <p class="empty">
            None is what was asked for. This looks for titles, names, agents, projects and models; what was said and done is
            searched in each page, and in all of them by vacr show FOLDER --grep TEXT.
          </p>
        )}
        {shown.length > most && (
          <button type="button" onClick={() => setMost(most + AT_ONCE)}>
            Show {Math.min(AT_ONCE, shown.length - most)} more
          </button>
        )}
        <footer>Made by {made}. Nothing in this page comes from a network.</footer>
      </main>
    </div>
  );
}
