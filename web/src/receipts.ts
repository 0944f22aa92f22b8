/**
 * Receipts: proofs that a transparency log contains a statement. Follows RFC 9942 and RFC 9162 section 2.1.3.2.
 *
 * The log signs only the root of its tree. The tree size and the entry index in a receipt are not signed.
 */

import * as algorithms from "./algorithms";
import { areEqual, type Bytes, computeHash, concatBytes, toHex } from "./bytes";
import { decodeCbor, encodeByteString, MalformedCbor } from "./cbor";
import { type Claims, readClaims } from "./claims";
import { buildSignedBytes, HEADER, isBytes, parseSign1, type Sign1 } from "./cose";
import { type Key, thumbprintUri } from "./keys";
import { VerificationError } from "./verification-error";

const MAX_RECEIPTS = 64;
const MAX_PROOFS = 16;
const MAX_PATH_LENGTH = 64;

/** A verified receipt: an entry of a log, and the claims and the key of the log. */
export interface Registration {
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

/** Return the encoded receipts in a statement; empty if it has none. */
export function listReceipts(message: Sign1): unknown[] {
  if (message.protected.has(HEADER.RECEIPTS))
    throw new VerificationError("The receipts are in the protected header, which a log cannot change", "receipt-protected");
  if (!message.unprotected.has(HEADER.RECEIPTS)) return [];
  const receipts = message.unprotected.get(HEADER.RECEIPTS);
  if (!Array.isArray(receipts) || !receipts.length || receipts.length > MAX_RECEIPTS)
    throw new VerificationError(`The receipts are not a list of 1 to ${MAX_RECEIPTS} items`, "receipt-malformed");
  return receipts;
}

/** Build the log entry of a statement: the statement with an empty unprotected header or, by the rule "digest", its hash. */
export async function buildLogEntry(message: Sign1, rule: string): Promise<Bytes> {
  const entry = concatBytes(
    message.tagged ? Uint8Array.of(0xd2, 0x84) : Uint8Array.of(0x84),
    encodeByteString(message.protectedBytes),
    Uint8Array.of(0xa0),
    message.payload === null ? Uint8Array.of(0xf6) : encodeByteString(message.payload),
    encodeByteString(message.signature),
  );
  return rule === "digest" ? computeHash("SHA-256", entry) : entry;
}

/** Check a receipt; returns null if it is from a log without a trusted key, and throws if it is invalid. */
export async function checkReceipt(receipt: unknown, entry: Bytes, keys: Key[], now: number): Promise<Registration | null> {
  let message: Sign1 | undefined;
  try {
    message = parseReceipt(receipt);
    const proofs = listProofs(message);
    const root = await computeRoot(proofs, entry);
    const key = await findSigner(message, root, keys);
    return { claims: readLogClaims(message, now), size: proofs[0].size, index: proofs[0].index, key };
  } catch (error) {
    if (!(error instanceof VerificationError) || message === undefined) throw error;
    if (keys.some((key) => matchesKeyId(key, message!))) throw error;
    if (error.reason === "receipt-malformed" && !hasOtherTreeKind(message)) throw error;
    return null;
  }
}

/** Return the unverified name of the log in a receipt, or a description of a receipt without one. */
export function nameLog(receipt: unknown): string {
  try {
    const claims = parseReceipt(receipt).protected.get(HEADER.CWT_CLAIMS);
    const issuer = claims instanceof Map ? claims.get(1) : undefined;
    return typeof issuer === "string" ? issuer : "an unnamed log";
  } catch {
    return "an unreadable receipt";
  }
}

/** Parse a receipt; throws a VerificationError with the reason "receipt-malformed". */
function parseReceipt(receipt: unknown): Sign1 {
  if (!isBytes(receipt)) throw new VerificationError("A receipt is not a byte string", "receipt-malformed");
  try {
    return parseSign1(receipt, [HEADER.ALG, HEADER.KID, HEADER.CWT_CLAIMS, HEADER.VDS]);
  } catch (error) {
    if (error instanceof VerificationError)
      throw new VerificationError(`Cannot read a receipt: ${error.message}`, "receipt-malformed");
    throw error;
  }
}

/** Return whether a receipt is for a kind of tree that vacr does not know. */
function hasOtherTreeKind(message: Sign1): boolean {
  return message.protected.get(HEADER.VDS) !== 1;
}

/** Return the inclusion proofs of a receipt, at least one; throws if it has other proofs or unprotected headers. */
function listProofs(message: Sign1): Proof[] {
  if (!message.tagged) throw new VerificationError("A receipt lacks the COSE_Sign1 tag", "receipt-untagged");
  if (message.unprotected.has(HEADER.VDS) || message.unprotected.has(HEADER.ALG))
    throw new VerificationError("The tree kind or the algorithm of a receipt is not protected", "receipt-unprotected");
  if (hasOtherTreeKind(message)) throw new VerificationError("A receipt is for an unknown kind of tree", "receipt-tree");
  const header = message.unprotected.get(HEADER.VDP);
  if (!(header instanceof Map) || !header.size || ![...header.keys()].every((kind) => kind === -1 || kind === -2))
    throw new VerificationError("A receipt has no proofs", "receipt-malformed");
  const [inclusions, consistencies] = [-1, -2].map((kind) =>
    checkProofList(header.has(kind) ? header.get(kind) : null).map(parseProof),
  );
  if (!inclusions.length || consistencies.length)
    throw new VerificationError("A receipt is not a proof of inclusion", "receipt-kind");
  if (!inclusions.every((proof) => proof.path.length))
    throw new VerificationError("A proof has an empty path: the log has a single entry", "receipt-path-empty");
  return inclusions;
}

/** Return a list of encoded proofs; empty for null. */
function checkProofList(proofs: unknown): unknown[] {
  if (proofs === null) return [];
  if (!Array.isArray(proofs) || !proofs.length || proofs.length > MAX_PROOFS)
    throw new VerificationError(`The proofs of a receipt are not a list of 1 to ${MAX_PROOFS} items`, "receipt-malformed");
  return proofs;
}

/** Parse an encoded proof: tree size, entry index and the hashes on the path. */
function parseProof(data: unknown): Proof {
  let value: unknown;
  try {
    value = isBytes(data) ? decodeCbor(data, { depth: 2, items: 103, shortest: true }) : null;
  } catch (error) {
    if (error instanceof MalformedCbor) throw new VerificationError(`Cannot read a proof: ${error.message}`, "receipt-malformed");
    throw error;
  }
  if (!Array.isArray(value) || value.length !== 3)
    throw new VerificationError("A proof does not consist of two numbers and a path", "receipt-malformed");
  const [size, index, path] = value;
  if (!isInteger(size) || !isInteger(index) || !Array.isArray(path))
    throw new VerificationError("A proof does not consist of two numbers and a path", "receipt-malformed");
  if (path.length > MAX_PATH_LENGTH || !path.every((hash) => isBytes(hash) && hash.length === 32))
    throw new VerificationError("The path of a proof is not a list of hashes", "receipt-malformed");
  return { size: Number(size), index: Number(index), path };
}

function isInteger(value: unknown): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

/** Return the root that all proofs lead to from an entry; throws if they lead to different ones. */
async function computeRoot(proofs: Proof[], entry: Bytes): Promise<Bytes> {
  const leaf = await computeHash("SHA-256", concatBytes(Uint8Array.of(0), entry));
  const roots = await Promise.all(proofs.map((proof) => climb(proof, leaf)));
  if (!roots.every((root) => areEqual(root, roots[0])))
    throw new VerificationError("The proofs of a receipt lead to different roots", "receipt-root");
  return roots[0];
}

/** Return the root of the tree, from a leaf and the hashes on its path; throws if their number does not fit the tree. */
async function climb({ size, index, path }: Proof, leaf: Bytes): Promise<Bytes> {
  if (!(index >= 0 && index < size))
    throw new VerificationError(`Entry ${index} is outside a tree of ${size} entries`, "receipt-index");
  let [at, last, hash] = [BigInt(index), BigInt(size) - 1n, leaf];
  for (const sibling of path) {
    if (!last) throw new VerificationError("A proof has too many hashes for the tree size", "receipt-path");
    if (at & 1n || at === last) {
      hash = await computeHash("SHA-256", concatBytes(Uint8Array.of(1), sibling, hash));
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    } else {
      hash = await computeHash("SHA-256", concatBytes(Uint8Array.of(1), hash, sibling));
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  if (last) throw new VerificationError("A proof has too few hashes for the tree size", "receipt-path");
  return hash;
}

/** Return the key that signed the root of a receipt; throws the error of the most likely key if none did. */
async function findSigner(message: Sign1, root: Bytes, keys: Key[]): Promise<Key> {
  if (message.payload !== null && !areEqual(message.payload, root))
    throw new VerificationError("The root in a receipt differs from the root of its proof", "receipt-root");
  const algorithm = message.protected.get(HEADER.ALG);
  const signedBytes = buildSignedBytes(message.protectedBytes, root);
  let firstError: VerificationError | undefined;
  for (const key of [...keys].sort((left, right) => Number(matchesKeyId(right, message)) - Number(matchesKeyId(left, message)))) {
    try {
      const name = algorithms.nameAlgorithm(algorithm);
      if (!algorithms.isSupported(algorithm)) throw new VerificationError(`Browsers do not support ${name}`, "not-here");
      await algorithms.checkSignature(algorithm, key, message.signature, signedBytes);
      return key;
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      firstError ??= new VerificationError(
        `The log's key did not sign the root of the proof: ${error.message}`,
        `receipt-${error.reason}`,
      );
    }
  }
  throw firstError ?? new VerificationError("No key to verify a receipt with", "receipt-untrusted");
}

/** Return whether a message names a key by its key id. Some implementations write the id as text instead of bytes. */
export function matchesKeyId(key: Key, message: Sign1): boolean {
  const kid = message.protected.get(HEADER.KID) ?? message.unprotected.get(HEADER.KID);
  if (isBytes(kid)) return areEqual(kid, key.thumbprint);
  return typeof kid === "string" && [toHex(key.thumbprint), thumbprintUri(key)].includes(kid);
}

/** Return the claims of a receipt; throws unless they name the log. */
function readLogClaims(message: Sign1, now: number): Claims {
  let claims: Claims;
  try {
    claims = readClaims(message.protected.get(HEADER.CWT_CLAIMS) ?? new Map(), now);
  } catch (error) {
    if (error instanceof VerificationError)
      throw new VerificationError(`Invalid claims in a receipt: ${error.message}`, `receipt-${error.reason}`);
    throw error;
  }
  if (claims.issuer === undefined || claims.subject === undefined)
    throw new VerificationError("A receipt does not name its log", "receipt-claims-missing");
  return claims;
}
