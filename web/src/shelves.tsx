/** Lists of conversations, grouped by project, and the hits of a search in them: in the local app and in the index of an archive. */

import { type ComponentChildren, toChildArray } from "preact";
import { explainCost, spellCost } from "./costs";
import { nameAgentProgram, nameModel } from "./header";
import { LineCounts } from "./line-counts";
import { formatNumber, makeVisible, pluralize } from "./text";
import { formatDuration } from "./time";

/** A conversation in a list. */
export interface Tile {
  key: string;
  href: string;
  title: string;
  /** The repository or the folder; "" if neither is known. */
  project: string;
  agent: string;
  model: string;
  calls: number;
  failed: number;
  added: number;
  removed: number;
  milliseconds: number;
  /** The cost as text, or "". */
  cost: string;
  /** When it was last used, in milliseconds since 1970; null if that is not known. */
  when: number | null;
  isRunning: boolean;
  /** The verdict, with the class of its look and the reason. */
  verdict?: { text: string; look: string; reason: string };
  /** A remark, or "". */
  note?: string;
}

/** An entry that contains the words of a search. */
export interface TileHit {
  /** The fragment of a link to the entry. */
  place: string;
  /** Who speaks, or the tool. */
  label: string;
  isError: boolean;
  snippet: { text: string; isWord: boolean }[];
}

interface Props {
  tiles: Tile[];
  /** Whether there is a heading for each project. */
  grouped: boolean;
  /** Whether more conversations would follow: then nobody knows how many a project has. */
  cut?: boolean;
  /** How many conversations to draw; all of them count in the headings. */
  limit?: number;
  /** Opens a conversation without leaving the page; otherwise the link does. */
  open?: (key: string) => void;
}

const NO_PROJECT = "No project";

/** The conversations by project, the project of the first one first; those without a project come last. */
export function Shelves({ tiles, grouped, cut = false, limit = Infinity, open }: Props) {
  const groups = new Map<string, Tile[]>();
  const drawn = new Set(tiles.slice(0, limit));
  for (const tile of tiles) {
    const name = grouped ? tile.project || NO_PROJECT : "";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push(tile);
  }
  const rest = groups.get(NO_PROJECT);
  if (rest && groups.delete(NO_PROJECT)) groups.set(NO_PROJECT, rest);
  return (
    <div class="cards">
      {[...groups]
        .filter(([, group]) => drawn.has(group[0]))
        .map(([name, group]) => (
          <section class="shelf" aria-label={makeVisible(name) || "Conversations"}>
            {name && (
              <h2 title={makeVisible(name)}>
                {shortenName(makeVisible(name))} {!cut && <small>{pluralize(group.length, "conversation")}</small>}
              </h2>
            )}
            <ul>
              {group
                .filter((tile) => drawn.has(tile))
                .map((tile) => (
                  <li>
                    <TileView tile={tile} open={open} />
                  </li>
                ))}
            </ul>
          </section>
        ))}
    </div>
  );
}

/** A line about a conversation; a click opens it. */
function TileView({ tile, open }: { tile: Tile; open?: (key: string) => void }) {
  const { calls, failed, added, removed, verdict } = tile;
  return (
    <a class="tile" href={tile.href} onClick={(event) => open && followHere(event, () => open(tile.key))}>
      <span class="name">{makeVisible(tile.title) || "Without a prompt"}</span>
      <When tile={tile} />
      <span class="facts">
        {verdict && (
          <>
            <span class={`chip ${verdict.look}`} title={makeVisible(verdict.reason)}>
              {verdict.text}
            </span>{" "}
          </>
        )}
        <Facts>
          {nameAgentProgram(tile.agent)}
          {nameModel(tile.model)}
          {calls > 0 && (
            <>
              {pluralize(calls, "call")}
              {failed > 0 && (
                <>
                  , <span class="bad">{formatNumber(failed)} failed</span>
                </>
              )}
            </>
          )}
          {added + removed > 0 && (
            <>
              <LineCounts added={added} removed={removed} />
            </>
          )}
          {tile.milliseconds >= 1000 && formatDuration(tile.milliseconds)}
          {tile.cost && <span title={explainCost(tile.cost)}>{spellCost(tile.cost)}</span>}
          {tile.note}
        </Facts>
      </span>
    </a>
  );
}

