/** The payload of a statement: its profile (attached, detached or hash envelope), and whether it covers the record. Follows RFC 9995. */

import { areEqual, type Bytes, computeHash } from "./bytes";
import { HEADER, type Sign1 } from "./cose";
import { VerificationError } from "./verification-error";

/** Hash algorithms by their COSE numbers. A map: in an object, the text "-16" would name one, too. */
export const HASHES = new Map<unknown, string>([[-16, "SHA-256"], [-43, "SHA-384"], [-44, "SHA-512"]]); // prettier-ignore
const HASH_SIZES: Record<string, number> = { "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 };

/** Return "hash-envelope", "detached" or "attached"; throws a VerificationError if the headers contradict each other. */
export function determineProfile(message: Sign1): string {
  for (const label of [HEADER.PAYLOAD_HASH_ALG, HEADER.PREIMAGE_CONTENT_TYPE, HEADER.PAYLOAD_LOCATION])
    if (message.unprotected.has(label)) throw new VerificationError(`Header ${label} is not protected`, "envelope-unprotected");
  if (message.protected.has(HEADER.PAYLOAD_HASH_ALG)) {
    checkHashEnvelope(message);
    return "hash-envelope";
  }
  for (const label of [HEADER.PREIMAGE_CONTENT_TYPE, HEADER.PAYLOAD_LOCATION])
    if (message.protected.has(label))
      throw new VerificationError(`Header ${label} requires a hash algorithm header (258)`, "hash-alg-missing");
  if (message.payload === null) return "detached";
  if (!message.payload.length) throw new VerificationError("The payload is empty", "payload-empty");
  return "attached";
}

/** Check that a hash envelope has a supported hash algorithm, a hash of its length as payload, and no content type. */
function checkHashEnvelope(message: Sign1): void {
  if (message.protected.has(HEADER.CONTENT_TYPE) || message.unprotected.has(HEADER.CONTENT_TYPE))
    throw new VerificationError("A hash envelope must not have a content type", "envelope-content-type");
  const number = message.protected.get(HEADER.PAYLOAD_HASH_ALG);
  const hash = HASHES.get(number);
  if (!hash) throw new VerificationError(`Unsupported hash algorithm ${number}`, "hash-alg-unknown");
  if (message.payload === null) throw new VerificationError("The hash envelope has no payload", "payload-missing");
  if (message.payload.length !== HASH_SIZES[hash])
    throw new VerificationError(`The payload does not have the length of a ${hash} hash`, "hash-alg-mismatch");
}

/** Check that a statement is about the bytes of a record; throws a VerificationError if the payload differs. */
export async function checkContent(message: Sign1, profile: string, record: Bytes): Promise<void> {
  const expected =
    profile === "hash-envelope" ? await computeHash(HASHES.get(message.protected.get(HEADER.PAYLOAD_HASH_ALG))!, record) : record;
  if (message.payload !== null && !areEqual(expected, message.payload))
    throw new VerificationError("The record changed after it was signed", "content-mismatch");
}
