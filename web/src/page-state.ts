/** The state of the page: the data from its worker, and the reader's choices. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Hunk } from "./file-changes";
import type { AttributedFile, Island, Overview, PageRow, Range, Session, WorkerReply, WorkerRequest } from "./protocol";
import { type Filter, NO_FILTER } from "./row-filter";
import type { Input } from "./tool-calls";
import type { Verdict } from "./verify";

export type Detail = "brief" | "normal" | "full";
export const DETAILS: Detail[] = ["brief", "normal", "full"];

export interface PageState {
  rows: PageRow[];
  /** Whether all rows have arrived. */
  done: boolean;
  /** The facts about the sessions; they come before the rows. */
  sessions: Session[];
  overview: Overview | null;
  verdicts: Verdict[] | null;
  /** Why the records cannot be read, or "". */
  failed: string;
  filter: Filter;
  setFilter: (filter: Filter | ((current: Filter) => Filter)) => void;
  detail: Detail;
  setDetail: (detail: Detail) => void;
  /** The indexes of the rows on the page. */
  shown: number[];
  /** The JSON of entries, after a request. */
  raw: Map<string, string>;
  requestRaw: (row: PageRow) => void;
  /** The inputs of calls, after a request. */
  inputs: Map<string, Input[]>;
  requestInputs: (row: PageRow) => void;
  /** The text of attributed lines, after a request; null if it is unknown. */
  lines: Map<string, string[] | null>;
  requestLines: (file: AttributedFile, range: Range) => void;
  /** The cumulative diffs of changed files, by their number, after a request. */
  hunks: Map<number, Hunk[]>;
  requestHunks: (file: number) => void;
}

/** Return the key of entries in the maps `raw` and `inputs`. */
export function rawKey(session: number, places: string[]): string {
  return `${session}:${places.join()}`;
}

/** Return the key of a range in the map `lines`. */
export function linesKey(file: AttributedFile, range: Range): string {
  return `${file.session}:${file.path}:${range.start}`;
}

/** Return the JSON Pointers of a row and of its result. */
export function placesOf(row: PageRow): string[] {
  return row.result ? [row.place, row.result.place] : [row.place];
}

/**
 * Return the state of the page; it changes as the worker sends data, and as the reader chooses.
 *
 * `openRecords` sends the worker the records, once its answers have a listener.
 */
export function usePageState(island: Island, worker: Worker, openRecords: () => void): PageState {
  const [rows, setRows] = useState<PageRow[]>([]);
  const [done, setDone] = useState(false);
  const [sessions, setSessions] = useState<Session[]>([]);
  const [overview, setOverview] = useState<Overview | null>(null);
  const [verdicts, setVerdicts] = useState<Verdict[] | null>(null);
  const [failed, setFailed] = useState("");
  const [filter, setFilter] = useState<Filter>(island.filter ?? NO_FILTER);
  const [detail, setDetail] = useState<Detail>("normal");
  const [matches, setMatches] = useState<number[] | null>(null);
  const [raw, setRaw] = useState(new Map<string, string>());
  const [inputs, setInputs] = useState(new Map<string, Input[]>());
  const [lines, setLines] = useState(new Map<string, string[] | null>());
  const [hunks, setHunks] = useState(new Map<number, Hunk[]>());
  // Numbers the filter requests: only the answer to the latest counts.
  const filterNumber = useRef(0);

  const send = (request: WorkerRequest) => worker.postMessage(request);
  useLayoutEffect(() => {
    const received: PageRow[] = [];
    /** Whether the page shows an earlier state of the conversation while it reads this one. */
    let isUpdate = false;
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
      if (data.is === "verdicts") setVerdicts(data.verdicts);
      else if (data.is === "sessions") {
        isUpdate = received.length > 0;
        received.length = 0;
        setSessions(data.sessions);
      } else if (data.is === "overview") setOverview(data.overview);
      else if (data.is === "rows") {
        for (const row of data.rows) received.push(row);
        if ((!isUpdate && received.length === data.rows.length) || data.done) setRows(received.slice());
        if (data.done) setDone(true);
        if (!data.done || !isUpdate) return;
        // These may be different now.
        setHunks(new Map());
        setRaw(new Map());
        setLines(new Map());
      } else if (data.is === "matches") {
        if (data.number === filterNumber.current) setMatches(data.rows);
      } else if (data.is === "lines") setLines((known) => new Map(known).set(data.key, data.lines));
      else if (data.is === "hunks") setHunks((known) => new Map(known).set(data.file, data.hunks));
      else if (data.is === "inputs") setInputs((known) => new Map(known).set(rawKey(data.session, [data.place]), data.inputs));
      else if (data.is === "raw") setRaw((known) => new Map(known).set(rawKey(data.session, data.places), data.text));
      else setFailed(data.message);
    };
    worker.onerror = (event) => setFailed(event.message || "The browser could not start the worker of this page");
    // A worker's answer is lost if nobody listens yet, so the request comes last.
    openRecords();
  }, []);
  useEffect(() => {
    if (!done) return;
    filterNumber.current += 1;
    send({ do: "filter", number: filterNumber.current, filter });
  }, [filter, done, rows]);

  const shown = useMemo(() => {
    const candidates = matches ?? rows.flatMap((row, at) => (row.isRepeated ? [] : [at]));
    return candidates.filter((at) => rows[at] && isWithinDetail(rows[at], detail, filter));
  }, [rows, matches, detail, filter]);

  return {
    rows,
    done,
    sessions,
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
    hunks,
    requestInputs: (row) => send({ do: "inputs", session: row.session, place: row.place }),
    requestRaw: (row) => send({ do: "raw", session: row.session, places: placesOf(row) }),
    requestLines: (file, range) =>
      send({
        do: "lines",
        key: linesKey(file, range),
        session: file.session,
        entries: range.entries,
        count: range.end - range.start + 1,
        hash: range.hash,
      }),
    requestHunks: (file) => send({ do: "hunks", file }),
  };
}

/** Return whether a level of detail includes a row. A filter for its kind, a name or a text includes it always. */
function isWithinDetail(row: PageRow, detail: Detail, filter: Filter): boolean {
  if (detail === "full" || filter.kinds.includes(row.kind) || filter.names.length || filter.text) return true;
  return detail === "normal" || (row.kind !== "reasoning" && row.kind !== "event");
}
