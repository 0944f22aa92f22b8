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
import { buildLogEntry, checkReceipt, listReceipts, matchesKeyId, nameLog, type Registration } from "./receipts";
import { formatNumber, quoteWords } from "./text";
import { listProofs, type NoteParty, parseProof, type TlogProof, verifyProof, type WitnessedEntry } from "./tlog-proof";
import { VerificationError } from "./verification-error";

/** The outcome of a check. The members have the names that `vacr verify --format json` uses. */
export interface Check {
  name: string;
  outcome: "passed" | "failed" | "not decidable";
  /** The details, as a text. */
  told: string;
  reason?: string;
}

/** A person or a service in the trust store of the page's author. */
export interface Party extends NoteParty {
  keys: Key[];
  /** The issuers that the party's statements may name. */
  issuers: string[];
}

export interface Policy {
  /** The keys that the author of the page trusts without a name. */
  keys: Key[];
  logKeys: Key[];
  /** The signers and logs that the author trusts by name, and that count for the records. */
  parties: Party[];
  logs: Party[];
  /** The witnesses, and how many of them must have cosigned a log entry. */
  witnesses: Party[];
  witnessesRequired: number;
  /** Whether the author trusts timestamp authorities. The page does not check timestamps. */
  timestamps: boolean;
  /** Whether the parties only lend their names, and other signers are not refused. */
  namesOnly: boolean;
  /** Whether the author trusts signers whose keys the page lacks: they signed none of its records. */
  lacksSigners: boolean;
  /** Whether the author trusts logs whose keys the page lacks. */
  lacksLogs: boolean;
  /** How many witnesses of the author the page lacks: they cosigned none of its proofs. */
  witnessesLeftOut: number;
  /** Whether the author trusts root certificates, too. The page does not follow certificate chains. */
  roots: boolean;
  entryRule: string;
  /** Whether the reader is the one who trusts, as in the app; elsewhere it is the author of the page. */
  isReaders: boolean;
}

export interface Verdict {
  /** `not-here`: the page cannot check the signature. `carried`: signed by the key inside the statement, which may be anyone's. */
  state: "unsigned" | "failed" | "not-here" | "carried" | "trusted";
  checks: Check[];
  contentHash: string;
  signer?: string;
  /** The name of the signer in the trust store of the page's author. */
  party?: string;
  claims?: Claims;
  /** Whether a certificate may make the signer trusted: the author trusts roots, and the page does not follow chains. */
  certified?: boolean;
  /** Whether the trust store or the thumbprint of the key confirms the issuer; a certificate is left to vacr verify. */
  issuerBound?: boolean;
  /** When a log with a trusted key registered the statement. */
  loggedAt?: string;
  /** Facts of the receipts that nobody signed. */
  unsigned?: string[];
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

  /** Return the words for the one who trusts, with the fitting form of a verb such as "trust". */
  private nameTruster(verb: string): string {
    return this.policy.isReaders ? `you ${verb}` : `the author of this page ${verb}s`;
  }

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
    const { record, now, policy, verdict } = this;
    const message = parseSign1(statement);
    const profile = determineProfile(message);
    this.pass("structure", `COSE_Sign1, ${profile}`);
    this.current = "algorithm";
    const algorithm = readAlgorithm(message);
    if (algorithms.isSupported(algorithm)) this.pass("algorithm", algorithms.nameAlgorithm(algorithm));
    else this.leaveOpen("signature", `browsers do not support ${algorithms.nameAlgorithm(algorithm)}; run vacr verify`);

    const [signer, isTrusted] = await this.checkSigner(message, algorithm);
    const party = isTrusted && signer ? findParty(this.policy.parties, signer) : null;

    this.current = "content";
    await checkContent(message, profile, record);
    this.pass("content", `${formatNumber(record.length)} bytes, unchanged since they were signed`);

    this.current = "claims";
    verdict.claims = checkClaims(message, signer, now);
    const subject = verdict.claims.subject?.toLowerCase();
    if (subject?.startsWith(DIGEST_URN) && subject !== DIGEST_URN + verdict.contentHash)
      throw new VerificationError("The statement is about a file with another hash", "subject-mismatch");
    this.reportIssuer(verdict.claims.issuer, party);

    this.current = "receipt";
    const registrations = await this.checkReceipts(message);
    const others = registrations.filter(({ key }) => !this.isOwnLog(key, signer, party));
    const times = others.flatMap(({ claims }) => (claims.issuedAt === undefined ? [] : [claims.issuedAt]));
    const loggedAt = times.length ? Math.min(...times) : undefined;
    verdict.loggedAt = loggedAt === undefined ? undefined : formatSeconds(loggedAt);
    const placed = registrations.filter(({ index }) => index !== null);
    verdict.unsigned = placed.map(({ index, size }) => `the receipt names entry ${index} of ${size}`);

