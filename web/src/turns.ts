/**
 * The conversation as the items of a list. Rows that belong together fold into one item:
 *
 * - a group: the calls and thoughts of an agent between two messages ("12 reads · 3 edits · 1 command failed"),
 * - context: consecutive messages of the host and events,
 * - a sub-agent: its whole conversation.
 *
 * An open item is followed by the items inside it. A turn is a prompt and everything until the next one.
 */

import type { PageRow } from "./protocol";
import { isEmptyAnswer, isPrompt } from "./rows";
import { formatTime, toMilliseconds } from "./time";

export interface Item {
  is: "row" | "group" | "context" | "agent";
  /** A name that stays the same while the list changes. */
  key: string;
  /** The index of the first row. */
  at: number;
  /** The indexes of all rows in it. */
  members: number[];
  open: boolean;
  /** How deep it is inside other items. */
  level: number;
  /** Whether the agent begins to speak here, after somebody else. */
  isFirst: boolean;
  /** The model, where it is not the same as before; "" otherwise. */
  model: string;
  /** The day, where a new one begins; "" otherwise. */
  day: string;
}

export interface ItemList {
  items: Item[];
  /** The position of each item, by its key. */
  positions: Map<string, number>;
  /** The keys of the items around a row that exist so far, outermost first. */
  containers: Map<number, string[]>;
}

export interface Turns {
  /** The prompt of the turn of each row, or -1 before the first. */
  prompts: number[];
  /** The number of each turn, by its prompt. */
  numbers: Map<number, number>;
}

/** How many rows away the model of a row may be named. */
const MODEL_DISTANCE = 6;

interface Options {
  /** Whether to show all rows without folding them, as for a search. */
  flat: boolean;
  /** Whether folded items are open unless the reader closed them. */
  openAll: boolean;
  opened: Map<string, boolean>;
}

/** Return the key of the item of a row. */
export function rowKey(at: number): string {
  return String(at);
}

/** Return the turns of a conversation. The prompts of sub-agents do not begin a turn. */
export function findTurns(rows: PageRow[]): Turns {
  const numbers = new Map<number, number>();
  let prompt = -1;
  const prompts = rows.map((row, at) => {
    if (isPrompt(row) && !row.agent && !row.isRepeated) {
      prompt = at;
      numbers.set(at, numbers.size + 1);
    }
    return prompt;
  });
  return { prompts, numbers };
}

/** Return the time of a row since the prompt of its turn, in milliseconds; null if it is not known, or before it. */
export function measureSince(rows: PageRow[], turns: Turns, at: number): number | null {
  const prompt = rows[turns.prompts[at]];
  const [begin, time] = [toMilliseconds(prompt?.time), toMilliseconds(rows[at].time)];
  return begin === null || time === null || time < begin ? null : time - begin;
}

/** Build the items of the rows to show. */
export function buildItems(rows: PageRow[], shown: number[], options: Options): ItemList {
  const builder = new Builder(rows, options);
  if (options.flat) for (const at of shown) builder.addRow(at, 0);
  else builder.addAgents(shown);
  return { items: builder.items, positions: builder.positions, containers: builder.containers };
}

/** Return whether a row is in the background: a message of the host, an answer without content, or an event without error. */
function isQuiet(row: PageRow): boolean {
  if (isEmptyAnswer(row)) return true;
  if (row.kind === "user") return !isPrompt(row) && row.speaker !== "parent-agent";
  return row.kind === "event" && !row.isError;
}

/** Return whether a row is an action: a call or a thought. */
function isAction(row: PageRow): boolean {
  return row.kind === "tool" || row.kind === "reasoning";
}

/** Builds items in order; it remembers who spoke, the model and the day. */
class Builder {
  readonly items: Item[] = [];
  readonly positions = new Map<string, number>();
  readonly containers = new Map<number, string[]>();
  private path: string[] = [];
  private speaker = "";
  private model = "";
  private day = "";

  constructor(
    private readonly rows: PageRow[],
    private readonly options: Options,
  ) {}

