/**
 * Receipts: proofs that a transparency log contains a statement. Follows RFC 9942, RFC 9162 section 2.1.3.2, and
 * draft-ietf-scitt-receipts-ccf-profile.
 *
 * The log signs only the root of its tree. The tree size and the entry index in a receipt are not signed.
 */

import * as algorithms from "./algorithms";
import { areEqual, type Bytes, computeHash, concatBytes, toHex } from "./bytes";
import { decodeCbor, encodeByteString, MalformedCbor } from "./cbor";
import { type Claims, readClaims } from "./claims";
import { buildSignedBytes, HEADER, isBytes, parseSign1, type Sign1 } from "./cose";
import { type Key, thumbprintUri } from "./keys";
import { quoteWords } from "./text";
import { VerificationError } from "./verification-error";

const MAX_RECEIPTS = 64;
const MAX_PROOFS = 16;
const MAX_PATH_LENGTH = 64;
const MAX_PROOF_ITEMS = 500;

const [TREE_RFC9162, TREE_CCF] = [1, 2];

/** A verified receipt: the place of an entry in a log, and the claims and the key of the log. */
export interface Registration {
  claims: Claims;
  /** Claimed by the receipt, and not signed; null in the tree of CCF. */
  size: bigint | null;
  index: bigint | null;
  root: Bytes;
  /** The signed id of the transaction in a tree of CCF; "" for other trees. */
  transaction: string;
  key: Key;
}

/** The bytes that name a statement in proofs. */
export interface LogEntry {
  /** The entry of a log of RFC 9162. */
  entry: Bytes;
  /** The hash of the statement with an empty unprotected header (CCF). */
  digest: Bytes;
}

interface Proof {
  size: bigint;
  index: bigint;
  path: Bytes[];
}

