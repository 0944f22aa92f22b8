// Runs the viewer that ships in the package as its worker runs, in node: one line of JSON in, one line of JSON out.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { runInThisContext } from "node:vm";

const html = readFileSync(process.argv[2], "utf8");
const [, script] = html.match(/<script type="module"[^>]*>([\s\S]*?)<\/script>/);
let told = [];
const now = Number(process.argv[3]);
if (now) Date.now = () => now;
globalThis.crypto ??= webcrypto; // Older ones have it under another name only.
if (process.argv[4] === "without-ed25519") {
  const importKey = crypto.subtle.importKey.bind(crypto.subtle);
  crypto.subtle.importKey = (form, key, algorithm, ...rest) =>
    algorithm.name === "Ed25519" ? Promise.reject(new DOMException("not here", "NotSupportedError")) : importKey(form, key, algorithm, ...rest);
}
globalThis.self = globalThis;
globalThis.postMessage = (message) => told.push(message);
runInThisContext(script);

const plain = (_, value) => (typeof value === "bigint" ? { bigint: value.toString() } : value);
for await (const line of createInterface({ input: process.stdin })) {
  told = [];
  const asked = JSON.parse(line);
  await globalThis.onmessage({ data: asked });
  // A message is answered when its last promise is; the handler itself does not say when.
  while (!told.some((one) => one.is === "failed" || one.is === "chosen" || one.done)) await new Promise((done) => setTimeout(done, 1));
  process.stdout.write(`${JSON.stringify(told, plain)}\n`);
}
