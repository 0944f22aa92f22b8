/** The header of the page: title, a line of facts, and the verdict. */

import type { ComponentChildren } from "preact";
import { spellCost } from "./costs";
import type { PageState } from "./page-state";
import type { Island, Session } from "./protocol";
import { makeVisible, truncate } from "./text";
import { formatDay, formatDuration, formatTime } from "./time";
import tables from "./tables.json";
import { type Headline, VerdictChip } from "./verdict";

const AGENT_NAMES: Record<string, string> = tables.agents;
const REVISION_LENGTH = 7;
const MAX_BRANCH = 30;
/** Stands for a model that the session does not name. */
export const UNKNOWN_MODEL = "unknown";

/** Return the name of the agent of a session as people write it; an unknown one as in the record. */
export function nameAgent(session: Session | undefined): string {
  return nameAgentProgram(session?.agent.split(" ")[0] ?? "");
}

/** Return the name of an agent's program as people write it; an unknown one as in the record. */
export function nameAgentProgram(name: string): string {
  return Object.hasOwn(AGENT_NAMES, name) ? AGENT_NAMES[name] : makeVisible(name);
}

/** Return the name of a model; "" if the record does not name it. */
export function nameModel(name: string): string {
  return name === UNKNOWN_MODEL ? "" : makeVisible(name);
}

interface Props {
  island: Island;
  state: PageState;
  headline: Headline | null;
  checks: boolean;
  toggleChecks: () => void;
  /** Buttons before and after the title. */
  before: ComponentChildren;
  after: ComponentChildren;
}

/** The header. A failed verification turns it red, and it says why. */
export function Header({ island, state, headline, checks, toggleChecks, before, after }: Props) {
  const isBad = headline?.look === "bad";
  return (
    <header class={isBad ? "top bad" : "top"}>
      {before}
      <div class="about">
        <h1 title={island.title}>{island.title}</h1>
        <Facts island={island} state={state} />
      </div>
      {island.isRunning && <span class="running">running</span>}
      <VerdictChip headline={headline} open={checks} toggle={toggleChecks} />
      {after}
      {isBad && (
        <p class="why" role="alert">
          {makeVisible(headline.why ?? headline.text)}
        </p>
      )}
    </header>
  );
}

/** A line of facts: agent, model, project, day, duration and cost. */
function Facts({ island, state }: { island: Island; state: PageState }) {
  const session = state.sessions[0] as Session | undefined;
  const { totals } = island;
  const facts: [string, string][] = [
    ["Agent", nameAgent(session)],
    ["Model", session?.models.map(nameModel).filter(Boolean).join(", ") ?? ""],
    ["Project", describeProject(session)],
    ["Started", describeStart(session)],
    ["Duration", totals && totals.milliseconds >= 1000 ? formatDuration(totals.milliseconds) : ""],
    ["Cost", totals?.price === "?" ? "" : spellCost(totals?.price ?? "")],
  ];
  const full: Record<string, string> = {
    Agent: session?.agent ?? "",
    Project: [session?.folder, session?.branch].filter(Boolean).join(", branch "),
    Cost: totals?.cost ?? "",
    Started: session?.start ?? "",
  };
  return (
    <p class="line-of-facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value], at) => (
          <>
            {at > 0 && <span aria-hidden="true"> · </span>}
            <span title={`${name}: ${makeVisible(full[name] || value)}`}>{value}</span>
          </>
        ))}
      {!session && !state.failed && <span>{totals ? " · " : ""}Reading …</span>}
    </p>
  );
}

/** Return the project as "invoice (main@4f2c1e9)"; "" if the folder is not known. */
function describeProject(session: Session | undefined): string {
  const name = session?.folder.split(/[\\/]/).findLast(Boolean) ?? "";
  const commit = session?.revision.slice(0, REVISION_LENGTH) ?? "";
  const version = [truncate(session?.branch ?? "", MAX_BRANCH), commit].filter(Boolean).join("@");
  return makeVisible(name && version ? `${name} (${version})` : name || version);
}

/** Return the start as "Sat 14 Mar 2026, 09:26"; "" if it is not known. */
function describeStart(session: Session | undefined): string {
  const start = formatTime(session?.start || null);
  return start && makeVisible(`${formatDay(start.slice(0, 10), "short")}, ${start.slice(11, 16)}`);
}
