/**
 * Statement + bytes → what holds, what does not, and what is not checked here.
 *
 * The order of the checks is that of Python's verification. The first that fails ends it.
 */

import * as algorithms from "./algorithms";
import { type Bytes, equal, hashed, hex } from "./bytes";
import { type Claims, moment, readClaims } from "./claims";
import { fromCose, type Key, keyOfCertificate, THUMBPRINT_URI, uriOf } from "./keys";
import { entryOf, held, isNamed, said, writtenIn } from "./receipts";
import { Refusal } from "./refusal";
import { isBytes, L, parse, type Sign1, toBeSigned } from "./sign1";

export interface Check {
  name: string;
  outcome: "passed" | "failed" | "not decidable";
  told: string;
  reason?: string;
}

export interface Policy {
  /** Keys that were named when the page was made. */
  keys: Key[];
  logKeys: Key[];
  /** Whether root certificates were named: chains are not followed here. */
  roots: boolean;
  entryRule: string;
}

export interface Verdict {
  /** `unsigned`, `failed`, `not-here` (an algorithm that is not checked here), `carried` or `trusted`. */
  state: "unsigned" | "failed" | "not-here" | "carried" | "trusted";
  checks: Check[];
  contentHash: string;
  signer?: string;
  claims?: Claims;
  /** When a log, whose key is here, had it. */
  loggedAt?: string;
  reason?: string;
}

