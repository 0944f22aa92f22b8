/** The key that a statement carries: in `kccs` (RFC 9528), or in the first certificate of its chain (RFC 9360). */

import { type Bytes, equal, hashed } from "./bytes";
import { HASHES } from "./contents";
import { ANOTHER, fromCose, type Key, keyOfCertificate } from "./keys";
import { Refusal } from "./refusal";
import { isBytes, L, type Sign1 } from "./sign1";

export async function carriedKey(message: Sign1): Promise<Key | null> {
  const written = message.protected.get(L.KCCS) ?? message.unprotected.get(L.KCCS);
  if (written === undefined) return null;
  const confirmed = written instanceof Map ? written.get(8) : undefined;
  if (!(confirmed instanceof Map) || !(confirmed.get(1) instanceof Map)) throw new Refusal("kccs holds no key", "kccs-malformed");
  const key: Map<unknown, unknown> = confirmed.get(1);
  // A compressed point, which is not read here, may be that of any key; one of another kind is not that of the signer.
  return (await fromCose(key)) ?? (key.get(1) === 2 ? null : ANOTHER);
}

export async function certifiedKey(message: Sign1): Promise<Key | null> {
  if (message.unprotected.has(L.X5T)) throw new Refusal("x5t is not protected", "x5t-unprotected");
  const written = message.protected.get(L.X5CHAIN) ?? message.unprotected.get(L.X5CHAIN);
  if (written === undefined) return null;
  const first = Array.isArray(written) ? written[0] : written;
  if (!isBytes(first)) throw new Refusal("x5chain is no list of certificates", "x5chain-malformed");
  const named = message.protected.get(L.X5T);
  if (named !== undefined) {
    const hash = Array.isArray(named) && named.length === 2 ? HASHES[named[0]] : undefined;
    if (!hash || !isBytes((named as unknown[])[1])) throw new Refusal("x5t is no hash that is known", "x5t-malformed");
    if (!equal(await hashed(hash, first), (named as Bytes[])[1]))
      throw new Refusal("x5t is not the hash of the signer's certificate", "x5t-mismatch");
  }
  return keyOfCertificate(first);
}
