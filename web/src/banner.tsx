/** The verdict banner at the top of the page: who signed the record, when a log registered it, and which checks ran. */

import { useState } from "preact/hooks";
import type { PageState } from "./page-state";
import type { Island, StoredVerification } from "./protocol";
import { makeVisible } from "./text";
import type { Check, Verdict } from "./verify";

interface Headline {
  look: "good" | "fair" | "bad" | "none";
  title: string;
  text: string;
}

const MARKS = { passed: "✓", failed: "✗", "not decidable": "?" } as const;
const OUTCOMES = { passed: "passed", failed: "failed", "not decidable": "not checked" } as const;

/** Return colour, title and text of the banner. A failure that `vacr view` found when it made the page counts, even if all checks of the page pass. */
export function summarizeVerdict(verdict: Verdict, stored: StoredVerification | null, hasRoots: boolean): Headline {
  const failed = verdict.checks.find((check) => check.outcome === "failed");
  if (stored?.modified)
    return {
      look: "bad",
      title: "Record was modified",
      text: `${stored.modified}. ${failed ? `${failed.name}: ${failed.told}. ` : ""}Do not rely on the conversation below.`,
    };
  if (verdict.state === "unsigned")
    return { look: "none", title: "Not signed", text: "Anyone may have written or changed this record." };
  if (failed)
    return {
      look: "bad",
      title: "Verification failed",
      text: `${failed.name}: ${failed.told}. Do not rely on the conversation below.`,
    };
  if (stored && !stored.verified)
    return {
      look: "bad",
      title: "Verification failed",
      text: `The signature is valid, but vacr found a problem when it made this page: ${stored.message}`,
    };
  if (verdict.state === "not-here") {
    const open = verdict.checks.find((check) => check.name === "signature" && check.outcome === "not decidable");
    return {
      look: "fair",
      title: "This page cannot check the signature",
      text: `The record matches its statement. The signature was not checked: ${open?.told}.`,
    };
  }
  if (verdict.state === "trusted")
    return {
      look: "good",
      title: "Verified",
      text: "Signed by a key that the author of this page trusts. Compare it with the key that you know.",
    };
  if (hasRoots && stored?.verified)
    return {
      look: "fair",
      title: "Signature valid",
      text: "Signed by a key with a certificate. vacr checked the certificate when it made this page; the page cannot check it again.",
    };
  return {
    look: "fair",
    title: "Signature valid",
    text: "Signed by the key inside the statement. This page cannot tell whose key that is: compare it with a key that you know.",
  };
}

/** The verdicts about all records of the page, or that they are still being verified, or that a record is unreadable. */
export function Banner({ island, state }: { island: Island; state: PageState }) {
  if (state.failed)
    return (
      <section class="banner bad" aria-label="Verdict">
        <h2>Cannot read the record</h2>
        <p>{makeVisible(state.failed)}</p>
      </section>
    );
  if (!state.verdicts)
    return (
      <section class="banner none" aria-label="Verdict">
        <h2>Verifying …</h2>
      </section>
    );
  // An unsigned session gets a single banner, without one for each sub-agent.
  const allUnsigned =
    state.verdicts.every((verdict) => verdict.state === "unsigned") &&
    island.records.every((record) => record.verification === null);
  const verdicts = allUnsigned ? state.verdicts.slice(0, 1) : state.verdicts;
  return (
    <section class="verdicts" aria-label="Verdict">
      {verdicts.map((verdict, index) => (
        <VerdictBanner
          verdict={verdict}
          stored={island.records[index].verification}
          hasRoots={island.roots}
          name={verdicts.length > 1 ? island.records[index].name : ""}
        />
      ))}
    </section>
  );
}

interface VerdictProps {
  verdict: Verdict;
  stored: StoredVerification | null;
  hasRoots: boolean;
  name: string;
}

