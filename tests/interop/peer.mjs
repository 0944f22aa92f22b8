// Sign and verify COSE_Sign1 with other libraries. Reads a JSON request from standard input, writes a JSON answer to standard output.
import { createPublicKey, createPrivateKey } from "node:crypto";
import { text } from "node:stream/consumers";
import { createRequire } from "node:module";

// Use the CommonJS builds: the ES modules do not load in Node 18.
const require = createRequire(import.meta.url);
const { Algorithms, Headers, ProtectedHeaders, Sign1 } = require("@auth0/cose");
const transmute = require("@transmute/cose");

const request = JSON.parse(await text(process.stdin));
const fromHex = (text) => new Uint8Array(Buffer.from(text, "hex"));
const toHex = (bytes) => Buffer.from(bytes).toString("hex");
const jwk = (pem, kind) => ({ alg: request.alg, kid: "k", ...kind(pem).export({ format: "jwk" }) });

const auth0 = {
  async sign() {
    const head = ProtectedHeaders.from([[Headers.Algorithm, Algorithms[request.alg]]]);
    const message = await Sign1.sign(head, undefined, fromHex(request.payload), createPrivateKey(request.key));
    return toHex(message.encode());
  },
  async verify() {
    const options = request.detached ? { detachedPayload: fromHex(request.detached) } : {};
    await Sign1.decode(fromHex(request.statement)).verify(createPublicKey(request.key), options);
    return true;
  },
};

const transmuteOperations = {
  async sign() {
    const remote = transmute.crypto.signer({ privateKeyJwk: jwk(request.key, createPrivateKey) });
    const protectedHeader = transmute.ProtectedHeader([
      [transmute.Protected.Alg, transmute.Signature.ES256],
      [transmute.Protected.Kid, "k"],
    ]);
    const form = request.form === "detached" ? transmute.detached : transmute.attached;
    // Without this map the library would encode `undefined` as the unprotected header.
    const input = { protectedHeader, unprotectedHeader: new Map(), payload: fromHex(request.payload) };
    return toHex(await form.signer({ remote }).sign(input));
  },
  async verify() {
    const resolver = { resolve: async () => jwk(request.key, createPublicKey) };
    const form = request.detached ? transmute.detached : transmute.attached;
    const input = { coseSign1: fromHex(request.statement), ...(request.detached ? { payload: fromHex(request.detached) } : {}) };
    return toHex(await form.verifier({ resolver }).verify(input)).length > 0;
  },
};

// JSON Web Tokens, with the library that the other ones use, too.
const tokens = {
  async verify() {
    const { jwtVerify } = require("jose");
    const options = { currentDate: new Date(request.now * 1000), typ: "application/eat+jwt" };
    const { payload } = await jwtVerify(request.statement, createPublicKey(request.key), options);
    return payload;
  },
};

// Receipts: each answer is `true` or an error message.
const kid = () => new Uint8Array(Buffer.from(request.kid, "hex")).buffer;
const receipts = {
  async check() {
    const resolver = { resolve: async () => jwk(request.key, createPublicKey) };
    const verifier = transmute.detached.verifier({ resolver });
    const answerOne = async (item) => {
      const [receipt] = await transmute.receipt.get(fromHex(item.statement).buffer);
      const entry = await transmute.receipt.leaf(new Uint8Array(await transmute.receipt.remove(fromHex(item.statement).buffer)));
      return toHex(await transmute.receipt.inclusion.verify({ entry, receipt, verifier })).length > 0;
    };
    return Promise.all(request.all.map((item) => answerOne(item).catch((error) => error.message)));
  },
  async check_consistency() {
    const resolver = { resolve: async () => jwk(request.key, createPublicKey) };
    const verifier = transmute.detached.verifier({ resolver });
    const answerOne = ({ older, newer, receipt }) =>
      transmute.receipt.consistency.verify({ oldRoot: fromHex(older), newRoot: fromHex(newer), receipt: fromHex(receipt), verifier });
    return Promise.all(request.all.map((item) => answerOne(item).catch((error) => error.message)));
  },
  async issue() {
    const signer = transmute.detached.signer({ remote: transmute.crypto.signer({ privateKeyJwk: jwk(request.key, createPrivateKey) }) });
    const claims = new Map([[1, "https://log.example"], [2, "log.example"]]);
    const protectedHeader = () =>
      transmute.ProtectedHeader([
        [transmute.Protected.Alg, transmute.Signature.ES256],
        [transmute.Protected.Kid, kid()],
        [15, claims],
        [transmute.Protected.VerifiableDataStructure, transmute.VerifiableDataStructures["RFC9162-Binary-Merkle-Tree"]],
      ]);
    const answerOne = async ({ statements, index }) => {
      const entries = await Promise.all(statements.map((item) => transmute.receipt.leaf(fromHex(item))));
      const receipt = await transmute.receipt.inclusion.issue({ protectedHeader: protectedHeader(), entry: index, entries, signer });
      return toHex(await transmute.receipt.add(fromHex(statements[index]).buffer, receipt));
    };
    return Promise.all(request.all.map(answerOne));
  },
};
Object.assign(transmuteOperations, receipts);

const peer = { auth0, transmute: transmuteOperations, jose: tokens }[request.peer];
try {
  console.log(JSON.stringify({ result: await peer[request.op]() }));
} catch (error) {
  console.log(JSON.stringify({ error: `${error.name}: ${error.message}` }));
}