    this.current = "witnesses";
    await this.checkWitnesses(message, registrations, policy.namesOnly && !isTrusted ? 0 : policy.witnessesRequired);

    this.current = "timestamp";
    if (message.protected.has(HEADER.CTT) || message.unprotected.has(HEADER.TTC))
      throw new VerificationError("A timestamp is in the wrong header", "timestamp-malformed");
    if (message.protected.has(HEADER.TTC) || message.unprotected.has(HEADER.CTT))
      this.leaveOpen("timestamp", "the page does not check timestamps; run vacr verify");
    if (message.protected.has(HEADER.TRACE_METADATA) || message.unprotected.has(HEADER.TRACE_METADATA))
      this.leaveOpen("metadata", "the page neither compares nor shows the session metadata of the statement");

    this.current = "trust";
    const trusted = isTrusted && (party === null || this.checkParty(party, message, loggedAt));
    verdict.state = signer === null ? "not-here" : trusted ? "trusted" : "carried";
  }

  /**
   * Return whether a log with this key belongs to the signer: it proves no time, because the signer could choose it.
   * All keys of a party have one owner. So if a log and the signer share a key, both are the signer's.
   */
  private isOwnLog(key: Key, signer: Key | null, party: Party | null): boolean {
    const log = findParty(this.policy.logs, key);
    const own = [...(signer ? [signer] : []), ...listKeys(party)];
    const isOwn =
      (log !== null && log.name === party?.name) ||
      [key, ...listKeys(log)].some((other) => own.some((one) => areEqual(one.thumbprint, other.thumbprint)));
    if (isOwn) this.leaveOpen("receipt", "proves no time: the log belongs to the signer");
    return isOwn;
  }

  /** Add the check of the issuer: it passes only if something other than the statement binds it to the signer. */
  private reportIssuer(issuer: string | undefined, party: Party | null): void {
    const { verdict } = this;
    if (issuer === undefined) return this.pass("claims", "the statement names no issuer");
    verdict.issuerBound = issuer === verdict.signer || (party !== null && party.issuers.includes(issuer));
    if (verdict.issuerBound) this.pass("claims", `issuer ${issuer}`);
    else this.leaveOpen("claims", `the statement claims the issuer ${quoteWords(issuer)}; nothing binds it to the signer`);
  }

  /** Check that the author trusted a party when it signed; false if only a timestamp can prove the time. Throws if not. */
  private checkParty(party: Party, message: Sign1, loggedAt: number | undefined): boolean {
    if (party.validFrom === null && party.validUntil === null) return true;
    if (this.policy.timestamps && message.unprotected.has(HEADER.CTT)) {
      this.leaveOpen("trust", `${party.name} is trusted for a time, and the page does not check timestamps; run vacr verify`);
      return false;
    }
    const claimed = this.verdict.claims?.issuedAt;
    const times = loggedAt !== undefined ? [loggedAt] : claimed === undefined ? [this.now] : [this.now, claimed];
    for (const time of times) checkValidity(party, time, "party");
    this.pass("trust", `${party.name} is trusted ${loggedAt !== undefined ? "at the time of the receipt" : "now"}`);
    return true;
  }

  /** Check the signature; return the key that verified it, if any, and whether the author of the page trusts that key. */
  private async checkSigner(message: Sign1, algorithm: unknown): Promise<[Key | null, boolean]> {
    const { policy, verdict } = this;
    this.current = "trust";
    const certified = await readCertificateKey(message);
    const carried = await readKccsKey(message);
    if (!algorithms.isSupported(algorithm)) return [null, false];

    const own = certified ?? carried;
    const keys = [...policy.parties.flatMap((party) => party.keys), ...policy.keys];
    const isUnknown = policy.namesOnly && own !== null && !keys.some((key) => areEqual(key.thumbprint, own.thumbprint));
    const usable = keys.filter(
      (key) =>
        !isUnknown && algorithms.acceptsKey(algorithm, key) && (!certified || areEqual(certified.thumbprint, key.thumbprint)),
    );
    const hasChain = message.protected.has(HEADER.X5CHAIN) || message.unprotected.has(HEADER.X5CHAIN);
    const mayBeCertified = policy.roots && hasChain;
    const trustsKeys = keys.length > 0 || policy.lacksSigners;
    if ((trustsKeys || policy.roots) && !usable.length && !mayBeCertified && !isUnknown)
      throw new VerificationError(
        keys.length || !policy.lacksSigners ? "No trusted key can be used with this algorithm" : "Not signed by a trusted key",
        "untrusted",
      );
    const trusted = usable.length > 0;
    verdict.certified = mayBeCertified && !trusted;
    const candidates = trusted
      ? usable.sort((left, right) => Number(matchesKeyId(right, message)) - Number(matchesKeyId(left, message)))
      : [own].filter((key): key is Key => key !== null && key.kind !== "other");
    if (!candidates.length) {
      this.leaveOpen(
        "signature",
        `no usable key is in the statement or among those that ${this.nameTruster("trust")}; run vacr verify with --trust`,
      );
      return [null, trusted];
    }

    this.current = "signature";
    const signer = await findSigner(message, algorithm, message.payload ?? this.record, candidates);
    verdict.signer = thumbprintUri(signer);
    this.current = "trust";
    if (carried !== null && !areEqual(carried.thumbprint, signer.thumbprint))
      throw new VerificationError("The key in the statement is not the key that signed it", "kccs-mismatch");
    const party = trusted ? findParty(policy.parties, signer) : null;
    if (party) {
      verdict.party = party.name;
      this.pass("trust", `signed by ${party.name}, a name that ${this.nameTruster("trust")}`);
    } else if (trusted) this.pass("trust", `${this.nameTruster("trust")} the key`);
    else if (mayBeCertified) this.leaveOpen("trust", "the page does not follow certificates; run vacr verify");
    else this.leaveOpen("trust", "the key is part of the statement; compare it with a key that you know");
    this.pass("signature", `${message.signature.length} bytes`);
    if (trusted && certified) this.leaveOpen("certificate", "the page takes only the key from a certificate; run vacr verify");
    return [signer, trusted];
  }

  /** Check the receipts; return the ones of trusted logs. */
  private async checkReceipts(message: Sign1): Promise<Registration[]> {
    const { policy, now } = this;
    const receipts = listReceipts(message);
    const keys = [...policy.logKeys, ...policy.logs.flatMap((log) => log.keys)];
    if (!keys.length && !policy.lacksLogs) {
      if (receipts.length)
        this.leaveOpen("receipt", `not checked: claims to be from ${nameLog(receipts[0])}, but this page has no key of a log`);
      return [];
    }
    const isRequired = policy.logKeys.length > 0;
    if (!receipts.length && isRequired) throw new VerificationError("The statement has no receipt of a log", "receipt-missing");
    const entry = await buildLogEntry(message, policy.entryRule);
    const registrations: Registration[] = [];
    let [otherLogs, isProven] = [0, false];
    let firstError: VerificationError | undefined;
    for (const receipt of receipts) {
      const registration = await checkReceipt(receipt, entry, keys, now);
      if (registration === null) {
        otherLogs += 1;
        continue;
      }
      const { claims, key } = registration;
      const log = findParty(policy.logs, key);
      try {
        if (log) checkValidity(log, claims.issuedAt ?? now, "log");
      } catch (error) {
        if (!(error instanceof VerificationError)) throw error;
        firstError ??= error;
        continue;
      }
      isProven ||= policy.logKeys.some((one) => areEqual(one.thumbprint, key.thumbprint));
      registrations.push(registration);
      const time = claims.issuedAt === undefined ? "" : `, ${formatSeconds(claims.issuedAt)}`;
      const called = claims.issuer ? `, which calls itself ${quoteWords(claims.issuer)}` : "";
      const name = log?.name ?? `the log of key ${toHex(key.thumbprint).slice(0, 16)}${called}`;
      const place = registration.transaction && `, transaction ${registration.transaction}`;
      this.pass("receipt", `in ${name}${place}${time}`);
    }
    if (isRequired && !isProven)
      throw (
        firstError ??
        new VerificationError(`No receipt is from a trusted log: ${receipts.map(nameLog).join(", ")}`, "receipt-untrusted")
      );
    if (firstError) this.leaveOpen("receipt", `does not count: ${firstError.message}`);
    if (otherLogs) this.leaveOpen("receipt", `${otherLogs} more from logs without a trusted key`);
    return registrations;
  }

  /** Check the proofs of witnesses; at least `required` witnesses must have cosigned. */
  private async checkWitnesses(message: Sign1, registrations: Registration[], required: number): Promise<void> {
    const { policy, now } = this;
    const encoded = listProofs(message);
    if (!required) {
      if (encoded.length) this.leaveOpen("witnesses", `not checked: ${this.nameTruster("require")} no witnesses`);
      return;
    }
    if (!encoded.length)
      throw new VerificationError("The statement has no proof that witnesses saw its log entry", "witness-missing");
    const { entry } = await buildLogEntry(message, policy.entryRule);
    const proofs = encoded.map(parseProof);
    const isLog = (key: Key) => policy.logKeys.some((log) => areEqual(log.thumbprint, key.thumbprint));
    const witnesses = policy.witnesses.filter((witness) => !listKeys(witness).some(isLog));
    const verify = (proof: TlogProof) => verifyProof(proof, entry, policy.logs, witnesses, required, now);
    let otherLogs = 0;
    for (const proof of proofs) {
      let witnessed: WitnessedEntry;
      try {
        witnessed = await verify(proof);
      } catch (error) {
        if (!(error instanceof VerificationError) || error.reason !== "witness-origin") throw error;
        otherLogs += 1;
        continue;
      }
      checkReceiptsAgree(witnessed, registrations);
      const { cosigned, index, checkpoint, log } = witnessed;
      const known = witnesses.length + policy.witnessesLeftOut;
      this.pass(
        "witnesses",
        `${cosigned.length} of ${known} cosigned (${cosigned.join(", ")}); entry ${index} of ${checkpoint.size} in ${log.name}`,
      );
    }
    if (otherLogs === proofs.length) await verify(proofs[0]); // Throws the error about the unknown log.
    if (otherLogs) this.leaveOpen("witnesses", `${otherLogs} more proofs of logs without a trusted key`);
  }
}