/** The verdict about one record, with a button that shows the checks. */
function VerdictBanner({ verdict, stored, hasRoots, name }: VerdictProps) {
  const [open, setOpen] = useState(false);
  const headline = summarizeVerdict(verdict, stored, hasRoots);
  return (
    <div class={`banner ${headline.look}`} data-state={verdict.state}>
      <h2>
        {name && <span class="of">{makeVisible(name)}: </span>}
        {headline.title}
      </h2>
      <p>{makeVisible(headline.text)}</p>
      {verdict.signer && (
        <p class="facts">
          Key <code>{verdict.signer.split(":").pop()}</code>
          {describeIssuer(verdict)}
          {describeTime(verdict)}
        </p>
      )}
      <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} the checks
      </button>
      {open && <Details verdict={verdict} stored={stored} />}
    </div>
  );
}

/** Return the claimed issuer; "" if there is none, or if it only repeats the key. */
function describeIssuer(verdict: Verdict): string {
  const issuer = verdict.claims?.issuer;
  return issuer && issuer !== verdict.signer ? `, claimed issuer ${makeVisible(issuer)}` : "";
}

/** Return the time in a log, or else the claimed time of signing; "" if both are unknown. */
function describeTime(verdict: Verdict): string {
  if (verdict.loggedAt) return `, in a log since ${verdict.loggedAt}`;
  const time = verdict.claims?.issuedAt;
  return time === undefined ? "" : `, claimed signing time ${new Date(time * 1000).toISOString().slice(0, 19)}Z`;
}

/** The checks that the page made, and further checks that vacr made earlier. */
function Details({ verdict, stored }: { verdict: Verdict; stored: StoredVerification | null }) {
  const decided = new Set(verdict.checks.filter((check) => check.outcome !== "not decidable").map((check) => check.name));
  const hasFailed = (name: string) => verdict.checks.some((check) => check.name === name && check.outcome === "failed");
  const others = (stored?.checks ?? []).filter(
    (check) => !decided.has(check.name) || (check.outcome === "failed" && !hasFailed(check.name)),
  );
  return (
    <div class="details">
      <h3>Checked in your browser, on the data in this file</h3>
      <ul>
        <li>
          <span class="mark">·</span> content hash <code>{verdict.contentHash}</code>
        </li>
        {verdict.checks.map((check) => (
          <CheckItem check={check} />
        ))}
      </ul>
      {verdict.signer && <KeyComparison signer={verdict.signer} />}
      <h3>Checked by vacr when it made this page, not repeated here</h3>
      <ul>{others.length ? others.map((check) => <CheckItem check={check} />) : <li>None.</li>}</ul>
      <p>
        The sender of this page could have changed the viewer, too. If it matters, verify the record itself:{" "}
        <code>vacr verify RECORD --trust KEY</code>
      </p>
    </div>
  );
}

/** A field where the reader enters a known thumbprint, to compare it with the key. */
function KeyComparison({ signer }: { signer: string }) {
  const [typed, setTyped] = useState("");
  const thumbprint = typed.trim().split(":").pop()!;
  const isSame = thumbprint === signer.split(":").pop();
  return (
    <p>
      <label>
        Compare it with a key that you know:{" "}
        <input
          type="text"
          size={46}
          placeholder="thumbprint from vacr key show"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>{" "}
      <strong role="status" class={isSame ? "same" : "other"}>
        {thumbprint && (isSame ? "✓ same key" : "✗ different key")}
      </strong>
    </p>
  );
}

/** A check with its outcome and details. */
function CheckItem({ check }: { check: Check }) {
  return (
    <li class={check.outcome === "failed" ? "failed" : check.outcome === "passed" ? "passed" : "open"}>
      <span class="mark" aria-hidden="true">
        {MARKS[check.outcome]}
      </span>{" "}
      <b>{check.name}</b> <span class="hidden">{OUTCOMES[check.outcome]}: </span>
      {makeVisible(check.told)}
    </li>
  );
}