const DIGEST_URN = "urn:sha-256:";
const HASHES: Record<number, string> = { [-16]: "SHA-256", [-43]: "SHA-384", [-44]: "SHA-512" };
const HASH_SIZES: Record<string, number> = { "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 };

export async function verify(record: Bytes, statement: Bytes | null, policy: Policy, now: number): Promise<Verdict> {
  const contentHash = hex(await hashed("SHA-256", record));
  if (statement === null) return { state: "unsigned", checks: [], contentHash };
  const verdict: Verdict = { state: "failed", checks: [], contentHash };
  let doing = "structure";
  const passed = (name: string, told: string) => verdict.checks.push({ name, outcome: "passed", told });
  const undecided = (name: string, told: string) => verdict.checks.push({ name, outcome: "not decidable", told });
  try {
    const message = parse(statement);
    const profile = profileOf(message);
    passed("structure", `COSE_Sign1, ${profile}`);
    doing = "algorithm";
    const algorithm = algorithmOf(message);
    if (!algorithms.isKnown(algorithm)) {
      undecided("signature", `${algorithms.nameOf(algorithm)} is not checked here: vacr verify does`);
    } else passed("algorithm", algorithms.nameOf(algorithm));
    doing = "trust";
    const certified = await certifiedKey(message);
    const carried = await carriedKey(message);
    const signed = message.payload ?? record;
    let signer: Key | null = null;
    let trusted = false;
    if (algorithms.isKnown(algorithm)) {
      const known = policy.keys.filter((key) => algorithms.fits(algorithm, key) && (!certified || equal(certified.thumbprint, key.thumbprint)));
      if (policy.keys.length && !known.length && !policy.roots) throw new Refusal("no key that was named takes this algorithm", "untrusted");
      trusted = known.length > 0;
      const candidates = trusted ? known.sort((one, other) => Number(isNamed(other, message)) - Number(isNamed(one, message))) : [certified ?? carried].filter((key) => key !== null);
      if (!candidates.length) undecided("signature", "the key is not at hand: the statement carries none, and none was named");
      doing = "signature";
      if (candidates.length) signer = await signerOf(message, algorithm, signed, candidates);
    }
    if (signer !== null) {
      verdict.signer = uriOf(signer);
      doing = "trust";
      if (carried !== null && !equal(carried.thumbprint, signer.thumbprint)) throw new Refusal("the statement carries another key than the one that signed it", "kccs-mismatch");
      if (trusted) passed("trust", "the key is one that was named when this page was made");
      else undecided("trust", policy.roots ? "certificates are not followed here: vacr verify does" : "the key came with the statement: whose it is, you have to know");
      passed("signature", `${message.signature.length} bytes`);
    }
    doing = "content";
    await checkContent(message, profile, record);
    passed("content", `${record.length} bytes, as they were signed`);
    doing = "claims";
    verdict.claims = claimsOf(message, signer, now);
    const about = verdict.claims.subject?.toLowerCase();
    if (about?.startsWith(DIGEST_URN) && about !== DIGEST_URN + contentHash) throw new Refusal("the subject is the digest of other bytes", "subject-mismatch");
    passed("claims", verdict.claims.issuer === undefined ? "no issuer is named" : `by ${verdict.claims.issuer}`);
    doing = "receipt";
    verdict.loggedAt = await checkReceipts(message, policy, now, passed, undecided);
    doing = "timestamp";
    if (message.protected.has(L.CTT) || message.unprotected.has(L.TTC)) throw new Refusal("a timestamp in the wrong header", "timestamp-malformed");
    if (message.protected.has(L.TTC) || message.unprotected.has(L.CTT)) undecided("timestamp", "there is one, which is not checked here: vacr verify does");
    if (message.protected.has(L.TRACE_METADATA) || message.unprotected.has(L.TRACE_METADATA)) undecided("metadata", "what the statement says of the session is not compared here, and not shown");
    verdict.state = signer === null ? "not-here" : trusted ? "trusted" : "carried";
  } catch (error) {
    const reason = error instanceof Refusal ? error.reason : "unreadable";
    verdict.reason = reason;
    verdict.checks.push({ name: doing, outcome: "failed", told: error instanceof Error ? error.message : String(error), reason });
  }
  return verdict;
}

function profileOf(message: Sign1): string {
  for (const label of [L.PAYLOAD_HASH_ALG, L.PREIMAGE_CONTENT_TYPE, L.PAYLOAD_LOCATION])
    if (message.unprotected.has(label)) throw new Refusal(`${label} is not protected`, "envelope-unprotected");
  if (message.protected.has(L.PAYLOAD_HASH_ALG)) {
    if (message.protected.has(L.CONTENT_TYPE) || message.unprotected.has(L.CONTENT_TYPE)) throw new Refusal("a hash envelope with a content type", "envelope-content-type");
    const hash = HASHES[message.protected.get(L.PAYLOAD_HASH_ALG) as number];
    if (!hash) throw new Refusal(`no hash algorithm ${message.protected.get(L.PAYLOAD_HASH_ALG)}`, "hash-alg-unknown");
    if (message.payload === null) throw new Refusal("a hash envelope without a hash", "payload-missing");
    if (message.payload.length !== HASH_SIZES[hash]) throw new Refusal("the payload is not a hash of the algorithm that is named", "hash-alg-mismatch");
    return "hash-envelope";
  }
  for (const label of [L.PREIMAGE_CONTENT_TYPE, L.PAYLOAD_LOCATION])
    if (message.protected.has(label)) throw new Refusal(`${label} without a hash algorithm`, "hash-alg-missing");
  if (message.payload === null) return "detached";
  if (!message.payload.length) throw new Refusal("the payload is empty", "payload-empty");
  return "attached";
}

function algorithmOf(message: Sign1): unknown {
  if (message.unprotected.has(L.ALG)) throw new Refusal("the algorithm is not protected", "alg-unprotected");
  if (!message.protected.has(L.ALG)) throw new Refusal("no algorithm is named", "alg-missing");
  algorithms.nameOf(message.protected.get(L.ALG));
  return message.protected.get(L.ALG);
}

async function signerOf(message: Sign1, algorithm: unknown, payload: Bytes, keys: Key[]): Promise<Key> {
  let refused: unknown;
  for (const key of keys) {
    try {
      await algorithms.check(algorithm, key, message.signature, toBeSigned(message.protectedBytes, payload));
      return key;
    } catch (error) {
      refused ??= error;
    }
  }
  throw refused;
}

async function carriedKey(message: Sign1): Promise<Key | null> {
  const written = message.protected.get(L.KCCS) ?? message.unprotected.get(L.KCCS);
  if (written === undefined) return null;
  const confirmed = written instanceof Map ? written.get(8) : undefined;
  if (!(confirmed instanceof Map) || !(confirmed.get(1) instanceof Map)) throw new Refusal("kccs holds no key", "kccs-malformed");
  return fromCose(confirmed.get(1));
}

async function certifiedKey(message: Sign1): Promise<Key | null> {
  if (message.unprotected.has(L.X5T)) throw new Refusal("x5t is not protected", "x5t-unprotected");
  const written = message.protected.get(L.X5CHAIN) ?? message.unprotected.get(L.X5CHAIN);
  if (written === undefined) return null;
  const first = Array.isArray(written) ? written[0] : written;
  if (!isBytes(first)) throw new Refusal("x5chain is no list of certificates", "x5chain-malformed");
  const named = message.protected.get(L.X5T);
  if (named !== undefined) {
    const hash = Array.isArray(named) && named.length === 2 ? HASHES[named[0]] : undefined;
    if (!hash || !isBytes((named as unknown[])[1])) throw new Refusal("x5t is no hash that is known", "x5t-malformed");
    if (!equal(await hashed(hash, first), (named as Bytes[])[1])) throw new Refusal("x5t is not the hash of the signer's certificate", "x5t-mismatch");
  }
  return keyOfCertificate(first);
}

async function checkContent(message: Sign1, profile: string, record: Bytes): Promise<void> {
  const signed = profile === "hash-envelope" ? await hashed(HASHES[message.protected.get(L.PAYLOAD_HASH_ALG) as number], record) : record;
  if (message.payload !== null && !equal(signed, message.payload)) throw new Refusal("the bytes are not those that were signed", "content-mismatch");
}

function claimsOf(message: Sign1, signer: Key | null, now: number): Claims {
  if (message.unprotected.has(L.CWT_CLAIMS)) throw new Refusal("the claims are not protected", "claims-unprotected");
  const claims = readClaims(message.protected.get(L.CWT_CLAIMS) ?? new Map(), now);
  if (signer !== null && claims.issuer?.startsWith(THUMBPRINT_URI) && claims.issuer !== uriOf(signer)) throw new Refusal("the issuer is named as another key", "issuer-unbound");
  return claims;
}

type Tell = (name: string, told: string) => void;

async function checkReceipts(message: Sign1, policy: Policy, now: number, passed: Tell, undecided: Tell): Promise<string | undefined> {
  const written = writtenIn(message);
  if (!policy.logKeys.length) {
    if (written.length) undecided("receipt", `there is one, which says it is of ${said(written[0])}; no key of a log was named when this page was made`);
    return undefined;
  }
  if (!written.length) throw new Refusal("there is no receipt of a log in it", "receipt-missing");
  const entry = await entryOf(message, policy.entryRule);
  const times: number[] = [];
  let others = 0;
  for (const one of written) {
    const logged = await held(one, entry, policy.logKeys, now);
    if (logged === null) {
      others += 1;
      continue;
    }
    const when = logged.claims.issuedAt;
    if (when !== undefined) times.push(when);
    passed("receipt", `in ${logged.claims.issuer}, entry ${logged.index} of ${logged.size}${when === undefined ? "" : `, ${moment(when)}`}`);
  }
  if (others === written.length) throw new Refusal(`no receipt is of a log whose key was named: ${written.map(said).join(", ")}`, "receipt-untrusted");
  if (others) undecided("receipt", `${others} more, of other logs`);
  return times.length ? moment(Math.min(...times)) : undefined;
}