  /** Add rows; consecutive rows of one sub-agent become one item. */
  addAgents(shown: number[]): void {
    for (let start = 0; start < shown.length;) {
      const { agent } = this.rows[shown[start]];
      let end = start + 1;
      while (end < shown.length && this.rows[shown[end]].agent === agent) end++;
      const run = shown.slice(start, end);
      if (agent) this.addFolded("agent", run, 0, () => this.addRuns(run, 1));
      else this.addRuns(run, 0);
      start = end;
    }
  }

  /** Add the rows of one agent: messages as rows, and everything between them folded. */
  private addRuns(members: number[], level: number): void {
    let run: number[] = [];
    for (const at of members) {
      const row = this.rows[at];
      if (isAction(row) || isQuiet(row)) {
        run.push(at);
        continue;
      }
      this.addRun(run, level);
      run = [];
      this.addRow(at, level);
    }
    this.addRun(run, level);
  }

  /** Add the rows between two messages. A single action needs no group, and hides the events around it. */
  private addRun(run: number[], level: number): void {
    if (!run.length) return;
    const actions = run.filter((at) => isAction(this.rows[at]));
    if (!actions.length) this.addFolded("context", run, level, () => this.addAll(run, level + 1));
    else if (actions.length > 2 || run.some((at) => this.rows[at].kind === "user"))
      this.addFolded("group", run, level, () => this.addMembers(run, level + 1));
    else if (this.options.openAll) this.addMembers(run, level);
    else this.addAll(actions, level);
  }

  /** Add the rows of an open group, with the events in it as context. */
  private addMembers(run: number[], level: number): void {
    for (let start = 0; start < run.length;) {
      let end = start;
      while (end < run.length && isQuiet(this.rows[run[end]])) end++;
      const quiet = run.slice(start, end);
      if (quiet.length) this.addFolded("context", quiet, level, () => this.addAll(quiet, level + 1));
      else this.addRow(run[end++], level);
      start = end;
    }
  }

  private addAll(members: number[], level: number): void {
    for (const at of members) this.addRow(at, level);
  }

  /** Add an item that folds rows and, if it is open, the items inside it. */
  private addFolded(is: "group" | "context" | "agent", members: number[], level: number, addInside: () => void): void {
    const key = `${is}-${members[0]}`;
    const open = this.options.opened.get(key) ?? this.options.openAll;
    const first = members.find((at) => isAction(this.rows[at])) ?? members[0];
    this.add(is, key, first, members, open, level);
    this.path.push(key);
    for (const at of members) this.containers.set(at, [...this.path]);
    if (open) addInside();
    this.path.pop();
  }

  /** Add the item of one row. */
  addRow(at: number, level: number): void {
    this.add("row", rowKey(at), at, [at], false, level);
  }

  private add(is: Item["is"], key: string, at: number, members: number[], open: boolean, level: number): void {
    const row = this.rows[at];
    const isAgents = is === "group" || (is === "row" && (isAction(row) || row.kind === "assistant"));
    const isMessage = is === "row" && row.kind === "user" && !isQuiet(row);
    const speaker = isAgents ? `agent ${row.agent}` : isMessage ? "user" : this.speaker;
    const isFirst = isAgents && speaker !== this.speaker;
    this.speaker = speaker;
    const made = isAgents ? this.findModel(at) : "";
    const model = made === this.model ? "" : made;
    if (model) this.model = model;
    const day = formatTime(row.time).slice(0, 10);
    const isNewDay = day !== "" && day !== this.day && level === 0;
    if (isNewDay) this.day = day;
    this.positions.set(key, this.items.length);
    this.items.push({ is, key, at, members, open, level, isFirst, model, day: isNewDay ? day : "" });
  }

  /** Return the model of a row or, where an entry does not name it, of the next row that does; "" if none is near. */
  private findModel(at: number): string {
    const { agent } = this.rows[at];
    const near = this.rows.slice(at, at + MODEL_DISTANCE);
    return near.find((row) => row.model && row.kind !== "user" && row.agent === agent)?.model ?? "";
  }
}
