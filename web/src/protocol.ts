/** The data in the page (the island), and the messages between the page and its worker. */

import type { Act } from "./acts";
import type { FileChange, Hunk } from "./file-changes";
import type { NamedCount } from "./named-counts";
import type { Filter } from "./row-filter";
import type { Row } from "./rows";
import type { Commit, TestRun } from "./shell-facts";
import type { Input } from "./tool-calls";
import type { Check, Party, Verdict } from "./verify";

/** The description of the page, written by `vacr.viewer.page`. The page computes everything it can from the records instead. */
export interface Island {
  title: string;
  /** The program that made the page, with its version. */
  producer: string;
  /** Public keys in COSE form, base64. */
  keys: string[];
  logKeys: string[];
  roots: boolean;
  entryRule: string;
  /** The signers, logs and witnesses in the trust store of the author that count for the records; the page contains no others. */
  parties: StoredParty[];
  logs: StoredParty[];
  witnesses: StoredParty[];
  witnessesRequired: number;
  timestamps: boolean;
  namesOnly: boolean;
  /** Whether the author trusts signers and logs, and how many witnesses, that the page does not contain. */
  lacksSigners: boolean;
  lacksLogs: boolean;
  witnessesLeftOut: number;
  filter: Filter | null;
  /** The totals, counted when the page was made, so that page and terminal show the same numbers. */
  totals: Totals | null;
  /** The lines of a range of commits, counted when the page was made; null without `--lines`. */
  lines: LineStatistics | null;
  records: ShownRecord[];
  /** The address of the archive index, or "" if the page is not part of an archive. */
  index: string;
  site?: Site;
  /** Whether the agent is still at work, as far as the local app can tell. */
  isRunning?: boolean;
  /** Whether this is the local app, which asks its server for conversations. */
  app?: boolean;
}

/** What the page knows of a record before it is read. */
export interface ShownRecord {
  name: string;
  verification: StoredVerification | null;
  /** Whether vacr made the record from a session just now, so that it is not a file that somebody sent. */
  isSession?: boolean;
}

/** A person or a service in the trust store; its keys in COSE form, base64. */
export interface StoredParty extends Omit<Party, "keys" | "noteKey"> {
  keys: string[];
  /** The key of a log's checkpoints or of a witness, as it is published. */
  noteKey: string | null;
}

/** The result of the verification by `vacr view` when it made the page. */
export interface StoredVerification {
  verified: boolean;
  /** Whether the author of the page trusts the signer; false if only the key in the statement verified it. */
  trusted: boolean;
  message: string;
  checks: Check[];
  /** How the id of a modified record contradicts its content; absent for all others. */
  modified?: string;
}

/** The index of an archive. */
export interface Site {
  pages: SitePage[];
}

/** A conversation in the index of an archive. */
export interface SitePage {
  href: string;
  name: string;
  title: string;
  agent: string;
  models: string[];
  /** The folder. */
  project: string;
  /** The git remote, or "". */
  repo: string;
  start: string;
  prompts: number;
  calls: number;
  /** Failed calls, and events that report an error. */
  errors: number;
  /** The failed calls alone. */
  failed: number;
  /** The lines that calls added and removed. */
  added: number;
  removed: number;
  milliseconds: number;
  tokens: number;
  /** The output tokens of each model. */
  spent: NamedCount[];
  /** The calls of each tool. */
  tools: NamedCount[];
  cost: number;
  /** Whether the cost is, at least in part, an estimate from list prices. */
  isEstimated: boolean;
  /** Whether the cost lacks the tokens of a model without a price. */
  isUnpriced: boolean;
  /** Whether a better recording of the same session has a card as well; then only that one counts. */
  isRepeated: boolean;
  verdict: "verified" | "signed" | "failed" | "unsigned";
  /** The reason for the verdict. */
  told: string;
}

/** Lines by contributor, and how many of the ai lines are still there later. */
export interface LineCounts {
  ai: number;
  human: number;
  mixed: number;
  unknown: number;
  survival: {
    days: number;
    /** The ai lines that are old enough. */
    lines: number;
    survived: number;
    /** The ai lines that are not. */
    young: number;
  }[];
}

/** The groups of lines by author, agent, model, folder or week. */
export interface LineGroups {
  by: string;
  /** How many there are; the page may have fewer. */
  count: number;
  rows: (LineCounts & { name: string })[];
}

