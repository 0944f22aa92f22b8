/**
 * Proofs of witnesses: a checkpoint that they cosigned, and the path from a log entry to its root. Follows C2SP tlog-proof,
 * signed-note, tlog-checkpoint and tlog-cosignature.
 *
 * The index and the size are proven here, unlike in a receipt.
 */

import * as algorithms from "./algorithms";
import { areEqual, type Bytes, computeHash, concatBytes, fromBase64, toBase64 } from "./bytes";
import { HEADER, isBytes, type Sign1 } from "./cose";
import { type Key, parseCoseKey } from "./keys";
import { computeInclusionRoot } from "./receipts";
import { VerificationError } from "./verification-error";

const MAX_PROOFS = 16;
const MAX_SIZE = 1 << 16;
const MAX_PATH_LENGTH = 63;
const MAX_SIGNATURES = 100;
const MAX_NUMBER = 2n ** 63n - 1n;
const [NOTE_KIND, COSIGNATURE_KIND] = [1, 4];
/** EdDSA. */
const ALGORITHM = -8;
/** Seconds that the clocks of witness and reader may differ. */
const CLOCK_TOLERANCE = 300;
const FIRST_LINE = "c2sp.org/tlog-proof@v1";
const CONTROL_CHARACTERS = /[\x00-\x09\x0b-\x1f]/;
/** No spaces (as Python counts them), no plus sign, no control characters. */
const KEY_NAME = /^[^\x00-\x20+\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/u;

/** A key of a log or witness, with the name and the id that its signature lines have. */
export interface NoteKey {
  name: string;
  kind: number;
  id: Bytes;
  key: Key;
}

/** A log or a witness that the author of the page trusts, with its key. */
export interface NoteParty {
  name: string;
  noteKey: NoteKey | null;
  /** The begin and the end of the trust in seconds since the epoch; null without one. */
  validFrom: number | null;
  validUntil: number | null;
}

interface NoteSignature {
  name: string;
  id: Bytes;
  blob: Bytes;
}

interface Note {
  text: string;
  signatures: NoteSignature[];
}

interface Checkpoint {
  origin: string;
  size: bigint;
  root: Bytes;
}

export interface TlogProof {
  index: bigint;
  path: Bytes[];
  note: Note;
  checkpoint: Checkpoint;
}

/** A verified proof. */
export interface WitnessedEntry {
  log: NoteParty;
  index: bigint;
  checkpoint: Checkpoint;
  /** The names of the witnesses whose cosignatures count. */
  cosigned: string[];
}

/** Read a published key, such as `example.org/log+0123abcd+AQ…`. */
export async function parseNoteKey(text: string): Promise<NoteKey> {
  const [name, , ...rest] = text.split("+");
  const data = fromBase64(rest.join("+"));
  const [kind, raw] = [data[0], data.slice(1)];
  const key = await parseCoseKey(new Map<unknown, unknown>([[1, 1], [-1, 6], [-2, raw]])); // prettier-ignore
  const id = (await computeHash("SHA-256", concatBytes(encode(`${name}\n`), data))).slice(0, 4);
  return { name, kind, id, key: key! };
}

/** Return the encoded proofs in a statement; empty if it has none. */
export function listProofs(message: Sign1): Bytes[] {
  if (message.protected.has(HEADER.TLOG_PROOFS))
    throw new VerificationError("The proofs of witnesses are in the protected header", "witness-protected");
  if (!message.unprotected.has(HEADER.TLOG_PROOFS)) return [];
  const proofs = message.unprotected.get(HEADER.TLOG_PROOFS);
  if (!Array.isArray(proofs) || !proofs.length || proofs.length > MAX_PROOFS || !proofs.every(isBytes))
    throw malformed(`not a list of 1 to ${MAX_PROOFS} byte strings`);
  return proofs;
}

/** Parse a proof; throws a VerificationError with the reason "witness-malformed". */
export function parseProof(data: Bytes): TlogProof {
  if (data.length > MAX_SIZE) throw malformed("it is too large");
  const text = decode(data);
  const end = text.indexOf("\n\n");
  if (end < 0) throw malformed("it has no empty line");
  const [first, ...lines] = text.slice(0, end).split("\n");
  if (first !== FIRST_LINE) throw malformed(`it does not start with ${FIRST_LINE}`);
  if (lines[0]?.startsWith("extra ") && !decodeBase64(lines.shift()!.slice(6)).length) throw malformed("its extra data is empty");
  if (!lines[0]?.startsWith("index ")) throw malformed("it lacks the index of the entry");
  const index = parseNumber(lines.shift()!.slice(6));
  if (lines.length > MAX_PATH_LENGTH) throw malformed("its path is too long");
  const note = parseNote(text.slice(end + 2));
  return { index, path: lines.map(parseHash), note, checkpoint: parseCheckpoint(note.text) };
}

/** Split a note into its text and its signatures. */
function parseNote(content: string): Note {
  if (CONTROL_CHARACTERS.test(content)) throw malformed("its checkpoint has control characters");
  const end = content.lastIndexOf("\n\n");
  if (end < 0 || end + 2 === content.length || !content.endsWith("\n")) throw malformed("its checkpoint is not signed");
  const lines = content.slice(end + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw malformed("its checkpoint has too many signatures");
  return { text: content.slice(0, end + 1), signatures: lines.map(parseSignatureLine) };
}

/** Parse a line `— NAME BASE64`. */
function parseSignatureLine(line: string): NoteSignature {
  const space = line.indexOf(" ", 2);
  const name = line.slice(2, space < 0 ? undefined : space);
  const data = decodeBase64(space < 0 ? "" : line.slice(space + 1));
  if (!line.startsWith("— ") || !KEY_NAME.test(name) || data.length <= 4) throw malformed("a signature line is invalid");
  return { name, id: data.slice(0, 4), blob: data.slice(4) };
}

/** Parse the text of a checkpoint: origin, size, root, and lines that are ignored. */
function parseCheckpoint(text: string): Checkpoint {
  const lines = text.slice(0, -1).split("\n");
  if (lines.length < 3 || lines.includes("")) throw malformed("its checkpoint lacks a line");
  return { origin: lines[0], size: parseNumber(lines[1]), root: parseHash(lines[2]) };
}

function parseNumber(text: string): bigint {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) > MAX_NUMBER) throw malformed("a number is invalid");
  return BigInt(text);
}

