/** What page and worker say to each other, and what is in the page beside the viewer: the island. */

import type { Filter } from "./filters";
import type { Input } from "./inputs";
import type { Row } from "./rows";
import type { Sum } from "./sums";
import type { Check, Verdict } from "./verifying";

/** The page's own description, as `vacr.viewer.page` writes it. Nothing in it is believed that can be found out from the bytes. */
export interface Island {
  title: string;
  made: string;
  /** Public keys in COSE form, base64. */
  keys: string[];
  logKeys: string[];
  roots: boolean;
  entryRule: string;
  filter: Filter | null;
  records: { name: string; found: Found | null }[];
  /** Where the index is of the archive that the page is in. */
  index: string;
  site?: Site;
}

/** What `vacr view` found when it made the page. */
export interface Found {
  verified: boolean;
  message: string;
  checks: Check[];
}

export interface Site {
  pages: SitePage[];
}

export interface SitePage {
  href: string;
  name: string;
  title: string;
  agent: string;
  models: string[];
  project: string;
  start: string;
  prompts: number;
  calls: number;
  errors: number;
  tokens: number;
  /** Of each model, the output tokens; of each tool, the calls. */
  spent: Sum[];
  tools: Sum[];
  cost: number;
  verdict: "verified" | "signed" | "failed" | "unsigned";
  told: string;
}

export interface Shown extends Row {
  /** Which of the page's records it is in. */
  session: number;
  /** What a link to it names. */
  anchor: string;
}

export interface Totals {
  prompts: number;
  calls: number;
  errors: number;
  input: number;
  output: number;
  cost: number;
  milliseconds: number;
  /** The calls of each tool. */
  tools: Sum[];
  /** The output tokens of each model. */
  models: Sum[];
}

export interface Session {
  name: string;
  sessionId: string;
  agent: string;
  models: string[];
  folder: string;
  start: string;
  recorder: string;
  version: string;
  id: string;
  parent: string;
  size: number;
}

export interface Range {
  start: number;
  end: number;
  type: string;
  model: string;
  evidence: string;
  hash: string;
  entries: string[];
}

export interface AttributedFile {
  session: number;
  path: string;
  complete: boolean;
  ranges: Range[];
  /** Entries that changed it at a place that is not known. */
  loose: string[];
}

export interface Bucket {
  first: number;
  rows: number;
  tokens: number;
  errors: number;
  prompts: number;
}

export interface Overview {
  sessions: Session[];
  totals: Totals;
  buckets: Bucket[];
  span: [string, string] | null;
  files: AttributedFile[];
  tools: [string, number][];
  count: number;
}

export type Asked =
  | { do: "open"; island: Island; records: string[]; statements: (string | null)[] }
  | { do: "choose"; ask: number; filter: Filter }
  | { do: "lines"; key: string; session: number; entries: string[]; count: number; hash: string }
  | { do: "inputs"; session: number; place: string }
  | { do: "raw"; session: number; places: string[] };

export type Told =
  | { is: "verdicts"; verdicts: Verdict[] }
  | { is: "overview"; overview: Overview }
  | { is: "rows"; rows: Shown[]; done: boolean }
  | { is: "chosen"; ask: number; rows: number[] }
  | { is: "lines"; key: string; lines: string[] | null }
  | { is: "inputs"; session: number; place: string; inputs: Input[] }
  | { is: "raw"; session: number; places: string[]; text: string }
  | { is: "failed"; told: string };
