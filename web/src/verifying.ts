/**
 * Statement + bytes → what holds, what does not, and what is not checked here.
 *
 * The order of the checks is that of Python's verification. The first that fails ends it.
 */

import * as algorithms from "./algorithms";
import { type Bytes, equal, hashed, hex } from "./bytes";
import { carriedKey, certifiedKey } from "./carried";
import { type Claims, moment, readClaims } from "./claims";
import { checkContent, profileOf } from "./contents";
import { type Key, THUMBPRINT_URI, uriOf } from "./keys";
import { entryOf, held, isNamed, said, writtenIn } from "./receipts";
import { Refusal } from "./refusal";
import { L, parse, type Sign1, toBeSigned } from "./sign1";

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
      const known = policy.keys.filter(
        (key) => algorithms.fits(algorithm, key) && (!certified || equal(certified.thumbprint, key.thumbprint)),
      );
      if (policy.keys.length && !known.length && !policy.roots)
        throw new Refusal("no key that was named takes this algorithm", "untrusted");
      trusted = known.length > 0;
      const candidates = trusted
        ? known.sort((one, other) => Number(isNamed(other, message)) - Number(isNamed(one, message)))
        : [certified ?? carried].filter((key): key is Key => key !== null && key.kind !== "other");
      if (!candidates.length) undecided("signature", "the key is not at hand: the statement carries none, and none was named");
      doing = "signature";
      if (candidates.length) signer = await signerOf(message, algorithm, signed, candidates);
    }
    if (signer !== null) {
      verdict.signer = uriOf(signer);
      doing = "trust";
      if (carried !== null && !equal(carried.thumbprint, signer.thumbprint))
        throw new Refusal("the statement carries another key than the one that signed it", "kccs-mismatch");
      if (trusted) passed("trust", "the key is one that was named when this page was made");
      else
        undecided(
          "trust",
          policy.roots
            ? "certificates are not followed here: vacr verify does"
            : "the key came with the statement: whose it is, you have to know",
        );
      passed("signature", `${message.signature.length} bytes`);
    }
    doing = "content";
    await checkContent(message, profile, record);
    passed("content", `${record.length} bytes, as they were signed`);
    doing = "claims";
    verdict.claims = claimsOf(message, signer, now);
    const about = verdict.claims.subject?.toLowerCase();
    if (about?.startsWith(DIGEST_URN) && about !== DIGEST_URN + contentHash)
      throw new Refusal("the subject is the digest of other bytes", "subject-mismatch");
    passed("claims", verdict.claims.issuer === undefined ? "no issuer is named" : `by ${verdict.claims.issuer}`);
    doing = "receipt";
    verdict.loggedAt = await checkReceipts(message, policy, now, passed, undecided);
    doing = "timestamp";
    if (message.protected.has(L.CTT) || message.unprotected.has(L.TTC))
      throw new Refusal("a timestamp in the wrong header", "timestamp-malformed");
    if (message.protected.has(L.TTC) || message.unprotected.has(L.CTT))
      undecided("timestamp", "there is one, which is not checked here: vacr verify does");
    if (message.protected.has(L.TRACE_METADATA) || message.unprotected.has(L.TRACE_METADATA))
      undecided("metadata", "what the statement says of the session is not compared here, and not shown");
    verdict.state = signer === null ? "not-here" : trusted ? "trusted" : "carried";
  } catch (error) {
    const reason = error instanceof Refusal ? error.reason : "unreadable";
    verdict.reason = reason;
    verdict.checks.push({ name: doing, outcome: "failed", told: error instanceof Error ? error.message : String(error), reason });
  }
  return verdict;
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

function claimsOf(message: Sign1, signer: Key | null, now: number): Claims {
  if (message.unprotected.has(L.CWT_CLAIMS)) throw new Refusal("the claims are not protected", "claims-unprotected");
  const claims = readClaims(message.protected.get(L.CWT_CLAIMS) ?? new Map(), now);
  if (signer !== null && claims.issuer?.startsWith(THUMBPRINT_URI) && claims.issuer !== uriOf(signer))
    throw new Refusal("the issuer is named as another key", "issuer-unbound");
  return claims;
}

type Tell = (name: string, told: string) => void;

async function checkReceipts(
  message: Sign1,
  policy: Policy,
  now: number,
  passed: Tell,
  undecided: Tell,
): Promise<string | undefined> {
  const written = writtenIn(message);
  if (!policy.logKeys.length) {
    if (written.length)
      undecided(
        "receipt",
        `there is one, which says it is of ${said(written[0])}; no key of a log was named when this page was made`,
      );
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
    passed(
      "receipt",
      `in ${logged.claims.issuer}, entry ${logged.index} of ${logged.size}${when === undefined ? "" : `, ${moment(when)}`}`,
    );
  }
  if (others === written.length)
    throw new Refusal(`no receipt is of a log whose key was named: ${written.map(said).join(", ")}`, "receipt-untrusted");
  if (others) undecided("receipt", `${others} more, of other logs`);
  return times.length ? moment(Math.min(...times)) : undefined;
}
