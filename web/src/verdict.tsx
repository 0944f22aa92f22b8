/**
 * How far the reader can trust the record: a chip in the header with the verdict, and behind it the checks, hashes, ids and keys.
 */

import { useState } from "preact/hooks";
import type { PageState } from "./page-state";
import type { Island, Overview, Session, ShownRecord, StoredVerification } from "./protocol";
import { capitalize, formatNumber, makeVisible, pluralize, quoteWords } from "./text";
import type { Check, Verdict } from "./verify";

export interface Headline {
  look: "good" | "fair" | "bad" | "none";
  /** The verdict in a few words, shown on the chip. */
  chip: string;
  title: string;
  text: string;
  /** One sentence for the header, if the record is bad. */
  why?: string;
}

/** The last words of a bad verdict. */
const DO_NOT_RELY = "Do not rely on the conversation below.";
/** The verdict about a session that the app read from the files of its agent. */
const OWN_SESSION: Headline = {
  look: "none",
  chip: "Not signed",
  title: "Not signed",
  text: "vacr read this conversation from the session that its agent stored. Such a session has no signature.",
};
/** The looks from the best to the worst. */
const LOOKS = ["good", "fair", "none", "bad"];

const MARKS = { passed: "✓", failed: "✗", "not decidable": "?" } as const;
const OUTCOMES = { passed: "passed", failed: "failed", "not decidable": "not checked" } as const;

/**
 * Return colour, title and text of a verdict. A failure that `vacr view` found when it made the page counts, even if all checks
 * of the page pass. In the app (`isApp`), the reader and not a sender chose whom to trust.
 */
export function summarizeVerdict(verdict: Verdict, stored: StoredVerification | null, isApp = false): Headline {
  const failed = verdict.checks.find((check) => check.outcome === "failed");
  if (stored?.modified)
    return {
      look: "bad",
      chip: "✗ Modified",
      title: "Record was modified",
      text: failed
        ? `${capitalize(failed.told)}. ${DO_NOT_RELY} ${capitalize(stored.modified)}.`
        : `${capitalize(stored.modified)}. ${DO_NOT_RELY}`,
      why: `${failed ? failed.told : "The record was modified: its id does not match its content"}. ${DO_NOT_RELY}`,
    };
  if (verdict.state === "unsigned")
    return {
      look: "none",
      chip: "Not signed",
      title: "Not signed",
      text: "Anyone may have written or changed this record. Ask its author for a signed one.",
    };
  if (failed)
    return {
      look: "bad",
      chip: "✗ Not verified",
      title: "Verification failed",
      text: `${capitalize(failed.told)}. ${DO_NOT_RELY}`,
      why: `${failed.told}. ${DO_NOT_RELY}`,
    };
  if (stored && !stored.verified)
    return {
      look: "bad",
      chip: "✗ Not verified",
      title: "Verification failed",
      text: `The signature is valid, but vacr found a problem when it ${isApp ? "read the record" : "made this page"}: ${stored.message}. ${DO_NOT_RELY}`,
    };
  if (verdict.state === "not-here") {
    const open = verdict.checks.find((check) => check.name === "signature" && check.outcome === "not decidable");
    return {
      look: "fair",
      chip: "? Signature not checked",
      title: "This page cannot check the signature",
      text: `The record matches its statement. The signature was not checked: ${open?.told}.`,
    };
  }
  if (verdict.state === "trusted" && verdict.party)
    return {
      look: "good",
      chip: `✓ Verified · ${verdict.party}`,
      title: "Verified",
      text: isApp
        ? `Signed by ${verdict.party}. You trust this name with the key below.`
        : `Signed by ${verdict.party}. The author of this page trusts this name with the key below. Compare it with the key that you know.`,
    };
  if (verdict.state === "trusted")
    return {
      look: "good",
      chip: "✓ Verified · a trusted key",
      title: "Verified",
      text: isApp
        ? "Signed by a key that you trust."
        : "Signed by a key that the author of this page trusts. Compare it with the key that you know.",
    };
  if (verdict.certified && stored?.verified && stored.trusted)
    return {
      look: "fair",
      chip: "✓ Signed · a certified key",
      title: "Signature valid",
      text: `Signed by a key with a certificate. vacr checked the certificate when it ${isApp ? "read the record" : "made this page"}; the page cannot check it again.`,
    };
  return {
    look: "fair",
    chip: "Signed · an unknown key",
    title: "Signature valid",
    text: "Signed by the key inside the statement. This page cannot tell whose key that is: compare it with a key that you know.",
  };
}