function parseHash(text: string): Bytes {
  const hash = decodeBase64(text);
  if (hash.length !== 32) throw malformed("a hash is invalid");
  return hash;
}

/** Decode base64; throws if encoding the result gives another text. */
function decodeBase64(text: string): Bytes {
  let bytes: Bytes | undefined;
  try {
    bytes = fromBase64(text);
  } catch {
    // Not base64.
  }
  if (bytes === undefined || toBase64(bytes) !== text) throw malformed("it contains invalid base64");
  return bytes;
}

function decode(data: Bytes): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw malformed("it is not UTF-8");
  }
}

function encode(text: string): Bytes {
  return new TextEncoder().encode(text) as Bytes;
}

function malformed(problem: string): VerificationError {
  return new VerificationError(`A proof of witnesses is malformed: ${problem}`, "witness-malformed");
}

/** Verify a proof for a log entry; throws a VerificationError, with the reason "witness-origin" if its log is not trusted. */
export async function verifyProof(
  proof: TlogProof,
  entry: Bytes,
  logs: NoteParty[],
  witnesses: NoteParty[],
  required: number,
  now: number,
): Promise<WitnessedEntry> {
  const log = await findLog(proof, logs);
  await checkInclusion(proof, entry);
  const logKeys = logs.flatMap((party) => (party.noteKey ? [party.noteKey.key] : []));
  const found: { name: string; key: Key; time: number }[] = [];
  for (const { name, noteKey, validFrom, validUntil } of witnesses) {
    if (noteKey?.kind !== COSIGNATURE_KIND || logKeys.some((key) => isSame(key, noteKey.key))) continue;
    const time = await checkCosignatures(proof.note, noteKey);
    const isTrusted = time !== null && (validFrom === null || time >= validFrom) && (validUntil === null || time <= validUntil);
    if (!isTrusted || time === 0 || time > now + CLOCK_TOLERANCE) continue;
    // A key counts once, even under several names.
    if (!found.some(({ key }) => isSame(key, noteKey.key))) found.push({ name, key: noteKey.key, time });
  }
  if (found.length < required)
    throw new VerificationError(`Too few witnesses cosigned: ${found.length} instead of ${required}`, "witness-too-few");
  checkLogValidity(log, found.map(({ time }) => time).sort((left, right) => left - right)[required - 1]);
  return { log, index: proof.index, checkpoint: proof.checkpoint, cosigned: found.map(({ name }) => name).sort() };
}

