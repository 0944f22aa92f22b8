/** The start of the script. It runs twice: as the page and, from a blob, as the worker of the page. */

import { render } from "preact";
import { App } from "./app";
import { ArchiveIndex } from "./archive-index";
import type { Island, WorkerReply, WorkerRequest } from "./protocol";
import { createResponder } from "./worker";

const SCRIPT = "script[type=module]";

function readText(selector: string): string | null {
  return document.querySelector(selector)?.textContent ?? null;
}

/** Start the worker and send it the records. They also stay in the document, so that a saved copy of the page is complete. */
function startWorker(island: Island): Worker {
  const script = URL.createObjectURL(new Blob([readText(SCRIPT)!], { type: "text/javascript" }));
  const worker = new Worker(script);
  const records = island.records.map((_, number) => readText(`#record-${number}`) ?? "");
  const statements = island.records.map((_, number) => readText(`#statement-${number}`));
  worker.postMessage({ do: "open", island, records, statements } satisfies WorkerRequest);
  return worker;
}

function renderPage(): void {
  const root = document.getElementById("app")!;
  const description = readText("#vacr-page");
  root.textContent = "";
  if (description === null) {
    root.textContent = "This viewer contains no record. To make a page, run: vacr view RECORD -o PAGE.html";
    return;
  }
  const island: Island = JSON.parse(description);
  document.title = island.title;
  render(
    island.site ? (
      <ArchiveIndex site={island.site} title={island.title} producer={island.producer} />
    ) : (
      <App island={island} worker={startWorker(island)} />
    ),
    root,
  );
}

if (typeof document === "undefined") {
  const respond = createResponder((reply: WorkerReply) => self.postMessage(reply));
  self.onmessage = (event: MessageEvent<WorkerRequest>) => void respond(event.data);
} else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", renderPage);
else renderPage();