/** Return the verdict about the whole page: the worst one about its records. It is null until the records are verified. */
export function summarizePage(island: Island, state: PageState): Headline | null {
  if (state.failed)
    return {
      look: "bad",
      chip: "✗ Unreadable",
      title: "Cannot read the record",
      text: `Cannot read the record: ${state.failed}`,
    };
  if (!state.verdicts?.length) return null;
  const headlines = state.verdicts.map((verdict, at) => ({
    ...summarizeVerdict(verdict, island.records[at].verification, island.app),
    name: island.records[at].name,
  }));
  const worst = headlines.reduce((one, other) => (LOOKS.indexOf(other.look) > LOOKS.indexOf(one.look) ? other : one));
  const alike = headlines.filter((headline) => headline.look === worst.look).length;
  if (alike === headlines.length) return worst;
  // A page of several records is as good as its worst one; the chip counts them.
  return {
    ...worst,
    chip: `${worst.chip} (${alike} of ${pluralize(headlines.length, "record")})`,
    why: `${worst.name}: ${worst.why ?? worst.text}`,
  };
}

/** The chip with the verdict; a click shows and hides the checks. */
export function VerdictChip({ headline, open, toggle }: { headline: Headline | null; open: boolean; toggle: () => void }) {
  return (
    <button
      type="button"
      class={`verdict ${headline?.look ?? "none"}`}
      aria-expanded={open}
      aria-controls={open ? "checks" : undefined}
      onClick={toggle}
    >
      <span class="hidden">Verdict: </span>
      <span class="words">{headline ? makeVisible(headline.chip) : "Verifying …"}</span>
      <span aria-hidden="true"> {open ? "▴" : "▾"}</span>
    </button>
  );
}

/** The verdicts about all records of the page with their checks, and the facts about the record. */
export function Checks({ island, state }: { island: Island; state: PageState }) {
  if (state.failed)
    return (
      <section id="checks" class="verdicts" aria-label="Checks">
        <div class="banner bad">
          <h2>Cannot read the record</h2>
          <p>{makeVisible(state.failed)}. Reload the page, or make it again: vacr view RECORD -o PAGE.html</p>
        </div>
      </section>
    );
  // Unsigned records are all alike: one verdict is enough, without one for each sub-agent.
  const allUnsigned =
    state.verdicts?.every((verdict) => verdict.state === "unsigned") &&
    island.records.every((record) => record.verification === null);
  const verdicts = (allUnsigned ? state.verdicts?.slice(0, 1) : state.verdicts) ?? [];
  return (
    <section id="checks" class="verdicts" aria-label="Checks">
      {verdicts.map((verdict, index) => (
        <VerdictBanner
          verdict={verdict}
          record={island.records[index]}
          session={state.sessions[index]}
          isApp={Boolean(island.app)}
          hasName={verdicts.length > 1}
        />
      ))}
      {state.sessions.length > 0 && <RecordFacts session={state.sessions[0]} overview={state.overview} />}
    </section>
  );
}

/** Ids, programs and exact numbers of the record. */
function RecordFacts({ session, overview }: { session: Session; overview: Overview | null }) {
  const totals = overview?.totals;
  const facts: [string, string][] = [
    ["Record", session.id],
    ["Session", session.sessionId],
    ["Recorded by", session.recorder],
    ["Agent", session.agent],
    ["Models", session.models.join(", ")],
    ["Folder", session.folder],
    ["Commit", session.revision],
    ["Started", session.start],
    [
      "Tokens",
      // Some agents record only the output: then the input is unknown, not 0.
      [totals?.input && `${formatNumber(totals.input)} in`, totals?.output && `${formatNumber(totals.output)} out`]
        .filter(Boolean)
        .join(", "),
    ],
    ["Cost", totals?.cost ?? ""],
    ["Errors", totals && totals.errors > totals.failed ? pluralize(totals.errors - totals.failed, "error event") : ""],
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{makeVisible(value)}</dd>
          </div>
        ))}
    </dl>
  );
}

