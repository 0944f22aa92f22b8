/**
 * The start of the script. It runs twice: as the page and, from a blob, as the worker of the page. Each run evaluates only the
 * parts that it imports, because a list of conversations needs neither Markdown nor signatures.
 */

import { render } from "preact";
import { takeToken } from "./app-server";
import type { Island, WorkerReply, WorkerRequest } from "./protocol";

const SCRIPT = "script[type=module]";

/** Return the text of the first element that a CSS selector finds; null if it finds none. */
function readText(selector: string): string | null {
  return document.querySelector(selector)?.textContent ?? null;
}

/** Start this script again, as the worker of the page. */
function startWorker(): Worker {
  const script = URL.createObjectURL(new Blob([readText(SCRIPT)!], { type: "text/javascript" }));
  return new Worker(script);
}

/** Send the worker the records. They also stay in the document, so that a saved copy of the page is complete. */
function sendRecords(worker: Worker, island: Island): void {
  const records = island.records.map((_, number) => readText(`#record-${number}`) ?? "");
  const statements = island.records.map((_, number) => readText(`#statement-${number}`));
  worker.postMessage({ do: "open", island, records, statements } satisfies WorkerRequest);
}

/** Show the page of a record, the index of an archive, or the local app, by the description in the document. */
async function renderPage(): Promise<void> {
  const root = document.getElementById("app")!;
  const description = readText("#vacr-page");
  root.textContent = "";
  if (description === null) {
    root.textContent = "This viewer contains no record. To make a page, run: vacr view RECORD -o PAGE.html";
    return;
  }
  const island: Island = JSON.parse(description);
  document.title = island.title;
  if (island.app) {
    const { Home } = await import("./home");
    render(<Home startWorker={startWorker} first={takeToken()} />, root);
    return;
  }
  if (island.site) {
    const { ArchiveIndex } = await import("./archive-index");
    render(<ArchiveIndex site={island.site} {...island} />, root);
    return;
  }
  const worker = startWorker();
  const { App } = await import("./app");
  render(<App island={island} worker={worker} openRecords={() => sendRecords(worker, island)} />, root);
}

if (typeof document === "undefined") {
  const responder = import("./worker").then(({ createResponder }) =>
    createResponder((reply: WorkerReply) => self.postMessage(reply)),
  );
  self.onmessage = async (event: MessageEvent<WorkerRequest>) => (await responder)(event.data);
} else if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void renderPage());
else void renderPage();
