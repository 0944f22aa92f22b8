/** The public key inside a statement: in `kccs` (RFC 9528), or in the first certificate of its chain (RFC 9360). */

import { areEqual, type Bytes, computeHash } from "./bytes";
import { HEADER, isBytes, type Sign1 } from "./cose";
import { type Key, parseCertificateKey, parseCoseKey, UNUSABLE_KEY } from "./keys";
import { HASHES } from "./payload";
import { VerificationError } from "./verification-error";

const MAX_CHAIN_LENGTH = 16;

/** Return the key in the kccs header. Null without such a header, or if the page cannot read a key that may be the signer's. */
export async function readKccsKey(message: Sign1): Promise<Key | null> {
  const headers = [message.protected, message.unprotected].find((map) => map.has(HEADER.KCCS));
  if (headers === undefined) return null;
  const kccs = headers.get(HEADER.KCCS);
  const confirmation = kccs instanceof Map ? kccs.get(8) : undefined;
  if (!(confirmation instanceof Map) || !(confirmation.get(1) instanceof Map))
    throw new VerificationError("The kccs header contains no key", "kccs-malformed");
  const parameters: Map<unknown, unknown> = confirmation.get(1);
  const key = await parseCoseKey(parameters);
  if (key !== null) return key;
  // The page cannot expand a compressed point (key type 2), so that key may be the signer's.
  // A key of any other unsupported type is certainly not.
  return parameters.get(1) === 2 ? null : UNUSABLE_KEY;
}

/** Return the key of the first certificate, or null without certificates. Throws if the x5t header names another certificate. */
export async function readCertificateKey(message: Sign1): Promise<Key | null> {
  if (message.unprotected.has(HEADER.X5T)) throw new VerificationError("The x5t header is not protected", "x5t-unprotected");
  const headers = [message.protected, message.unprotected].find((map) => map.has(HEADER.X5CHAIN));
  if (headers === undefined) return null;
  const value = headers.get(HEADER.X5CHAIN);
  const chain: unknown[] = Array.isArray(value) ? value : [value];
  if (!chain.length || chain.length > MAX_CHAIN_LENGTH || !chain.every(isBytes))
    throw new VerificationError(`The x5chain header is not a list of 1 to ${MAX_CHAIN_LENGTH} certificates`, "x5chain-malformed");
  const [certificate] = chain;
  if (message.protected.has(HEADER.X5T)) {
    const x5t = message.protected.get(HEADER.X5T);
    const hash = Array.isArray(x5t) && x5t.length === 2 ? HASHES.get(x5t[0]) : undefined;
    if (!hash || !isBytes((x5t as unknown[])[1]))
      throw new VerificationError("The x5t header is not a hash with a supported algorithm", "x5t-malformed");
    if (!areEqual(await computeHash(hash, certificate), (x5t as Bytes[])[1]))
      throw new VerificationError("The x5t header does not match the signer's certificate", "x5t-mismatch");
  }
  const keys = await Promise.all(chain.map(parseCertificateKey));
  return keys[0];
}
