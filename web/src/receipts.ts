/**
 * Receipts of transparency logs: that a log has a statement. Follows RFC 9942 and RFC 9162 section 2.1.3.2.
 *
 * What a receipt says of the size of the tree and of the place of the entry is not signed: the root is.
 */

import * as algorithms from "./algorithms";
import { type Bytes, equal, hashed, hex, joined } from "./bytes";
import { byteString, decode, Malformed } from "./cbor";
import { type Claims, readClaims } from "./claims";
import { type Key, uriOf } from "./keys";
import { Refusal } from "./refusal";
import { isBytes, L, parse, type Sign1, toBeSigned } from "./sign1";

const MOST = 64;
const MOST_PROOFS = 16;
const LONGEST = 64;

export interface Logged {
  claims: Claims;
  size: number;
  index: number;
  key: Key;
}

interface Proof {
  size: number;
  index: number;
  path: Bytes[];
}

/** Give the receipts in a statement, as they are written. */
export function writtenIn(message: Sign1): unknown[] {
  if (message.protected.has(L.RECEIPTS))
    throw new Refusal("receipts in the protected header, where no log can have put them", "receipt-protected");
  if (!message.unprotected.has(L.RECEIPTS)) return [];
  const written = message.unprotected.get(L.RECEIPTS);
  if (!Array.isArray(written) || !written.length || written.length > MOST)
    throw new Refusal(`receipts that are no list of up to ${MOST}`, "receipt-malformed");
  return written;
}

/** Give the entry of a statement in a log: its bytes, with an empty map for the unprotected header; or the hash of those. */
export async function entryOf(message: Sign1, rule: string): Promise<Bytes> {
  const entry = joined(
    message.tagged ? Uint8Array.of(0xd2, 0x84) : Uint8Array.of(0x84),
    byteString(message.protectedBytes),
    Uint8Array.of(0xa0),
    message.payload === null ? Uint8Array.of(0xf6) : byteString(message.payload),
    byteString(message.signature),
  );
  return rule === "digest" ? hashed("SHA-256", entry) : entry;
}

/** Check a receipt; nothing where it is of a log whose key is not here. */
export async function held(written: unknown, entry: Bytes, keys: Key[], now: number): Promise<Logged | null> {
  let message: Sign1 | undefined;
  try {
    message = parsed(written);
    const proofs = proofsOf(message);
    const root = await rootOf(proofs, entry);
    const key = await signerOf(message, root, keys);
    return { claims: named(message, now), size: proofs[0].size, index: proofs[0].index, key };
  } catch (error) {
    if (!(error instanceof Refusal) || message === undefined || isTrusted(message, keys)) throw error;
    if (error.reason === "receipt-malformed" && !isOfAnotherTree(message)) throw error;
    return null;
  }
}

/** Say of which log a receipt is, by its own words. */
export function said(written: unknown): string {
  try {
    const claims = parsed(written).protected.get(L.CWT_CLAIMS);
    const issuer = claims instanceof Map ? claims.get(1) : undefined;
    return typeof issuer === "string" ? issuer : "no name";
  } catch {
    return "a receipt that cannot be read";
  }
}

function parsed(written: unknown): Sign1 {
  if (!isBytes(written)) throw new Refusal("a receipt that is no byte string", "receipt-malformed");
  try {
    return parse(written, [L.ALG, L.KID, L.CWT_CLAIMS, L.VDS]);
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(`a receipt that cannot be read: ${error.message}`, "receipt-malformed");
    throw error;
  }
}

function isOfAnotherTree(message: Sign1): boolean {
  return message.protected.get(L.VDS) !== 1;
}

function proofsOf(message: Sign1): Proof[] {
  if (!message.tagged) throw new Refusal("a receipt without the tag of COSE_Sign1", "receipt-untagged");
  if (message.unprotected.has(L.VDS) || message.unprotected.has(L.ALG))
    throw new Refusal("the kind of the tree or the algorithm is not protected", "receipt-unprotected");
  if (isOfAnotherTree(message)) throw new Refusal("a receipt for a kind of tree that is not known", "receipt-tree");
  const found = message.unprotected.get(L.VDP);
  if (!(found instanceof Map) || !found.size || ![...found.keys()].every((kind) => kind === -1 || kind === -2))
    throw new Refusal("a receipt without proofs", "receipt-malformed");
  const [inclusions, consistencies] = [-1, -2].map((kind) => list(found.has(kind) ? found.get(kind) : null).map(proof));
  if (!inclusions.length || consistencies.length)
    throw new Refusal("a receipt that proves something else than that an entry is in a log", "receipt-kind");
  if (!inclusions.every((one) => one.path.length))
    throw new Refusal("a proof with an empty path, of a log with one entry", "receipt-path-empty");
  return inclusions;
}