/** Return the trusted log that signed the checkpoint of a proof. */
async function findLog({ note, checkpoint }: TlogProof, logs: NoteParty[]): Promise<NoteParty> {
  const own = logs.filter(({ noteKey }) => noteKey?.kind === NOTE_KIND && noteKey.name === checkpoint.origin);
  if (!own.length)
    throw new VerificationError(`A proof of witnesses is from another log: ${checkpoint.origin}`, "witness-origin");
  for (const log of own) {
    const signatures = findSignatures(note, log.noteKey!);
    for (const { blob } of signatures) await checkSigned(log.noteKey!, blob, encode(note.text), "witness-log-signature");
    if (signatures.length) return log;
  }
  throw new VerificationError("The cosigned checkpoint is not signed with the log's trusted key", "witness-log-key");
}

/** Check that the path of a proof leads from an entry to the root of its checkpoint. */
async function checkInclusion({ index, path, checkpoint }: TlogProof, entry: Bytes): Promise<void> {
  if (index >= checkpoint.size) throw new VerificationError("The cosigned checkpoint is older than the entry", "witness-stale");
  const leaf = await computeHash("SHA-256", concatBytes(Uint8Array.of(0), entry));
  let root: Bytes;
  try {
    root = await computeInclusionRoot(leaf, index, checkpoint.size, path);
  } catch (error) {
    if (error instanceof VerificationError) throw new VerificationError(error.message, "witness-path");
    throw error;
  }
  if (!areEqual(root, checkpoint.root))
    throw new VerificationError("The proof of the witnesses is for another entry", "witness-entry");
}

/** Check all cosignatures of a witness; return the latest time in seconds since the epoch, or null if it did not cosign. */
async function checkCosignatures(note: Note, witness: NoteKey): Promise<number | null> {
  let latest: number | null = null;
  for (const { blob } of findSignatures(note, witness)) {
    let time = 0n;
    for (const byte of blob.subarray(0, 8)) time = (time << 8n) | BigInt(byte);
    if (time > MAX_NUMBER) throw new VerificationError("The time of a cosignature is too large", "witness-signature");
    await checkSigned(witness, blob.slice(8), encode(`cosignature/v1\ntime ${time}\n${note.text}`), "witness-signature");
    latest = Math.max(latest ?? 0, Number(time));
  }
  return latest;
}

/** Return the signature lines with the name and the id of a key. */
function findSignatures(note: Note, key: NoteKey): NoteSignature[] {
  return note.signatures.filter(({ name, id }) => name === key.name && areEqual(id, key.id));
}

/** Check that a key signed data; throws with the reason if not. */
async function checkSigned({ name, key }: NoteKey, signature: Bytes, data: Bytes, reason: string): Promise<void> {
  try {
    await algorithms.checkSignature(ALGORITHM, key, signature, data);
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    throw new VerificationError(`Forged signature: the key of ${name} did not sign this checkpoint`, reason);
  }
}

/** Check that a log was trusted when as many witnesses as required had cosigned. */
function checkLogValidity(log: NoteParty, time: number): void {
  if ((log.validFrom !== null && time < log.validFrom) || (log.validUntil !== null && time > log.validUntil))
    throw new VerificationError(`${log.name} is not trusted at the time of the cosignatures`, "witness-log-validity");
}

function isSame(left: Key, right: Key): boolean {
  return areEqual(left.thumbprint, right.thumbprint);
}
