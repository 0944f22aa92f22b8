// Run the viewer from the package in Node, as the worker of a page. Each request and its replies are a line of JSON.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { runInThisContext } from "node:vm";

const html = readFileSync(process.argv[2], "utf8");
const [, script] = html.match(/<script type="module"[^>]*>([\s\S]*?)<\/script>/);
let replies = [];
const now = Number(process.argv[3]);
if (now) Date.now = () => now;
globalThis.crypto ??= webcrypto; // Older versions of Node lack the global.
if (process.argv[4] === "without-ed25519") {
  const importKey = crypto.subtle.importKey.bind(crypto.subtle);
  crypto.subtle.importKey = (form, key, algorithm, ...rest) =>
    algorithm.name === "Ed25519" ? Promise.reject(new DOMException("not here", "NotSupportedError")) : importKey(form, key, algorithm, ...rest);
}
globalThis.self = globalThis;
globalThis.postMessage = (message) => replies.push(message);
runInThisContext(script);

const encodeBigInt = (_, value) => (typeof value === "bigint" ? { bigint: value.toString() } : value);
for await (const line of createInterface({ input: process.stdin })) {
  replies = [];
  await globalThis.onmessage({ data: JSON.parse(line) });
  // The handler returns before the worker is done, so wait for the last reply.
  while (!replies.some((reply) => ["failed", "matches", "hunks"].includes(reply.is) || reply.done)) await new Promise((done) => setTimeout(done, 1));
  process.stdout.write(`${JSON.stringify(replies, encodeBigInt)}\n`);
}
