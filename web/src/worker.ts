/** What is done off the page's own thread: unpack, verify, parse, make rows, and choose among them. */

import { type Bytes, fromBase64, unzipped } from "./bytes";
import { chosen } from "./filters";
import { type Input, inputsOf } from "./inputs";
import { canonical, pretty, readRecord, type Value } from "./json";
import { keyOf } from "./keys";
import { nested } from "./nesting";
import { overviewOf } from "./overviews";
import type { Asked, Island, Shown, Told } from "./protocol";
import { type Policy, verify } from "./verifying";
import { writtenLines } from "./written";

const CHUNK = 1000;
const FIRST = 100;

/** Answer what a page asks; `tell` hands an answer back. */
export function answering(tell: (told: Told) => void): (asked: Asked) => Promise<void> {
  let records: Value[] = [];
  let rows: Shown[] = [];

  async function open(island: Island, packed: string[], statements: (string | null)[]): Promise<void> {
    const data = await Promise.all(packed.map((one) => unzipped(fromBase64(one))));
    const signed = statements.map((one) => (one === null ? null : fromBase64(one)));
    // What is shown is made of the very bytes that were verified.
    await verifyAll(island, data, signed);
    records = data.map(readRecord);
    rows = [];
    let told = 0;
    for (const row of nested(records)) {
      rows.push(row);
      // The first few are on the screen while the others are made.
      if (rows.length === FIRST) told = tellRows(0, false);
    }
    tell({
      is: "overview",
      overview: overviewOf(
        records,
        island.records.map((one) => one.name),
        data.map((one) => one.length),
        rows,
      ),
    });
    do told = tellRows(told, told + CHUNK >= rows.length);
    while (told < rows.length);
  }

  function tellRows(from: number, done: boolean): number {
    const some = rows.slice(from, from + CHUNK);
    tell({ is: "rows", rows: some, done });
    return from + some.length;
  }

  async function verifyAll(island: Island, data: Bytes[], signed: (Bytes | null)[]): Promise<void> {
    const [keys, logKeys] = await Promise.all(
      [island.keys, island.logKeys].map((all) => Promise.all(all.map((one) => keyOf(fromBase64(one))))),
    );
    const policy: Policy = { keys, logKeys, roots: island.roots, entryRule: island.entryRule };
    const verdicts = await Promise.all(data.map((one, at) => verify(one, signed[at], policy, Date.now() / 1000)));
    tell({ is: "verdicts", verdicts });
  }

  function named(session: number, entries: string[]): Shown[] {
    return rows.filter(
      (row) =>
        row.session === session &&
        [row.name, row.place, row.result?.name, row.result?.place].some((name) => name !== undefined && entries.includes(name)),
    );
  }

  function given(session: number, place: string): Input[] {
    return inputsOf(at(records[session], place)?.input);
  }

  return async (asked) => {
    try {
      if (asked.do === "open") await open(asked.island, asked.records, asked.statements);
      else if (asked.do === "choose")
        tell({
          is: "chosen",
          ask: asked.ask,
          rows: chosen(rows, asked.filter, (row) => (row.kind === "tool" ? given(row.session, row.place) : [])),
        });
      else if (asked.do === "lines")
        tell({
          is: "lines",
          key: asked.key,
          lines: await writtenLines(named(asked.session, asked.entries), asked.count, asked.hash),
        });
      else if (asked.do === "inputs")
        tell({ is: "inputs", session: asked.session, place: asked.place, inputs: given(asked.session, asked.place) });
      else
        tell({
          is: "raw",
          session: asked.session,
          places: asked.places,
          text: asked.places.map((place) => pretty(at(records[asked.session], place))).join("\n"),
        });
    } catch (error) {
      tell({ is: "failed", told: error instanceof Error ? error.message : canonical(String(error)) });
    }
  };
}

/** Give what a JSON Pointer names. */
function at(record: Value, place: string): Value {
  return place
    .split("/")
    .slice(1)
    .reduce((value, name) => value?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], record);
}
