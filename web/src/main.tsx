/** Where it begins: the same script is the page and, started again from a blob, its worker. */

import { render } from "preact";
import { App } from "./app";
import type { Asked, Island, Told } from "./protocol";
import { SiteIndex } from "./site";
import { answering } from "./worker";

const SCRIPT = "script[type=module]";

function text(selector: string): string | null {
  return document.querySelector(selector)?.textContent ?? null;
}

/** Start the worker on this very script, and hand it the bytes; they stay in the document, too, so that it can be saved whole. */
function begin(island: Island): Worker {
  const script = URL.createObjectURL(new Blob([text(SCRIPT)!], { type: "text/javascript" }));
  const worker = new Worker(script);
  const records = island.records.map((_, at) => text(`#record-${at}`) ?? "");
  const statements = island.records.map((_, at) => text(`#statement-${at}`));
  worker.postMessage({ do: "open", island, records, statements } satisfies Asked);
  return worker;
}

function page(): void {
  const root = document.getElementById("app")!;
  const described = text("#vacr-page");
  root.textContent = "";
  if (described === null) {
    root.textContent = "This is the empty viewer: vacr view RECORD -o PAGE.html fills it.";
    return;
  }
  const island: Island = JSON.parse(described);
  document.title = island.title;
  render(
    island.site ? (
      <SiteIndex site={island.site} title={island.title} made={island.made} />
    ) : (
      <App island={island} worker={begin(island)} />
    ),
    root,
  );
}

if (typeof document === "undefined") {
  const answer = answering((told: Told) => self.postMessage(told));
  self.onmessage = (event: MessageEvent<Asked>) => void answer(event.data);
} else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", page);
else page();
