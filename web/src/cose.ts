/**
 * COSE_Sign1: parse a signed message into its four parts. Follows RFC 9052 sections 3, 4.2 and 4.4.
 *
 * The signature is checked over the protected header exactly as received, so its bytes are kept.
 */

import { type Bytes, concatBytes } from "./bytes";
import { decodeCbor, encodeByteString, encodeTextString, MalformedCbor, Tag } from "./cbor";
import { VerificationError } from "./verification-error";

/** Header labels, by their names in the IANA registry. */
export const HEADER = {
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
  /** Defined by vacr. */
  TLOG_PROOFS: -75101,
} as const;

export type Headers = Map<unknown, unknown>;

/** A parsed COSE_Sign1 message. A payload of null is detached: it is not part of the message. */
export interface Sign1 {
  /** The protected header as received. */
  protectedBytes: Bytes;
  protected: Headers;
  unprotected: Headers;
  payload: Bytes | null;
  signature: Bytes;
  tagged: boolean;
}

const LIMITS = { depth: 16, items: 20_000, shortest: true };
/** The header labels that `crit` of a statement may list. */
const UNDERSTOOD: readonly unknown[] = [
  HEADER.ALG,
  HEADER.CRIT,
  HEADER.CONTENT_TYPE,
  HEADER.KID,
  HEADER.KCCS,
  HEADER.CWT_CLAIMS,
  HEADER.X5CHAIN,
  HEADER.X5T,
  HEADER.TRACE_METADATA,
  HEADER.PAYLOAD_HASH_ALG,
  HEADER.PREIMAGE_CONTENT_TYPE,
  HEADER.TTC,
  HEADER.CTT,
];

/** Parse a COSE_Sign1 message; throws a VerificationError if it is malformed or has critical headers that are not `understood`. */
export function parseSign1(data: Bytes, understood = UNDERSTOOD): Sign1 {
  let value = decodePart(data, "Not CBOR", "cbor");
  const tagged = value instanceof Tag;
  if (value instanceof Tag) {
    if (value.tag !== 18) throw new VerificationError(`The CBOR tag is ${value.tag} instead of 18 (COSE_Sign1)`, "tag");
    value = value.value;
  }
  if (!Array.isArray(value) || value.length !== 4) throw new VerificationError("Not a CBOR array of four parts", "structure");
  const [protectedBytes, unprotected, payload, signature] = value;
  if (!isBytes(protectedBytes) || !isBytes(signature) || !(payload === null || isBytes(payload)))
    throw new VerificationError("The protected header, the payload or the signature is not a byte string", "structure");
  const headers = protectedBytes.length ? decodePart(protectedBytes, "The protected header is not CBOR", "protected") : new Map();
  if (!(headers instanceof Map) || !(unprotected instanceof Map))
    throw new VerificationError("A header is not a CBOR map", "structure");
  checkLabels(headers, unprotected);
  checkCritical(headers, unprotected, understood);
  return { protectedBytes, protected: headers, unprotected, payload, signature, tagged };
}

export function isBytes(value: unknown): value is Bytes {
  return value instanceof Uint8Array;
}

/** Build the bytes that a signature covers. There an empty protected header is an empty string, even if the message has an empty map. */
export function buildSignedBytes(protectedBytes: Bytes, payload: Bytes): Bytes {
  const header = protectedBytes.length === 1 && protectedBytes[0] === 0xa0 ? new Uint8Array() : protectedBytes;
  return concatBytes(
    Uint8Array.of(0x84),
    encodeTextString("Signature1"),
    encodeByteString(header),
    encodeByteString(new Uint8Array()),
    encodeByteString(payload),
  );
}

/** Decode CBOR; throws a VerificationError that begins with `problem` if it is malformed. */
function decodePart(data: Bytes, problem: string, reason: string): unknown {
  try {
    return decodeCbor(data, LIMITS);
  } catch (error) {
    if (error instanceof MalformedCbor) throw new VerificationError(`${problem}: ${error.message}`, reason);
    throw error;
  }
}

/** Return whether a value may be a header label: a number or a text. */
function isLabel(label: unknown): boolean {
  return typeof label === "number" || typeof label === "bigint" || typeof label === "string";
}

/** Check that every header label is a number or a text, and that no label is in both headers. */
function checkLabels(headers: Headers, unprotected: Headers): void {
  for (const label of [...headers.keys(), ...unprotected.keys()])
    if (!isLabel(label)) throw new VerificationError("A header label is neither a number nor a text", "label-type");
  for (const label of headers.keys())
    if (unprotected.has(label)) throw new VerificationError(`Header ${label} is both protected and unprotected`, "label-twice");
}

/** Check that vacr understands every header that the message marks as critical; RFC 9052 section 3.1. */
function checkCritical(headers: Headers, unprotected: Headers, understood: readonly unknown[]): void {
  if (unprotected.has(HEADER.CRIT)) throw new VerificationError("The crit header is not protected", "crit-unprotected");
  if (!headers.has(HEADER.CRIT)) return;
  const critical = headers.get(HEADER.CRIT);
  if (!Array.isArray(critical) || !critical.length)
    throw new VerificationError("The crit header is not a list of labels", "crit-malformed");
  for (const label of critical) {
    if (!isLabel(label) || !understood.includes(label))
      throw new VerificationError(`Unknown critical header ${label}`, "crit-unknown");
    if (!headers.has(label))
      throw new VerificationError(`Critical header ${label} is missing from the protected header`, "crit-absent");
  }
}
