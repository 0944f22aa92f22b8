/**
 * COSE_Sign1: bytes → the four parts of a signed message. Follows RFC 9052 sections 3, 4.2 and 4.4.
 *
 * The protected header is kept as the bytes that were received, and those are what is verified.
 */

import { type Bytes, joined } from "./bytes";
import { byteString, decode, Malformed, Tag, textString } from "./cbor";
import { Refusal } from "./refusal";

export const L = {
  ALG: 1,
  CRIT: 2,
  CONTENT_TYPE: 3,
  KID: 4,
  KCCS: 14,
  CWT_CLAIMS: 15,
  X5CHAIN: 33,
  X5T: 34,
  TRACE_METADATA: 100,
  PAYLOAD_HASH_ALG: 258,
  PREIMAGE_CONTENT_TYPE: 259,
  PAYLOAD_LOCATION: 260,
  TTC: 269,
  CTT: 270,
  RECEIPTS: 394,
  VDS: 395,
  VDP: 396,
} as const;

export type Headers = Map<unknown, unknown>;

export interface Sign1 {
  protectedBytes: Bytes;
  protected: Headers;
  unprotected: Headers;
  payload: Bytes | null;
  signature: Bytes;
  tagged: boolean;
}

const LIMITS = { depth: 16, items: 20_000, shortest: true };
/** The labels that `crit` of a statement may name. */
const UNDERSTOOD: readonly unknown[] = [
  L.ALG,
  L.CRIT,
  L.CONTENT_TYPE,
  L.KID,
  L.KCCS,
  L.CWT_CLAIMS,
  L.X5CHAIN,
  L.X5T,
  L.TRACE_METADATA,
  L.PAYLOAD_HASH_ALG,
  L.PREIMAGE_CONTENT_TYPE,
  L.TTC,
  L.CTT,
];

export function parse(data: Bytes, understood = UNDERSTOOD): Sign1 {
  let value = read(data, "not CBOR", "cbor");
  const tagged = value instanceof Tag;
  if (value instanceof Tag) {
    if (value.tag !== 18) throw new Refusal(`tag ${value.tag}, not 18 (COSE_Sign1)`, "tag");
    value = value.value;
  }
  if (!Array.isArray(value) || value.length !== 4) throw new Refusal("not an array of four parts", "structure");
  const [protectedBytes, unprotected, payload, signature] = value;
  if (!isBytes(protectedBytes) || !isBytes(signature) || !(payload === null || isBytes(payload)))
    throw new Refusal("parts of the wrong types: header, payload and signature are byte strings", "structure");
  const headers = protectedBytes.length ? read(protectedBytes, "the protected header is not CBOR", "protected") : new Map();
  if (!(headers instanceof Map) || !(unprotected instanceof Map)) throw new Refusal("a header that is no map", "structure");
  checkLabels(headers, unprotected);
  checkCritical(headers, unprotected, understood);
  return { protectedBytes, protected: headers, unprotected, payload, signature, tagged };
}

export function isBytes(value: unknown): value is Bytes {
  return value instanceof Uint8Array;
}

/** Give the bytes that a signature is over; an empty protected header is an empty string there, however it was written. */
export function toBeSigned(protectedBytes: Bytes, payload: Bytes): Bytes {
  const header = protectedBytes.length === 1 && protectedBytes[0] === 0xa0 ? new Uint8Array() : protectedBytes;
  return joined(
    Uint8Array.of(0x84),
    textString("Signature1"),
    byteString(header),
    byteString(new Uint8Array()),
    byteString(payload),
  );
}

function read(data: Bytes, told: string, reason: string): unknown {
  try {
    return decode(data, LIMITS);
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal(`${told}: ${error.message}`, reason);
    throw error;
  }
}

function isLabel(label: unknown): boolean {
  return typeof label === "number" || typeof label === "bigint" || typeof label === "string";
}

function checkLabels(headers: Headers, unprotected: Headers): void {
  for (const label of [...headers.keys(), ...unprotected.keys()])
    if (!isLabel(label)) throw new Refusal("a header label of another type than number or text", "label-type");
  for (const label of headers.keys()) if (unprotected.has(label)) throw new Refusal(`${label} is in both headers`, "label-twice");
}

/** Refuse a message that says it must not be understood in part; RFC 9052 section 3.1. */
function checkCritical(headers: Headers, unprotected: Headers, understood: readonly unknown[]): void {
  if (unprotected.has(L.CRIT)) throw new Refusal("crit is not protected", "crit-unprotected");
  if (!headers.has(L.CRIT)) return;
  const critical = headers.get(L.CRIT);
  if (!Array.isArray(critical) || !critical.length) throw new Refusal("crit is not a list of labels", "crit-malformed");
  for (const label of critical) {
    if (!isLabel(label) || !understood.includes(label))
      throw new Refusal(`crit names ${label}, which is not understood`, "crit-unknown");
    if (!headers.has(label)) throw new Refusal(`crit names ${label}, which is not protected`, "crit-absent");
  }
}
