/**
 * Verify a record and its statement in the browser.
 *
 * The checks run in the same order as in `vacr verify`, and the first failure ends them. Some checks need `vacr verify`, such as
 * following a chain of certificates: these are reported as "not decidable".
 */

import * as algorithms from "./algorithms";
import { areEqual, type Bytes, computeHash, toHex } from "./bytes";
import { type Claims, formatSeconds, readClaims } from "./claims";
import { buildSignedBytes, HEADER, parseSign1, type Sign1 } from "./cose";
import { readCertificateKey, readKccsKey } from "./embedded-keys";
import { type Key, THUMBPRINT_URI, thumbprintUri } from "./keys";
import { checkContent, determineProfile } from "./payload";
import { buildLogEntry, checkReceipt, listReceipts, matchesKeyId, nameLog } from "./receipts";
import { VerificationError } from "./verification-error";

/** The outcome of a check. The members have the names that `vacr verify --format json` uses. */
export interface Check {
  name: string;
  outcome: "passed" | "failed" | "not decidable";
  /** The details, as a text. */
  told: string;
  reason?: string;
}

export interface Policy {
  /** The keys that the author of the page trusts. */
  keys: Key[];
  logKeys: Key[];
  /** Whether the author trusts root certificates, too. The page does not follow certificate chains. */
  roots: boolean;
  entryRule: string;
}

export interface Verdict {
  /** `not-here`: the page cannot check the signature. `carried`: signed by the key inside the statement, which may be anyone's. */
  state: "unsigned" | "failed" | "not-here" | "carried" | "trusted";
  checks: Check[];
  contentHash: string;
  signer?: string;
  claims?: Claims;
  /** When a log with a trusted key registered the statement. */
  loggedAt?: string;
  reason?: string;
}

const DIGEST_URN = "urn:sha-256:";

/** Verify a record; without a statement, it is "unsigned". Never throws: a failure becomes a failed check of the verdict. */
export async function verify(record: Bytes, statement: Bytes | null, policy: Policy, now: number): Promise<Verdict> {
  const contentHash = toHex(await computeHash("SHA-256", record));
  if (statement === null) return { state: "unsigned", checks: [], contentHash };
  const verification = new Verification(record, policy, now, { state: "failed", checks: [], contentHash });
  await verification.run(statement);
  return verification.verdict;
}

/** One verification; it collects the checks in its verdict. */
class Verification {
  /** The name of the current check. */
  private current = "structure";

  constructor(
    private readonly record: Bytes,
    private readonly policy: Policy,
    private readonly now: number,
    readonly verdict: Verdict,
  ) {}

  /** Run all checks; an error becomes the failure of the current check. */
  async run(statement: Bytes): Promise<void> {
    try {
      await this.runChecks(statement);
    } catch (error) {
      const reason = error instanceof VerificationError ? error.reason : "unreadable";
      const told = error instanceof Error ? error.message : String(error);
      this.verdict.reason = reason;
      this.verdict.checks.push({ name: this.current, outcome: "failed", told, reason });
    }
  }

  /** Add a check that passed. */
  private pass(name: string, told: string): void {
    this.verdict.checks.push({ name, outcome: "passed", told });
  }

  /** Add a check that the page cannot decide. */
  private leaveOpen(name: string, told: string): void {
    this.verdict.checks.push({ name, outcome: "not decidable", told });
  }

  /** Run the checks in order, and set the state of the verdict; throws at the first failure. */
  private async runChecks(statement: Bytes): Promise<void> {
    const { record, now, verdict } = this;
    const message = parseSign1(statement);
    const profile = determineProfile(message);
    this.pass("structure", `COSE_Sign1, ${profile}`);
    this.current = "algorithm";
    const algorithm = readAlgorithm(message);
    if (algorithms.isSupported(algorithm)) this.pass("algorithm", algorithms.nameAlgorithm(algorithm));
    else this.leaveOpen("signature", `browsers do not support ${algorithms.nameAlgorithm(algorithm)}; run vacr verify`);

    const [signer, trusted] = await this.checkSigner(message, algorithm);

    this.current = "content";
    await checkContent(message, profile, record);
    this.pass("content", `${record.length} bytes, unchanged since they were signed`);

    this.current = "claims";
    verdict.claims = checkClaims(message, signer, now);
    const subject = verdict.claims.subject?.toLowerCase();
    if (subject?.startsWith(DIGEST_URN) && subject !== DIGEST_URN + verdict.contentHash)
      throw new VerificationError("The statement is about a file with another hash", "subject-mismatch");
    this.pass(
      "claims",
      verdict.claims.issuer === undefined ? "the statement names no issuer" : `issuer ${verdict.claims.issuer}`,
    );

    this.current = "receipt";
    verdict.loggedAt = await this.checkReceipts(message);

    this.current = "timestamp";
    if (message.protected.has(HEADER.CTT) || message.unprotected.has(HEADER.TTC))
      throw new VerificationError("A timestamp is in the wrong header", "timestamp-malformed");
    if (message.protected.has(HEADER.TTC) || message.unprotected.has(HEADER.CTT))
      this.leaveOpen("timestamp", "the page does not check timestamps; run vacr verify");
    if (message.protected.has(HEADER.TRACE_METADATA) || message.unprotected.has(HEADER.TRACE_METADATA))
      this.leaveOpen("metadata", "the page neither compares nor shows the session metadata of the statement");
    verdict.state = signer === null ? "not-here" : trusted ? "trusted" : "carried";
  }

