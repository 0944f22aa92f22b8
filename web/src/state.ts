/** What the page knows, filled by its worker, and what is chosen of it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { EVERYTHING, type Filter } from "./filters";
import type { Input } from "./inputs";
import type { Asked, AttributedFile, Island, Overview, Range, Shown, Told } from "./protocol";
import type { Verdict } from "./verifying";

export type Detail = "brief" | "normal" | "full";
export const DETAILS: Detail[] = ["brief", "normal", "full"];

export interface State {
  rows: Shown[];
  done: boolean;
  overview: Overview | null;
  verdicts: Verdict[] | null;
  failed: string;
  filter: Filter;
  setFilter: (filter: Filter) => void;
  detail: Detail;
  setDetail: (detail: Detail) => void;
  /** The numbers of the rows that are shown. */
  shown: number[];
  /** The JSON of an entry, once it was asked for. */
  raw: Map<string, string>;
  askRaw: (row: Shown) => void;
  /** What a call was given, once it was asked for. */
  inputs: Map<string, Input[]>;
  askInputs: (row: Shown) => void;
  /** The text of lines that an attribution names, once it was asked for. */
  lines: Map<string, string[] | null>;
  askLines: (file: AttributedFile, range: Range) => void;
  folded: Set<string>;
  fold: (agent: string) => void;
}

export function rawKey(session: number, places: string[]): string {
  return `${session}:${places.join()}`;
}

export function linesKey(file: AttributedFile, range: Range): string {
  return `${file.session}:${file.path}:${range.start}`;
}

export function placesOf(row: Shown): string[] {
  return row.result ? [row.place, row.result.place] : [row.place];
}

export function useRecords(island: Island, worker: Worker): State {
  const [rows, setRows] = useState<Shown[]>([]);
  const [done, setDone] = useState(false);
  const [overview, setOverview] = useState<Overview | null>(null);
  const [verdicts, setVerdicts] = useState<Verdict[] | null>(null);
  const [failed, setFailed] = useState("");
  const [filter, setFilter] = useState<Filter>(island.filter ?? EVERYTHING);
  const [detail, setDetail] = useState<Detail>("normal");
  const [chosen, setChosen] = useState<number[] | null>(null);
  const [raw, setRaw] = useState(new Map<string, string>());
  const [inputs, setInputs] = useState(new Map<string, Input[]>());
  const [lines, setLines] = useState(new Map<string, string[] | null>());
  const [folded, setFolded] = useState(new Set<string>());
  const asks = useRef(0);

  const say = (asked: Asked) => worker.postMessage(asked);
  useEffect(() => {
    const whole: Shown[] = [];
    worker.onmessage = ({ data }: MessageEvent<Told>) => {
      if (data.is === "verdicts") setVerdicts(data.verdicts);
      else if (data.is === "overview") setOverview(data.overview);
      else if (data.is === "rows") {
        for (const row of data.rows) whole.push(row);
        if (whole.length === data.rows.length || data.done) setRows(whole.slice());
        if (data.done) setDone(true);
      } else if (data.is === "chosen") {
        if (data.ask === asks.current) setChosen(data.rows);
      } else if (data.is === "lines") setLines((known) => new Map(known).set(data.key, data.lines));
      else if (data.is === "inputs") setInputs((known) => new Map(known).set(rawKey(data.session, [data.place]), data.inputs));
      else if (data.is === "raw") setRaw((known) => new Map(known).set(rawKey(data.session, data.places), data.text));
      else setFailed(data.told);
    };
    worker.onerror = (event) => setFailed(event.message || "the worker could not be started");
  }, []);
  useEffect(() => {
    if (!done) return;
    asks.current += 1;
    say({ do: "choose", ask: asks.current, filter });
  }, [filter, done]);

  const shown = useMemo(() => {
    const candidates = chosen ?? rows.flatMap((row, at) => (row.isRepeated ? [] : [at]));
    return folding(
      candidates.filter((at) => rows[at] && isDetailed(rows[at], detail, filter)),
      rows,
      folded,
    );
  }, [rows, chosen, detail, filter, folded]);

  return {
    rows,
    done,
    overview,
    verdicts,
    failed,
    filter,
    setFilter,
    detail,
    setDetail,
    shown,
    raw,
    inputs,
    lines,
    folded,
    askInputs: (row) => say({ do: "inputs", session: row.session, place: row.place }),
    askRaw: (row) => say({ do: "raw", session: row.session, places: placesOf(row) }),
    askLines: (file, range) =>
      say({
        do: "lines",
        key: linesKey(file, range),
        session: file.session,
        entries: range.entries,
        count: range.end - range.start + 1,
        hash: range.hash,
      }),
    fold: (agent) =>
      setFolded((known) => (known.has(agent) ? new Set([...known].filter((one) => one !== agent)) : new Set([...known, agent]))),
  };
}

/** Tell whether a row is shown in a detail; what is asked for by its kind or name always is. */
function isDetailed(row: Shown, detail: Detail, filter: Filter): boolean {
  if (detail === "full" || filter.kinds.includes(row.kind) || filter.names.length || filter.text) return true;
  if (row.kind === "event") return row.isError && detail === "normal";
  return row.kind !== "reasoning" || detail === "normal";
}

/** Leave out the rows of folded sub-agents, but for the first of each run, which says so. */
function folding(candidates: number[], rows: Shown[], folded: Set<string>): number[] {
  if (!folded.size) return candidates;
  return candidates.filter((at, position) => {
    const { agent } = rows[at];
    return !folded.has(agent) || position === 0 || rows[candidates[position - 1]].agent !== agent;
  });
}