/** A proof in the profile of CCF; a step of the path is whether the hash is on the left, and the hash. */
interface CcfProof {
  transactionHash: Bytes;
  evidence: string;
  digest: Bytes;
  path: [boolean, Bytes][];
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
export async function buildLogEntry(message: Sign1, rule: string): Promise<LogEntry> {
  const entry = concatBytes(
    message.tagged ? Uint8Array.of(0xd2, 0x84) : Uint8Array.of(0x84),
    encodeByteString(message.protectedBytes),
    Uint8Array.of(0xa0),
    message.payload === null ? Uint8Array.of(0xf6) : encodeByteString(message.payload),
    encodeByteString(message.signature),
  );
  const digest = await computeHash("SHA-256", entry);
  return { entry: rule === "digest" ? digest : entry, digest };
}

/** Check a receipt; returns null if it is from a log without a trusted key, and throws if it is invalid. */
export async function checkReceipt(receipt: unknown, entry: LogEntry, keys: Key[], now: number): Promise<Registration | null> {
  let message: Sign1 | undefined;
  try {
    message = parseReceipt(receipt);
    const { roots, size, index, transaction } = await computeRoots(message, entry);
    if (!roots.every((root) => areEqual(root, roots[0])))
      throw new VerificationError("The proofs of a receipt lead to different roots", "receipt-root");
    const key = await findSigner(message, roots[0], keys);
    return { claims: readLogClaims(message, now), size, index, root: roots[0], transaction, key };
  } catch (error) {
    if (!(error instanceof VerificationError) || message === undefined) throw error;
    if (keys.some((key) => matchesKeyId(key, message!))) throw error;
    if (error.reason === "receipt-untagged" || error.reason === "receipt-unprotected") throw error;
    if (error.reason === "receipt-malformed" && !hasOtherTreeKind(message)) throw error;
    return null;
  }
}

/** Return the unverified name of the log in a receipt, or a description of a receipt without one. */
export function nameLog(receipt: unknown): string {
  try {
    const claims = parseReceipt(receipt).protected.get(HEADER.CWT_CLAIMS);
    const issuer = claims instanceof Map ? claims.get(1) : undefined;
    return typeof issuer === "string" ? quoteWords(issuer) : "an unnamed log";
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
  const kind = message.protected.get(HEADER.VDS);
  return kind !== TREE_RFC9162 && kind !== TREE_CCF;
}

interface ProvenRoots {
  /** The roots that the proofs lead to, at least one. */
  roots: Bytes[];
  size: bigint | null;
  index: bigint | null;
  transaction: string;
}

/** Return the roots that the proofs of a receipt lead to, with the size of the tree or the transaction. */
async function computeRoots(message: Sign1, { entry, digest }: LogEntry): Promise<ProvenRoots> {
  const [inclusions, consistencies] = listProofs(message);
  if (message.protected.get(HEADER.VDS) === TREE_CCF) {
    if (consistencies !== null) throw new VerificationError("A receipt of CCF has a proof of consistency", "receipt-malformed");
    const proofs = checkProofList(inclusions).map(parseCcfProof);
    checkPaths(proofs);
    const transaction = /^ce:(\d{1,20}\.\d{1,20}):/.exec(proofs[0].evidence)?.[1] ?? "";
    const roots = await Promise.all(proofs.map((proof) => climbCcf(proof, digest)));
    return { roots, size: null, index: null, transaction };
  }
  const [proofs, others] = [inclusions, consistencies].map((list) => checkProofList(list).map(parseProof));
  if (!proofs.length || others.length) throw new VerificationError("A receipt is not a proof of inclusion", "receipt-kind");
  checkPaths(proofs);
  const leaf = await computeHash("SHA-256", concatBytes(Uint8Array.of(0), entry));
  const roots = await Promise.all(proofs.map(({ index, size, path }) => computeInclusionRoot(leaf, index, size, path)));
  return { roots, size: proofs[0].size, index: proofs[0].index, transaction: "" };
}

/** Check that the paths of proofs are not empty. */
function checkPaths(proofs: { path: unknown[] }[]): void {
  if (!proofs.every((proof) => proof.path.length))
    throw new VerificationError("A proof has an empty path: the log has a single entry", "receipt-path-empty");
}

/** Return the encoded proofs of inclusion and of consistency in a receipt, or null; throws if it has others, or unprotected headers. */
function listProofs(message: Sign1): [unknown, unknown] {
  if (!message.tagged) throw new VerificationError("A receipt lacks the COSE_Sign1 tag", "receipt-untagged");
  if (message.unprotected.has(HEADER.VDS) || message.unprotected.has(HEADER.ALG))
    throw new VerificationError("The tree kind or the algorithm of a receipt is not protected", "receipt-unprotected");
  if (hasOtherTreeKind(message)) throw new VerificationError("A receipt is for an unknown kind of tree", "receipt-tree");
  const header = message.unprotected.get(HEADER.VDP);
  if (!(header instanceof Map) || !header.size || ![...header.keys()].every((kind) => kind === -1 || kind === -2))
    throw new VerificationError("A receipt has no proofs", "receipt-malformed");
  return [header.has(-1) ? header.get(-1) : null, header.has(-2) ? header.get(-2) : null];
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
  const value = decodeProof(data, 2);
  if (!Array.isArray(value) || value.length !== 3)
    throw new VerificationError("A proof does not consist of two numbers and a path", "receipt-malformed");
  const [size, index, path] = value;
  if (!isInteger(size) || !isInteger(index) || !Array.isArray(path))
    throw new VerificationError("A proof does not consist of two numbers and a path", "receipt-malformed");
  if (path.length > MAX_PATH_LENGTH || !path.every((hash) => isBytes(hash) && hash.length === 32))
    throw new VerificationError("The path of a proof is not a list of hashes", "receipt-malformed");
  return { size: BigInt(size), index: BigInt(index), path };
}

/** Parse an encoded proof in the profile of CCF: a leaf of three parts, and a path. */
function parseCcfProof(data: unknown): CcfProof {
  const value = decodeProof(data, 3);
  const [leaf, path] = value instanceof Map && value.size === 2 ? [value.get(1), value.get(2)] : [null, null];
  if (!Array.isArray(leaf) || leaf.length !== 3 || !Array.isArray(path) || path.length > MAX_PATH_LENGTH)
    throw new VerificationError("A proof does not consist of a leaf and a path", "receipt-malformed");
  const [transactionHash, evidence, digest] = leaf;
  const isStep = (step: unknown) => Array.isArray(step) && step.length === 2 && typeof step[0] === "boolean" && isHash(step[1]);
  if (!isHash(transactionHash) || typeof evidence !== "string" || !isHash(digest) || !path.every(isStep))
    throw new VerificationError("A proof has a malformed leaf or path", "receipt-malformed");
  return { transactionHash, evidence, digest, path };
}

function isHash(value: unknown): value is Bytes {
  return isBytes(value) && value.length === 32;
}

/** Decode the CBOR of a proof; null if it is not a byte string. */
function decodeProof(data: unknown, depth: number): unknown {
  try {
    return isBytes(data) ? decodeCbor(data, { depth, items: MAX_PROOF_ITEMS, shortest: true }) : null;
  } catch (error) {
    if (error instanceof MalformedCbor) throw new VerificationError(`Cannot read a proof: ${error.message}`, "receipt-malformed");
    throw error;
  }
}

function isInteger(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Return the root that a proof in the profile of CCF leads to; throws if it is for another statement. */
async function climbCcf(proof: CcfProof, digest: Bytes): Promise<Bytes> {
  if (!areEqual(proof.digest, digest)) throw new VerificationError("A receipt is for another statement", "receipt-entry");
  const evidence = await computeHash("SHA-256", new TextEncoder().encode(proof.evidence));
  let hash = await computeHash("SHA-256", concatBytes(proof.transactionHash, evidence, digest));
  for (const [isLeft, sibling] of proof.path)
    hash = await computeHash("SHA-256", isLeft ? concatBytes(sibling, hash) : concatBytes(hash, sibling));
  return hash;
}

/** Return the root of the tree, from a leaf and the hashes on its path; throws if their number does not fit the tree. */
export async function computeInclusionRoot(leaf: Bytes, index: bigint, size: bigint, path: Bytes[]): Promise<Bytes> {
  if (!(index >= 0 && index < size))
    throw new VerificationError(`Entry ${index} is outside a tree of ${size} entries`, "receipt-index");
  let [at, last, hash] = [index, size - 1n, leaf];
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

/** Return whether a message names a key by its key id. Some implementations write the id as text, or as text in bytes. */
export function matchesKeyId(key: Key, message: Sign1): boolean {
  const kid = message.protected.get(HEADER.KID) ?? message.unprotected.get(HEADER.KID);
  if (isBytes(kid) && areEqual(kid, key.thumbprint)) return true;
  const text = isBytes(kid) ? new TextDecoder("latin1").decode(kid) : kid;
  const names = [toHex(key.thumbprint), thumbprintUri(key), key.fingerprint].filter(Boolean);
  return typeof text === "string" && names.includes(text);
}

/** Return the claims of a receipt. Trust does not depend on the names in them: the log's key decides. */
function readLogClaims(message: Sign1, now: number): Claims {
  try {
    return readClaims(message.protected.has(HEADER.CWT_CLAIMS) ? message.protected.get(HEADER.CWT_CLAIMS) : new Map(), now);
  } catch (error) {
    if (error instanceof VerificationError)
      throw new VerificationError(`Invalid claims in a receipt: ${error.message}`, `receipt-${error.reason}`);
    throw error;
  }
}
