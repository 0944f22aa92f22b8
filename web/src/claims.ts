/** The CWT claims of a signer: issuer, subject and times. Follows RFC 8392. */

import { Float, Tag } from "./cbor";
import { VerificationError } from "./verification-error";

const [ISS, SUB, EXP, NBF, IAT] = [1, 2, 4, 5, 6];
const EPOCH_TAG = 1;
/** Seconds that the clocks of signer and reader may differ. */
const CLOCK_TOLERANCE = 300;
const LAST_SECOND = Date.UTC(9999, 11, 31) / 1000;

export interface Claims {
  issuer?: string;
  subject?: string;
  /** In seconds since the epoch. */
  issuedAt?: number;
}

/** Read the claims in a header; throws a VerificationError if they are malformed, expired or not valid yet at the time `now`. */
export function readClaims(header: unknown, now: number): Claims {
  if (!(header instanceof Map)) throw new VerificationError("The claims are not a CBOR map", "claims-malformed");
  for (const label of header.keys())
    if (typeof label !== "number" && typeof label !== "string" && typeof label !== "bigint")
      throw new VerificationError("The label of a claim is neither a number nor a text", "claims-malformed");
  for (const label of [ISS, SUB])
    if (header.has(label) && typeof header.get(label) !== "string")
      throw new VerificationError(`Claim ${label} is not a text`, "claims-malformed");
  const times = new Map<number, number>();
  for (const label of [IAT, NBF, EXP]) if (header.has(label)) times.set(label, readTime(header.get(label), label));
  checkTimes(times, now);
  return {
    issuer: header.get(ISS) as string | undefined,
    subject: header.get(SUB) as string | undefined,
    issuedAt: times.get(IAT),
  };
}

/** Return the time in a claim, in seconds since the epoch. Some implementations write it with CBOR tag 1. */
function readTime(claim: unknown, label: number): number {
  const value = claim instanceof Tag && claim.tag === EPOCH_TAG ? claim.value : claim;
  if (typeof value !== "number" && typeof value !== "bigint" && !(value instanceof Float))
    throw new VerificationError(`Claim ${label} is not a time`, "claims-malformed");
  const time = Number(value);
  if (!(time >= 0 && time < LAST_SECOND))
    throw new VerificationError(`The time in claim ${label} is out of range`, "claims-malformed");
  return time;
}

/** Check that claims are valid at the time `now`: issued in the past, begun, and not expired. */
function checkTimes(times: Map<number, number>, now: number): void {
  const [issued, notBefore, expires] = [IAT, NBF, EXP].map((label) => times.get(label));
  if ((issued ?? 0) > now + CLOCK_TOLERANCE)
    throw new VerificationError(`The signing time is in the future: ${formatSeconds(issued!)}`, "issued-in-future");
  if ((notBefore ?? 0) > now + CLOCK_TOLERANCE)
    throw new VerificationError(`Not valid before ${formatSeconds(notBefore!)}`, "claims-not-yet");
  if ((expires ?? Infinity) < now - CLOCK_TOLERANCE)
    throw new VerificationError(`Expired at ${formatSeconds(expires!)}`, "claims-expired");
}

/** Format seconds since the epoch as RFC 3339 text. */
export function formatSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
