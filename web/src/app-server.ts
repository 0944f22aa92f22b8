/** The server of the local app: its answers, and the token that it wants to see. */

import type { Island } from "./protocol";
import type { Day } from "./usage-chart";

const TOKEN_NAME = "vacr-token";

/** A conversation in the list. Times are in milliseconds since 1970, costs in dollars. */
export interface Conversation {
  record: number;
  session: string;
  agent: string;
  model: string;
  title: string;
  project: string;
  repo: string;
  branch: string;
  start_ms: number | null;
  end_ms: number | null;
  /** When it was last used: its last time, or when its file was written. */
  last_used_ms: number;
  duration_ms: number;
  prompts: number;
  calls: number;
  failed: number;
  added: number;
  removed: number;
  input: number;
  output: number;
  cost: number;
  is_estimated: number;
  is_unpriced: number;
}

export interface Facet {
  name: string;
  count: number;
}

export interface ConversationList {
  conversations: Conversation[];
  count: number;
  totals: { input: number; output: number; cost: number; is_estimated: boolean; is_unpriced: boolean };
}

/** The values to filter by, and the usage of each day by the chosen conversations. */
export interface ConversationOverview {
  facets: Record<"agent" | "repo" | "project" | "model", Facet[]>;
  days: Day[];
}

/** An entry that contains the words of a search. */
export interface Hit {
  record: number;
  session: string;
  place: string;
  kind: string;
  speaker: string;
  tool: string;
  time_ms: number | null;
  is_error: boolean;
  title: string;
  agent: string;
  project: string;
  snippet: { text: string; isWord: boolean }[];
  /** How many hits its conversation has; the answer has only the first. */
  count: number;
}

export interface SearchResult {
  hits: Hit[];
  count: number;
  conversations: number;
}

/** How far the index is. */
export interface AppState {
  version: number;
  done: number;
  total: number;
  is_ready: boolean;
  skipped: number;
  problem: string;
  keeping: Keeping;
}

/** The conversations that their agents will delete soon, and how far the app is in keeping them. */
export interface Keeping {
  count: number;
  /** The first of them, the most urgent first. */
  sessions: { session: string; agent: string; title: string; deleted_ms: number }[];
  /** Where the copies are. */
  folder: string;
  is_running: boolean;
  done: number;
  total: number;
  kept: number;
  failures: number;
  failed: { source: string; error: string; hint: string }[];
}

/** The version of a conversation: it changes when the conversation goes on. */
export interface ConversationVersion {
  version: string;
  /** The time of the last entry, or null. */
  end_ms: number | null;
}

/** The data of a conversation's page. */
export interface ConversationData {
  island: Island;
  records: string[];
  statements: (string | null)[];
}

/** Take the token out of the address, so that nobody copies it by accident; return the session that the address names. */
export function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token === null) return "";
  localStorage.setItem(TOKEN_NAME, token);
  history.replaceState(null, "", location.pathname);
  return given.get("session") ?? "";
}

/** Ask the server for data.
 *
 * @throws Error with a message for the reader, if the server is gone, the token is old, or the data cannot be read. */
export async function ask<Answer>(path: string, query: Record<string, string | number | null> = {}): Promise<Answer> {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return send(`${path}?${words}`, "GET");
}

/** Ask the server to do something; it answers with the new state.
 *
 * @throws Error like `ask`. */
export function act<Answer>(path: string): Promise<Answer> {
  return send(path, "POST");
}

async function send<Answer>(address: string, method: string): Promise<Answer> {
  let answer: Response;
  try {
    const headers = { Authorization: `Bearer ${localStorage.getItem(TOKEN_NAME) ?? ""}` };
    answer = await fetch(address, { method, headers });
  } catch {
    throw new Error("The app has ended. To start it again, run: vacr");
  }
  if (answer.status === 403)
    throw new Error("This address is from an earlier run. Run vacr again, and use the page that it opens.");
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}
