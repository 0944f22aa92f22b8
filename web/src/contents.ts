/** What a statement is about: its profile, and the bytes it covers. Follows RFC 9995 for hash envelopes. */

import { type Bytes, equal, hashed } from "./bytes";
import { Refusal } from "./refusal";
import { L, type Sign1 } from "./sign1";

export const HASHES: Record<number, string> = { [-16]: "SHA-256", [-43]: "SHA-384", [-44]: "SHA-512" };
const HASH_SIZES: Record<string, number> = { "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 };

export function profileOf(message: Sign1): string {
  for (const label of [L.PAYLOAD_HASH_ALG, L.PREIMAGE_CONTENT_TYPE, L.PAYLOAD_LOCATION])
    if (message.unprotected.has(label)) throw new Refusal(`${label} is not protected`, "envelope-unprotected");
  if (message.protected.has(L.PAYLOAD_HASH_ALG)) {
    if (message.protected.has(L.CONTENT_TYPE) || message.unprotected.has(L.CONTENT_TYPE))
      throw new Refusal("a hash envelope with a content type", "envelope-content-type");
    const hash = HASHES[message.protected.get(L.PAYLOAD_HASH_ALG) as number];
    if (!hash) throw new Refusal(`no hash algorithm ${message.protected.get(L.PAYLOAD_HASH_ALG)}`, "hash-alg-unknown");
    if (message.payload === null) throw new Refusal("a hash envelope without a hash", "payload-missing");
    if (message.payload.length !== HASH_SIZES[hash])
      throw new Refusal("the payload is not a hash of the algorithm that is named", "hash-alg-mismatch");
    return "hash-envelope";
  }
  for (const label of [L.PREIMAGE_CONTENT_TYPE, L.PAYLOAD_LOCATION])
    if (message.protected.has(label)) throw new Refusal(`${label} without a hash algorithm`, "hash-alg-missing");
  if (message.payload === null) return "detached";
  if (!message.payload.length) throw new Refusal("the payload is empty", "payload-empty");
  return "attached";
}

export async function checkContent(message: Sign1, profile: string, record: Bytes): Promise<void> {
  const signed =
    profile === "hash-envelope" ? await hashed(HASHES[message.protected.get(L.PAYLOAD_HASH_ALG) as number], record) : record;
  if (message.payload !== null && !equal(signed, message.payload))
    throw new Refusal("the bytes are not those that were signed", "content-mismatch");
}