/** Facts in a row with dots between them; none breaks over two lines. */
function Facts({ children }: { children: ComponentChildren }) {
  const facts = toChildArray(children).filter((fact) => fact !== "");
  return (
    <>
      {facts.map((fact, at) => (
        <>
          <span class="fact">
            {fact}
            {at < facts.length - 1 && " ·"}
          </span>{" "}
        </>
      ))}
    </>
  );
}

// A format takes long to make, so each is made once, when it is first used.
let moments: Intl.DateTimeFormat | undefined;
let shortNumbers: Intl.NumberFormat | undefined;
const MOMENT_PARTS = {
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
} as const;

/** When a conversation was last used, or that it is running. */
function When({ tile }: { tile: Tile }) {
  if (tile.when === null) return null;
  const time = new Date(tile.when);
  moments ??= new Intl.DateTimeFormat(undefined, MOMENT_PARTS);
  return (
    <time class={tile.isRunning ? "when running" : "when"} dateTime={time.toISOString()} title={moments.format(time)}>
      {tile.isRunning ? "running" : formatAge(tile.when)}
    </time>
  );
}

const MAX_HITS = 3;

interface HitsProps {
  count: number;
  /** The conversations with hits, and how many. */
  conversations: number;
  groups: HitGroupData[];
  open?: (key: string, place: string) => void;
  /** Asks for more conversations; absent if all are here. */
  more?: () => void;
}

interface HitGroupData {
  tile: Tile;
  hits: TileHit[];
  /** How many hits the conversation has, if they are not all here. */
  total?: number;
}

/** The hits of a search by conversation; a click leads to the entry. */
export function HitList({ count, conversations, groups, open, more }: HitsProps) {
  if (!count) return <p class="empty">No matches.</p>;
  return (
    <section class="shelf hits" aria-label="Matches">
      <h2>
        {pluralize(count, "hit")} in {pluralize(conversations, "conversation")}
      </h2>
      <ul>
        {groups.map((group) => (
          <li>
            <HitGroup {...group} open={open} />
          </li>
        ))}
      </ul>
      {more && (
        <button type="button" class="more" onClick={more}>
          Show more of {pluralize(conversations, "conversation")}
        </button>
      )}
    </section>
  );
}

/** A conversation with its first hits. */
function HitGroup({ tile, hits, total = hits.length, open }: HitGroupData & { open?: HitsProps["open"] }) {
  return (
    <>
      <div class="tile">
        <span class="name">{makeVisible(tile.title) || "Without a prompt"}</span>
        <When tile={tile} />
        <span class="facts">
          <Facts>
            {nameAgentProgram(tile.agent)}
            {shortenName(makeVisible(tile.project))}
            {total > MAX_HITS && pluralize(total, "hit")}
          </Facts>
        </span>
      </div>
      {hits.slice(0, MAX_HITS).map((hit) => (
        <a
          class="hit"
          href={`${tile.href}#${encodeURIComponent(hit.place)}`}
          onClick={(event) => open && followHere(event, () => open(tile.key, hit.place))}
        >
          <span class="label">
            <span class="tool">{makeVisible(hit.label)}</span> {hit.isError && <span class="bad">failed</span>}
          </span>
          <span class="snippet">
            {hit.snippet.map(({ text, isWord }) => (isWord ? <mark>{makeVisible(text)}</mark> : makeVisible(text)))}
          </span>
        </a>
      ))}
    </>
  );
}

/** Follow a link inside the app, unless the reader wants a new tab or window. */
export function followHere(event: MouseEvent, act: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  act();
}

/** Return the last two parts of a path or an address, with the separator of the path: `/`, or `\\` in one of Windows. */
function shortenName(name: string): string {
  const parts = name.split(/[/\\]/).filter(Boolean).slice(-2);
  return parts.join(name.includes("/") ? "/" : "\\") || name;
}

/** Return how long ago a time was, from a day on by the calendar of the reader, or its date if that is a week or more. */
export function formatAge(time: number): string {
  const now = Date.now();
  const minutes = Math.floor((now - time) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  // Rounded, because a day on which clocks change is longer or shorter.
  const days = Math.round((findMidnight(now) - findMidnight(time)) / 86_400_000);
  if (days < 7) return days === 1 ? "yesterday" : `${days} days ago`;
  const date = new Date(time);
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${date.getFullYear()}-${month}-${day}`;
}

/** Return the start of the day of a time, in the time zone of the reader. */
function findMidnight(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

/** Return a number in short, such as "1.3M". */
export function shortenNumber(value: number): string {
  shortNumbers ??= new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  return shortNumbers.format(value);
}