function list(proofs: unknown): unknown[] {
  if (proofs === null) return [];
  if (!Array.isArray(proofs) || !proofs.length || proofs.length > MOST_PROOFS)
    throw new Refusal("proofs that are no list", "receipt-malformed");
  return proofs;
}

function proof(data: unknown): Proof {
  let value: unknown;
  try {
    value = isBytes(data) ? decode(data, { depth: 2, items: 103, shortest: true }) : null;
  } catch (error) {
    if (error instanceof Malformed) throw new Refusal(`a proof that cannot be read: ${error.message}`, "receipt-malformed");
    throw error;
  }
  if (!Array.isArray(value) || value.length !== 3)
    throw new Refusal("a proof that is not two numbers and a path", "receipt-malformed");
  const [size, index, path] = value;
  if (!isInteger(size) || !isInteger(index) || !Array.isArray(path))
    throw new Refusal("a proof that is not two numbers and a path", "receipt-malformed");
  if (path.length > LONGEST || !path.every((one) => isBytes(one) && one.length === 32))
    throw new Refusal("a path that is no list of hashes", "receipt-malformed");
  return { size: Number(size), index: Number(index), path };
}

function isInteger(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

async function rootOf(proofs: Proof[], entry: Bytes): Promise<Bytes> {
  const leaf = await hashed("SHA-256", joined(Uint8Array.of(0), entry));
  const roots = await Promise.all(proofs.map((one) => climb(one, leaf)));
  if (!roots.every((root) => equal(root, roots[0])))
    throw new Refusal("the proofs of a receipt lead to different roots", "receipt-root");
  return roots[0];
}

async function climb({ size, index, path }: Proof, leaf: Bytes): Promise<Bytes> {
  if (!(index >= 0 && index < size)) throw new Refusal(`leaf ${index} of a tree of ${size}`, "receipt-index");
  let [at, last, found] = [BigInt(index), BigInt(size) - 1n, leaf];
  for (const sibling of path) {
    if (!last) throw new Refusal("a proof that is longer than the tree is high", "receipt-path");
    if (at & 1n || at === last) {
      found = await hashed("SHA-256", joined(Uint8Array.of(1), sibling, found));
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    } else {
      found = await hashed("SHA-256", joined(Uint8Array.of(1), found, sibling));
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  if (last) throw new Refusal("a proof that is shorter than the tree is high", "receipt-path");
  return found;
}

async function signerOf(message: Sign1, root: Bytes, keys: Key[]): Promise<Key> {
  if (message.payload !== null && !equal(message.payload, root))
    throw new Refusal("the receipt holds another root than its proof leads to", "receipt-root");
  const algorithm = message.protected.get(L.ALG);
  let refused: Refusal | undefined;
  for (const key of [...keys].sort((one, other) => Number(isNamed(other, message)) - Number(isNamed(one, message)))) {
    try {
      algorithms.nameOf(algorithm);
      if (!algorithms.isKnown(algorithm)) throw new Refusal("its algorithm is not checked here", "not-here");
      await algorithms.check(algorithm, key, message.signature, toBeSigned(message.protectedBytes, root));
      return key;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused ??= new Refusal(
        `the log's key did not sign the root that the proof leads to: ${error.message}`,
        `receipt-${error.reason}`,
      );
    }
  }
  throw refused ?? new Refusal("no key to verify a receipt with", "receipt-untrusted");
}

function isTrusted(message: Sign1, keys: Key[]): boolean {
  return keys.some((key) => isNamed(key, message));
}

/** Tell whether a key is the one that a message names, in bytes or, as some implementations do, in text. */
export function isNamed(key: Key, message: Sign1): boolean {
  const kid = message.protected.get(L.KID) ?? message.unprotected.get(L.KID);
  return isBytes(kid) ? equal(kid, key.thumbprint) : typeof kid === "string" && [hex(key.thumbprint), uriOf(key)].includes(kid);
}

function named(message: Sign1, now: number): Claims {
  let claims: Claims;
  try {
    claims = readClaims(message.protected.get(L.CWT_CLAIMS) ?? new Map(), now);
  } catch (error) {
    if (error instanceof Refusal) throw new Refusal(`the log says in a receipt: ${error.message}`, `receipt-${error.reason}`);
    throw error;
  }
  if (claims.issuer === undefined || claims.subject === undefined)
    throw new Refusal("a receipt that does not name its log", "receipt-claims-missing");
  return claims;
}