  /** Check the signature; return the key that verified it, if any, and whether the author of the page trusts that key. */
  private async checkSigner(message: Sign1, algorithm: unknown): Promise<[Key | null, boolean]> {
    const { policy, verdict } = this;
    this.current = "trust";
    const certified = await readCertificateKey(message);
    const carried = await readKccsKey(message);
    if (!algorithms.isSupported(algorithm)) return [null, false];

    const usable = policy.keys.filter(
      (key) => algorithms.acceptsKey(algorithm, key) && (!certified || areEqual(certified.thumbprint, key.thumbprint)),
    );
    if (policy.keys.length && !usable.length && !policy.roots)
      throw new VerificationError("No trusted key can be used with this algorithm", "untrusted");
    const trusted = usable.length > 0;
    const candidates = trusted
      ? usable.sort((left, right) => Number(matchesKeyId(right, message)) - Number(matchesKeyId(left, message)))
      : [certified ?? carried].filter((key): key is Key => key !== null && key.kind !== "other");
    if (!candidates.length) {
      this.leaveOpen(
        "signature",
        "neither the statement nor the author of this page gives a usable key; run vacr verify with --trust",
      );
      return [null, trusted];
    }

    this.current = "signature";
    const signer = await findSigner(message, algorithm, message.payload ?? this.record, candidates);
    verdict.signer = thumbprintUri(signer);
    this.current = "trust";
    if (carried !== null && !areEqual(carried.thumbprint, signer.thumbprint))
      throw new VerificationError("The key in the statement is not the key that signed it", "kccs-mismatch");
    if (trusted) this.pass("trust", "the author of this page trusts the key");
    else if (policy.roots) this.leaveOpen("trust", "the page does not follow certificates; run vacr verify");
    else this.leaveOpen("trust", "the key is part of the statement; compare it with a key that you know");
    this.pass("signature", `${message.signature.length} bytes`);
    return [signer, trusted];
  }

  /** Check the receipts; return the earliest time that a log with a trusted key states, if any. */
  private async checkReceipts(message: Sign1): Promise<string | undefined> {
    const { policy, now } = this;
    const receipts = listReceipts(message);
    if (!policy.logKeys.length) {
      if (receipts.length)
        this.leaveOpen("receipt", `not checked: claims to be from ${nameLog(receipts[0])}, but this page has no key of a log`);
      return undefined;
    }
    if (!receipts.length) throw new VerificationError("The statement has no receipt of a log", "receipt-missing");
    const entry = await buildLogEntry(message, policy.entryRule);
    const times: number[] = [];
    let otherLogs = 0;
    for (const receipt of receipts) {
      const registration = await checkReceipt(receipt, entry, policy.logKeys, now);
      if (registration === null) {
        otherLogs += 1;
        continue;
      }
      const { claims, index, size } = registration;
      if (claims.issuedAt !== undefined) times.push(claims.issuedAt);
      const time = claims.issuedAt === undefined ? "" : `, ${formatSeconds(claims.issuedAt)}`;
      this.pass("receipt", `in ${claims.issuer}, entry ${index} of ${size}${time}`);
    }
    if (otherLogs === receipts.length)
      throw new VerificationError(`No receipt is from a trusted log: ${receipts.map(nameLog).join(", ")}`, "receipt-untrusted");
    if (otherLogs) this.leaveOpen("receipt", `${otherLogs} more from logs without a trusted key`);
    return times.length ? formatSeconds(Math.min(...times)) : undefined;
  }
}

/** Return the COSE number of the algorithm; throws if it is missing, unprotected or unknown. */
function readAlgorithm(message: Sign1): unknown {
  if (message.unprotected.has(HEADER.ALG)) throw new VerificationError("The algorithm is not protected", "alg-unprotected");
  if (!message.protected.has(HEADER.ALG)) throw new VerificationError("The statement has no algorithm", "alg-missing");
  const algorithm = message.protected.get(HEADER.ALG);
  algorithms.nameAlgorithm(algorithm); // Throws if the algorithm is unknown.
  return algorithm;
}

/** Return the first key that verifies the signature; throws the error of the first key if none does. */
async function findSigner(message: Sign1, algorithm: unknown, payload: Bytes, keys: Key[]): Promise<Key> {
  const signedBytes = buildSignedBytes(message.protectedBytes, payload);
  let firstError: unknown;
  for (const key of keys) {
    try {
      await algorithms.checkSignature(algorithm, key, message.signature, signedBytes);
      return key;
    } catch (error) {
      firstError ??= error;
    }
  }
  throw firstError;
}

/** Return the claims of a statement; throws if they are unprotected, or if the issuer is the thumbprint of another key. */
function checkClaims(message: Sign1, signer: Key | null, now: number): Claims {
  if (message.unprotected.has(HEADER.CWT_CLAIMS))
    throw new VerificationError("The claims are not protected", "claims-unprotected");
  const claims = readClaims(message.protected.get(HEADER.CWT_CLAIMS) ?? new Map(), now);
  if (signer !== null && claims.issuer?.startsWith(THUMBPRINT_URI) && claims.issuer !== thumbprintUri(signer))
    throw new VerificationError("The issuer is the thumbprint of another key", "issuer-unbound");
  return claims;
}