/** Check that receipts of the same log have the cosigned root for the cosigned size. */
function checkReceiptsAgree({ checkpoint }: WitnessedEntry, registrations: Registration[]): void {
  for (const { claims, size, root } of registrations)
    if (claims.subject === checkpoint.origin && size === checkpoint.size && !areEqual(root, checkpoint.root))
      throw new VerificationError(
        "The log contradicts itself: its receipt and its cosigned checkpoint have different roots for one size",
        "witness-inconsistent",
      );
}

/** Return the first party with a key; null if none has it. */
function findParty(parties: Party[], key: Key): Party | null {
  return parties.find((party) => party.keys.some((own) => areEqual(own.thumbprint, key.thumbprint))) ?? null;
}

/** Return all keys of a party, also its note key; empty for null. */
function listKeys(party: Party | null): Key[] {
  return party === null ? [] : [...party.keys, ...(party.noteKey ? [party.noteKey.key] : [])];
}

/** Check that the author trusts a party at a time; throws with a reason that starts with `kind`. */
function checkValidity(party: Party, time: number, kind: "party" | "log"): void {
  if (party.validFrom !== null && time < party.validFrom)
    throw new VerificationError(`${party.name} is not trusted before ${formatSeconds(party.validFrom)}`, `${kind}-not-yet-valid`);
  if (party.validUntil !== null && time > party.validUntil)
    throw new VerificationError(`${party.name} is not trusted after ${formatSeconds(party.validUntil)}`, `${kind}-expired`);
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

/** Return whether an issuer is a URI of visible ASCII characters, at most 8192 long. */
function isUri(issuer: string | undefined): boolean {
  if (issuer === undefined || issuer.length > 8192 || !/^[a-z][a-z0-9+.-]*:[\x21-\x7e]*$/i.test(issuer)) return false;
  // Brackets must be around an IPv6 address, if they are in the host.
  return !/[[\]]/.test(issuer) || URL.canParse(issuer);
}

/** Return the claims of a statement; throws if they are unprotected, or if the issuer is the thumbprint of another key. */
function checkClaims(message: Sign1, signer: Key | null, now: number): Claims {
  if (message.unprotected.has(HEADER.CWT_CLAIMS))
    throw new VerificationError("The claims are not protected", "claims-unprotected");
  const claims = readClaims(message.protected.has(HEADER.CWT_CLAIMS) ? message.protected.get(HEADER.CWT_CLAIMS) : new Map(), now);
  const hasCertificate = message.protected.has(HEADER.X5CHAIN) || message.protected.has(HEADER.X5T);
  if (hasCertificate && !isUri(claims.issuer))
    throw new VerificationError("The issuer must be a URI if the statement has certificates", "issuer-not-uri");
  if (signer !== null && claims.issuer?.startsWith(THUMBPRINT_URI) && claims.issuer !== thumbprintUri(signer))
    throw new VerificationError("The issuer is the thumbprint of another key", "issuer-unbound");
  return claims;
}