interface VerdictProps {
  verdict: Verdict;
  record: ShownRecord;
  /** The session of the record; undefined until it is read. */
  session: Session | undefined;
  isApp: boolean;
  /** Whether the name of the record is shown, because the page has several. */
  hasName: boolean;
}

/** The verdict about one record with its checks; one of several records shows them on a click. */
function VerdictBanner({ verdict, record, session, isApp, hasName }: VerdictProps) {
  const [open, setOpen] = useState(!hasName);
  const stored = record.verification;
  const isOwn = isApp && record.isSession && verdict.state === "unsigned" && !stored?.modified;
  const headline = isOwn ? OWN_SESSION : summarizeVerdict(verdict, stored, isApp);
  return (
    <div class={`banner ${headline.look}`} data-state={verdict.state}>
      <h2>
        {hasName && <span class="of">{makeVisible(record.name)}: </span>}
        {headline.title}
      </h2>
      <p>{makeVisible(headline.text)}</p>
      {isOwn && (
        <p>
          Sign it before you share it: <code class="line">vacr seal {quoteArgument(session?.sessionId ?? "")}</code>
        </p>
      )}
      {verdict.signer && (
        <p class="facts">
          Key <code>{verdict.signer.split(":").pop()}</code>
          {describeIssuer(verdict)}
          {describeTime(verdict)}
        </p>
      )}
      {hasName && (
        <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide" : "Show"} the checks
        </button>
      )}
      {open && <Details verdict={verdict} stored={stored} isApp={isApp} />}
    </div>
  );
}

/** Return an id for a command line; a placeholder for one that a shell would not take as it is. */
function quoteArgument(id: string): string {
  return /^\w[\w.:-]*$/.test(id) ? id : "SESSION";
}

/** Return the issuer, and whether it is only claimed; "" without an issuer, or if it only repeats the key. */
function describeIssuer(verdict: Verdict): string {
  const issuer = verdict.claims?.issuer;
  if (!issuer || issuer === verdict.signer) return "";
  return `, ${verdict.issuerBound ? "issuer" : "claimed issuer"} ${makeVisible(quoteWords(issuer))}`;
}

/** Return the time in a log, or else the claimed time of signing; "" if both are unknown. */
function describeTime(verdict: Verdict): string {
  if (verdict.loggedAt) return `, in a log since ${verdict.loggedAt}`;
  const time = verdict.claims?.issuedAt;
  return time === undefined ? "" : `, claimed signing time ${new Date(time * 1000).toISOString().slice(0, 19)}Z`;
}

/** The checks that the page made, and further checks that vacr made earlier. */
function Details({ verdict, stored, isApp }: { verdict: Verdict; stored: StoredVerification | null; isApp: boolean }) {
  const decided = new Set(verdict.checks.filter((check) => check.outcome !== "not decidable").map((check) => check.name));
  const hasFailed = (name: string) => verdict.checks.some((check) => check.name === name && check.outcome === "failed");
  const others = (stored?.checks ?? []).filter(
    (check) => !decided.has(check.name) || (check.outcome === "failed" && !hasFailed(check.name)),
  );
  const isSigned = verdict.state !== "unsigned";
  if (!isSigned && !verdict.checks.length && !others.length)
    return (
      <p class="facts">
        Content hash <code>{verdict.contentHash}</code>
      </p>
    );
  return (
    <div class="details">
      {isSigned && <h3>Checked in your browser{!isApp && ", on the data in this file"}</h3>}
      <ul>
        <li>
          <span class="mark">·</span> content hash <code>{verdict.contentHash}</code>
        </li>
        {verdict.checks.map((check) => (
          <CheckItem check={check} />
        ))}
        {verdict.unsigned?.map((fact) => (
          <li>
            <span class="mark">·</span> not signed: {fact}
          </li>
        ))}
      </ul>
      {verdict.signer && <KeyComparison signer={verdict.signer} />}
      {others.length > 0 && (
        <>
          <h3>Checked by vacr when it {isApp ? "read the record" : "made this page"}, not repeated here</h3>
          <ul>
            {others.map((check) => (
              <CheckItem check={check} />
            ))}
          </ul>
        </>
      )}
      {isSigned && !isApp && (
        <p>
          The sender of this page could have changed the viewer, too. If it matters, verify the record itself:{" "}
          <code class="line">vacr verify RECORD --trust KEY</code>
        </p>
      )}
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
