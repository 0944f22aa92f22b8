/** The verdict: who signed, when it was logged, what was checked, and what was not. It comes first. */

import { useState } from "preact/hooks";
import type { Found, Island } from "./protocol";
import type { State } from "./state";
import { visible } from "./texts";
import type { Check, Verdict } from "./verifying";

interface Told {
  look: "good" | "fair" | "bad" | "none";
  title: string;
  text: string;
}

const MARKS = { passed: "✓", failed: "✗", "not decidable": "?" } as const;
const WORDS = { passed: "holds", failed: "does not hold", "not decidable": "not decided" } as const;

/** Say in a line what came of it; a page that verifies and a record that vacr refused is not good. */
export function tell(verdict: Verdict, found: Found | null, roots: boolean): Told {
  const failed = verdict.checks.find((check) => check.outcome === "failed");
  if (verdict.state === "unsigned")
    return { look: "none", title: "Not signed", text: "Nobody vouches for this record: anybody may have written or changed it." };
  if (failed)
    return { look: "bad", title: "Does not hold", text: `${failed.name}: ${failed.told}. Do not rely on what is shown below.` };
  if (found && !found.verified)
    return {
      look: "bad",
      title: "Does not hold",
      text: `The signature does, but when this page was made vacr found: ${found.message}`,
    };
  if (verdict.state === "not-here")
    return {
      look: "fair",
      title: "Signature not checked here",
      text: "The content is what the statement is about. Run vacr verify to check the signature.",
    };
  if (verdict.state === "trusted")
    return {
      look: "good",
      title: "Verified",
      text: "Signed by a key that was named when this page was made. Compare it with the one that you know.",
    };
  if (roots && found?.verified)
    return {
      look: "fair",
      title: "Signature holds",
      text: "Signed by a key with a certificate. vacr followed its certificates when this page was made; the page does not.",
    };
  return {
    look: "fair",
    title: "Signature holds",
    text: "Signed by the key that came with it. Whose key that is, the page cannot tell: compare it with one that you know.",
  };
}

export function Banner({ island, state }: { island: Island; state: State }) {
  if (state.failed)
    return (
      <section class="banner bad" aria-label="Verdict">
        <h2>Cannot be read</h2>
        <p>{visible(state.failed)}</p>
      </section>
    );
  if (!state.verdicts)
    return (
      <section class="banner none" aria-label="Verdict">
        <h2>Verifying …</h2>
      </section>
    );
  // What nobody signed is said once, not for each of the sub-agents.
  const alike =
    state.verdicts.every((verdict) => verdict.state === "unsigned") && island.records.every((one) => one.found === null);
  const all = alike ? state.verdicts.slice(0, 1) : state.verdicts;
  return (
    <section class="verdicts" aria-label="Verdict">
      {all.map((verdict, at) => (
        <One
          verdict={verdict}
          found={island.records[at].found}
          roots={island.roots}
          name={all.length > 1 ? island.records[at].name : ""}
        />
      ))}
    </section>
  );
}

function One({ verdict, found, roots, name }: { verdict: Verdict; found: Found | null; roots: boolean; name: string }) {
  const [open, setOpen] = useState(false);
  const told = tell(verdict, found, roots);
  return (
    <div class={`banner ${told.look}`} data-state={verdict.state}>
      <h2>
        {name && <span class="of">{visible(name)}: </span>}
        {told.title}
      </h2>
      <p>{visible(told.text)}</p>
      {verdict.signer && (
        <p class="facts">
          Key <code>{verdict.signer.split(":").pop()}</code>
          {issuer(verdict)}
          {when(verdict)}
        </p>
      )}
      <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} what was checked, and what was not
      </button>
      {open && <Details verdict={verdict} found={found} />}
    </div>
  );
}

function issuer(verdict: Verdict): string {
  const said = verdict.claims?.issuer;
  return said && said !== verdict.signer ? `, which says it is of ${visible(said)}` : "";
}

function when(verdict: Verdict): string {
  if (verdict.loggedAt) return `, in a log since ${verdict.loggedAt}`;
  const at = verdict.claims?.issuedAt;
  return at === undefined ? "" : `, signed ${new Date(at * 1000).toISOString().slice(0, 19)}Z as the signer says`;
}

function Details({ verdict, found }: { verdict: Verdict; found: Found | null }) {
  const decided = new Set(verdict.checks.filter((check) => check.outcome !== "not decidable").map((check) => check.name));
  const failed = (name: string) => verdict.checks.some((check) => check.name === name && check.outcome === "failed");
  const others = (found?.checks ?? []).filter(
    (check) => !decided.has(check.name) || (check.outcome === "failed" && !failed(check.name)),
  );
  return (
    <div class="details">
      <h3>Checked here, in your browser, on the bytes in this file</h3>
      <ul>
        <li>
          <span class="mark">·</span> content hash <code>{verdict.contentHash}</code>
        </li>
        {verdict.checks.map((check) => (
          <Item check={check} />
        ))}
      </ul>
      {verdict.signer && <Compare signer={verdict.signer} />}
      <h3>Found by vacr when the page was made, and not checked again here</h3>
      <ul>{others.length ? others.map((check) => <Item check={check} />) : <li>Nothing.</li>}</ul>
      <p>
        Whoever gave you this page could have changed the viewer as well. If it matters, verify the record itself:{" "}
        <code>vacr verify RECORD --trust KEY</code>
      </p>
    </div>
  );
}

/** Compare the key with one that the reader knows: only they can tell whose it is. */
function Compare({ signer }: { signer: string }) {
  const [typed, setTyped] = useState("");
  const known = typed.trim().split(":").pop()!;
  const same = known === signer.split(":").pop();
  return (
    <p>
      <label>
        Compare the key with one that you know:{" "}
        <input
          type="text"
          size={46}
          placeholder="thumbprint, from vacr key show"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>{" "}
      <strong role="status" class={same ? "same" : "other"}>
        {known && (same ? "✓ the same key" : "✗ another key")}
      </strong>
    </p>
  );
}

function Item({ check }: { check: Check }) {
  return (
    <li class={check.outcome === "failed" ? "failed" : check.outcome === "passed" ? "passed" : "open"}>
      <span class="mark" aria-hidden="true">
        {MARKS[check.outcome]}
      </span>{" "}
      <b>{check.name}</b> <span class="hidden">{WORDS[check.outcome]}: </span>
      {visible(check.told)}
    </li>
  );
}