/** The lines that the commits of a range added. */
export interface LineStatistics {
  range: string;
  commits: number;
  total: LineCounts;
  groups: LineGroups[];
}

export interface PageRow extends Row {
  /** The index of its record in the page. */
  session: number;
  /** The fragment of a link to it. */
  anchor: string;
  /** The effect of a call; an ordinary call for all other rows. */
  act: Act;
  /** The tests that a shell call ran, or null. */
  tests: TestRun | null;
  /** The commit that a shell call made, or null. */
  commit: Commit | null;
  /** Whether it ran `git commit`, and the record does not show how that ended. */
  isCommitUnclear: boolean;
}

export interface Totals {
  prompts: number;
  calls: number;
  /** Failed calls, and events that report an error. */
  errors: number;
  /** The failed calls alone. */
  failed: number;
  input: number;
  output: number;
  /** The cost as text: stated, estimated with the date of the prices, and models without a price. */
  cost: string;
  /** The cost in short, such as "~$1.20"; "" if it is not known. */
  price?: string;
  milliseconds: number;
  files: number;
  added: number;
  removed: number;
  /** The calls of each tool. */
  tools: NamedCount[];
  /** The output tokens of each model. */
  models: NamedCount[];
}

export interface Session {
  name: string;
  sessionId: string;
  agent: string;
  models: string[];
  folder: string;
  branch: string;
  revision: string;
  start: string;
  recorder: string;
  version: string;
  id: string;
  parent: string;
  size: number;
}

/** A range of lines by one author. */
export interface Range {
  start: number;
  end: number;
  type: string;
  model: string;
  evidence: string;
  hash: string;
  /** The entries that wrote the lines. */
  entries: string[];
}

export interface AttributedFile {
  session: number;
  path: string;
  /** Whether the session shows the whole file. */
  complete: boolean;
  ranges: Range[];
  /** Entries that changed the file at an unknown position. */
  unplaced: string[];
}

/** A part of the timeline. */
export interface Bucket {
  /** The index of its first row, or -1. */
  first: number;
  /** The index of the row that matters most: a failure, a prompt, a commit, or else the first row; -1 if it has no rows. */
  main: number;
  rows: number;
  tokens: number;
  errors: number;
  prompts: number;
  commits: number;
}

/** The story of the conversation, by the indexes of its rows; -1 if there is no such row. */
export interface Story {
  /** The first prompt that got an answer, or else the first prompt. */
  asked: number;
  /** The first message of a parent agent, if no person wrote a prompt. */
  task: number;
  /** The last answer. */
  outcome: number;
  /** The prompt that the last answer follows. */
  answered: number;
  /** The number of tool calls after the last answer. */
  laterCalls: number;
  /** The number of prompts after the last answer. */
  unanswered: number;
  /** The last run of tests. */
  tests: number;
  /** The commits, in order. */
  commits: number[];
  /** The last call that ran `git commit` and does not show how that ended, or -1. */
  unclearCommit: number;
}

export interface Overview {
  sessions: Session[];
  story: Story;
  /** The files that the calls changed, with their changes over the whole session. */
  changes: FileChange[];
  totals: Totals;
  buckets: Bucket[];
  /** The number of the bucket that shows each row. */
  bucketOfRow: number[];
  /** The first and the last time, if the buckets are spans of time. Long pauses are shortened in them. */
  span: [string, string] | null;
  files: AttributedFile[];
  tools: [string, number][];
  count: number;
}

/** A message from the page to the worker. */
export type WorkerRequest =
  | { do: "open"; island: Island; records: string[]; statements: (string | null)[] }
  | { do: "filter"; number: number; filter: Filter }
  | { do: "lines"; key: string; session: number; entries: string[]; count: number; hash: string }
  | { do: "hunks"; file: number }
  | { do: "inputs"; session: number; place: string }
  | { do: "raw"; session: number; places: string[] };

/** A message from the worker to the page. */
export type WorkerReply =
  | { is: "verdicts"; verdicts: Verdict[] }
  | { is: "sessions"; sessions: Session[] }
  | { is: "overview"; overview: Overview }
  | { is: "rows"; rows: PageRow[]; done: boolean }
  | { is: "matches"; number: number; rows: number[] }
  | { is: "lines"; key: string; lines: string[] | null }
  | { is: "hunks"; file: number; hunks: Hunk[] }
  | { is: "inputs"; session: number; place: string; inputs: Input[] }
  | { is: "raw"; session: number; places: string[]; text: string }
  | { is: "failed"; message: string };
