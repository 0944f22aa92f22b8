/** The worker thread of the page: it unpacks, verifies and parses the records, builds their rows, and filters them. */

import { findLinesByHash } from "./attributed-lines";
import { type Bytes, fromBase64, gunzip } from "./bytes";
import { buildHunks, type FileChange } from "./file-changes";
import { canonicalJson, prettyJson, readRecord, resolvePointer, type Value } from "./json";
import { parseStoredKey } from "./keys";
import { buildOverview, describeSession } from "./overview";
import type { Island, PageRow, StoredParty, WorkerReply, WorkerRequest } from "./protocol";
import { filterRows } from "./row-filter";
import { buildAllRows } from "./sub-agents";
import { parseNoteKey } from "./tlog-proof";
import { type Input, listInputs } from "./tool-calls";
import { type Party, type Policy, verify } from "./verify";

const CHUNK_SIZE = 1000;
const FIRST_ROWS = 100;

/** Return the function that handles requests of the page; it sends answers with `reply`. */
export function createResponder(reply: (message: WorkerReply) => void): (request: WorkerRequest) => Promise<void> {
  let records: Value[] = [];
  let rows: PageRow[] = [];
  let changes: FileChange[] = [];

  /** Unpack and verify the records, then send the verdicts, the overview and all rows to the page. */
  async function openRecords(island: Island, packed: string[], statements: (string | null)[]): Promise<void> {
    const data = await Promise.all(packed.map((text) => gunzip(fromBase64(text))));
    const signed = statements.map((text) => (text === null ? null : fromBase64(text)));
    // The rows are built from exactly the bytes that are verified here.
    await verifyRecords(island, data, signed);
    records = data.map(readRecord);
    const names = island.records.map((record) => record.name);
    const sizes = data.map((bytes) => bytes.length);
    reply({ is: "sessions", sessions: records.map((record, at) => describeSession(record, names[at], sizes[at])) });
    rows = [];
    let sent = 0;
    for (const row of buildAllRows(records)) {
      rows.push(row);
      // Send the first rows early, so that the page shows them while the rest is built.
      if (rows.length === FIRST_ROWS) sent = sendRows(0, false);
    }
    const overview = buildOverview(records, names, sizes, rows, island.totals ?? null);
    changes = overview.changes;
    reply({ is: "overview", overview });
    do sent = sendRows(sent, sent + CHUNK_SIZE >= rows.length);
    while (sent < rows.length);
  }

  /** Send the next chunk of rows; return the index of the first row that is not sent yet. */
  function sendRows(from: number, done: boolean): number {
    const chunk = rows.slice(from, from + CHUNK_SIZE);
    reply({ is: "rows", rows: chunk, done });
    return from + chunk.length;
  }

  /** Verify each record against its statement with the keys in the island, and send the verdicts. */
  async function verifyRecords(island: Island, data: Bytes[], signed: (Bytes | null)[]): Promise<void> {
    const parseKeys = (encoded: string[]) => Promise.all(encoded.map((text) => parseStoredKey(fromBase64(text))));
    const parseParty = async (party: StoredParty): Promise<Party> => ({
      ...party,
      keys: await parseKeys(party.keys),
      noteKey: party.noteKey === null ? null : await parseNoteKey(party.noteKey),
    });
    const { roots, entryRule, timestamps, namesOnly, witnessesRequired, lacksSigners, lacksLogs, witnessesLeftOut } = island;
    const policy: Policy = {
      keys: await parseKeys(island.keys),
      logKeys: await parseKeys(island.logKeys),
      parties: await Promise.all(island.parties.map(parseParty)),
      logs: await Promise.all(island.logs.map(parseParty)),
      witnesses: await Promise.all(island.witnesses.map(parseParty)),
      witnessesRequired,
      roots,
      entryRule,
      timestamps,
      namesOnly,
      lacksSigners,
      lacksLogs,
      witnessesLeftOut,
      isReaders: island.app ?? false,
    };
    const verdicts = await Promise.all(data.map((bytes, index) => verify(bytes, signed[index], policy, Date.now() / 1000)));
    reply({ is: "verdicts", verdicts });
  }

  /** Return the rows of a session whose call or result has one of these ids or JSON Pointers. */
  function findRows(session: number, entries: string[]): PageRow[] {
    return rows.filter(
      (row) =>
        row.session === session &&
        [row.name, row.place, row.result?.name, row.result?.place].some((name) => name !== undefined && entries.includes(name)),
    );
  }

  /** Return the inputs of the call at a JSON Pointer. */
  function readInputs(session: number, place: string): Input[] {
    return listInputs(resolvePointer(records[session], place)?.input);
  }

  /** Carry out a request, and send its answer. */
  async function handle(request: WorkerRequest): Promise<void> {
    if (request.do === "open") await openRecords(request.island, request.records, request.statements);
    else if (request.do === "filter") {
      const inputsOf = (row: PageRow) => (row.kind === "tool" ? readInputs(row.session, row.place) : []);
      reply({ is: "matches", number: request.number, rows: filterRows(rows, request.filter, inputsOf) });
    } else if (request.do === "lines") {
      const calls = findRows(request.session, request.entries);
      reply({ is: "lines", key: request.key, lines: await findLinesByHash(calls, request.count, request.hash) });
    } else if (request.do === "hunks") {
      reply({ is: "hunks", file: request.file, hunks: buildHunks(changes[request.file], records, rows) });
    } else if (request.do === "inputs") {
      const { session, place } = request;
      reply({ is: "inputs", session, place, inputs: readInputs(session, place) });
    } else {
      const { session, places } = request;
      const texts = places.map((place) => prettyJson(resolvePointer(records[session], place)));
      reply({ is: "raw", session, places, text: texts.join("\n") });
    }
  }

  return async (request) => {
    try {
      await handle(request);
    } catch (error) {
      reply({ is: "failed", message: error instanceof Error ? error.message : canonicalJson(String(error)) });
    }
  };
}
