// Signs and verifies COSE_Sign1 with libraries of others: a JSON request on standard input, a JSON answer on standard output.
import { createPublicKey, createPrivateKey } from "node:crypto";
import { text } from "node:stream/consumers";
import { createRequire } from "node:module";

// Their CommonJS builds: the others do not load in Node 18.
const require = createRequire(import.meta.url);
const { Algorithms, Headers, ProtectedHeaders, Sign1 } = require("@auth0/cose");
const transmute = require("@transmute/cose");

const ask = JSON.parse(await text(process.stdin));
const hex = (text) => new Uint8Array(Buffer.from(text, "hex"));
const shown = (bytes) => Buffer.from(bytes).toString("hex");
const jwk = (pem, kind) => ({ alg: ask.alg, kid: "k", ...kind(pem).export({ format: "jwk" }) });

const auth0 = {
  async sign() {
    const head = ProtectedHeaders.from([[Headers.Algorithm, Algorithms[ask.alg]]]);
    const made = await Sign1.sign(head, undefined, hex(ask.payload), createPrivateKey(ask.key));
    return shown(made.encode());
  },
  async verify() {
    const options = ask.detached ? { detachedPayload: hex(ask.detached) } : {};
    await Sign1.decode(hex(ask.statement)).verify(createPublicKey(ask.key), options);
    return true;
  },
};

const theirs = {
  async sign() {
    const remote = transmute.crypto.signer({ privateKeyJwk: jwk(ask.key, createPrivateKey) });
    const protectedHeader = transmute.ProtectedHeader([
      [transmute.Protected.Alg, transmute.Signature.ES256],
      [transmute.Protected.Kid, "k"],
    ]);
    const form = ask.form === "detached" ? transmute.detached : transmute.attached;
    // Without a map for it, the unprotected header would be `undefined`, which is no header.
    const given = { protectedHeader, unprotectedHeader: new Map(), payload: hex(ask.payload) };
    return shown(await form.signer({ remote }).sign(given));
  },
  async verify() {
    const resolver = { resolve: async () => jwk(ask.key, createPublicKey) };
    const form = ask.detached ? transmute.detached : transmute.attached;
    const given = { coseSign1: hex(ask.statement), ...(ask.detached ? { payload: hex(ask.detached) } : {}) };
    return shown(await form.verifier({ resolver }).verify(given)).length > 0;
  },
};

// JSON Web Tokens, by the library that the others stand on.
const tokens = {
  async verify() {
    const { jwtVerify } = require("jose");
    const options = { currentDate: new Date(ask.now * 1000), typ: "application/eat+jwt" };
    const { payload } = await jwtVerify(ask.statement, createPublicKey(ask.key), options);
    return payload;
  },
};

// Receipts: each answer is `true`, or why it is not; `entry` is what the log has of a statement.
const kid = () => new Uint8Array(Buffer.from(ask.kid, "hex")).buffer;
const receipts = {
  async check() {
    const resolver = { resolve: async () => jwk(ask.key, createPublicKey) };
    const verifier = transmute.detached.verifier({ resolver });
    const each = async (one) => {
      const [receipt] = await transmute.receipt.get(hex(one.statement).buffer);
      const entry = await transmute.receipt.leaf(new Uint8Array(await transmute.receipt.remove(hex(one.statement).buffer)));
      return shown(await transmute.receipt.inclusion.verify({ entry, receipt, verifier })).length > 0;
    };
    return Promise.all(ask.all.map((one) => each(one).catch((error) => error.message)));
  },
  async check_consistency() {
    const resolver = { resolve: async () => jwk(ask.key, createPublicKey) };
    const verifier = transmute.detached.verifier({ resolver });
    const each = ({ older, newer, receipt }) =>
      transmute.receipt.consistency.verify({ oldRoot: hex(older), newRoot: hex(newer), receipt: hex(receipt), verifier });
    return Promise.all(ask.all.map((one) => each(one).catch((error) => error.message)));
  },
  async issue() {
    const signer = transmute.detached.signer({ remote: transmute.crypto.signer({ privateKeyJwk: jwk(ask.key, createPrivateKey) }) });
    const claims = new Map([[1, "https://log.example"], [2, "log.example"]]);
    const protectedHeader = () =>
      transmute.ProtectedHeader([
        [transmute.Protected.Alg, transmute.Signature.ES256],
        [transmute.Protected.Kid, kid()],
        [15, claims],
        [transmute.Protected.VerifiableDataStructure, transmute.VerifiableDataStructures["RFC9162-Binary-Merkle-Tree"]],
      ]);
    const each = async ({ statements, index }) => {
      const entries = await Promise.all(statements.map((one) => transmute.receipt.leaf(hex(one))));
      const receipt = await transmute.receipt.inclusion.issue({ protectedHeader: protectedHeader(), entry: index, entries, signer });
      return shown(await transmute.receipt.add(hex(statements[index]).buffer, receipt));
    };
    return Promise.all(ask.all.map(each));
  },
};
Object.assign(theirs, receipts);

const peer = { auth0, transmute: theirs, jose: tokens }[ask.peer];
try {
  console.log(JSON.stringify({ result: await peer[ask.op]() }));
} catch (error) {
  console.log(JSON.stringify({ error: `${error.name}: ${error.message}` }));
}
