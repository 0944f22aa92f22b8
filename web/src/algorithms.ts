/** Signature algorithms by their COSE numbers, as far as browsers have them. Follows RFC 9053, 8230 and 9864. */

import { verifyAsync } from "@noble/ed25519";
import { base64url, type Bytes, joined } from "./bytes";
import type { Key } from "./keys";
import { Refusal } from "./refusal";

interface Algorithm {
  name: string;
  kinds: Key["kind"][];
  hash?: string;
}

const ES = (name: string, kind: Key["kind"], hash: string): Algorithm => ({ name, kinds: [kind], hash });
const ALGORITHMS: Record<number, Algorithm> = {
  [-8]: { name: "EdDSA", kinds: ["Ed25519"] },
  [-19]: { name: "Ed25519", kinds: ["Ed25519"] },
  [-7]: ES("ES256", "P-256", "SHA-256"),
  [-35]: ES("ES384", "P-384", "SHA-384"),
  [-36]: ES("ES512", "P-521", "SHA-512"),
  [-9]: ES("ESP256", "P-256", "SHA-256"),
  [-51]: ES("ESP384", "P-384", "SHA-384"),
  [-52]: ES("ESP512", "P-521", "SHA-512"),
  [-37]: ES("PS256", "RSA", "SHA-256"),
  [-38]: ES("PS384", "RSA", "SHA-384"),
  [-39]: ES("PS512", "RSA", "SHA-512"),
};
/** Those that Python's verification knows and browsers do not. */
const ELSEWHERE: Record<number, string> = { [-53]: "Ed448", [-48]: "ML-DSA-44", [-49]: "ML-DSA-65", [-50]: "ML-DSA-87" };

const SIZES: Partial<Record<Key["kind"], number>> = { "P-256": 64, "P-384": 96, "P-521": 132 };
const PRIME = 2n ** 255n - 19n;
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
/** How points of small order are written: anybody can make signatures by such a key. */
const SMALL_ORDER = new Set([0n, 1n, PRIME - 1n, PRIME, PRIME + 1n, ORDER_8, PRIME - ORDER_8]);

export function nameOf(number: unknown): string {
  const name = ALGORITHMS[number as number]?.name ?? ELSEWHERE[number as number];
  if (typeof number !== "number" || name === undefined) throw new Refusal(`no signature algorithm ${number}`, "alg-unknown");
  return name;
}

/** Tell whether signatures of an algorithm can be checked here. */
export function isKnown(number: unknown): boolean {
  return (number as number) in ALGORITHMS;
}

export function fits(number: unknown, key: Key): boolean {
  return ALGORITHMS[number as number].kinds.includes(key.kind) && !isAnybodys(key) && (key.kind !== "RSA" || key.x.length >= 256);
}

/** Check a signature; what does not hold is refused. */
export async function check(number: unknown, key: Key, signature: Bytes, data: Bytes): Promise<void> {
  const algorithm = ALGORITHMS[number as number];
  if (!fits(number, key)) throw new Refusal(`${algorithm.name} takes no key of this kind`, "alg-key");
  const size = SIZES[key.kind];
  if (size !== undefined && signature.length !== size)
    throw new Refusal(`a signature of ${signature.length} bytes, not ${size}`, "signature-length");
  if (!(await verify(algorithm, key, signature, data)))
    throw new Refusal("the signature is not this key's over these bytes", "signature");
}

async function verify(algorithm: Algorithm, key: Key, signature: Bytes, data: Bytes): Promise<boolean> {
  if (key.kind === "Ed25519") return edwards(key, signature, data);
  try {
    if (key.kind === "RSA") {
      const jwk = { kty: "RSA", n: base64url(key.x), e: base64url(key.y) };
      const imported = await crypto.subtle.importKey("jwk", jwk, { name: "RSA-PSS", hash: algorithm.hash! }, false, ["verify"]);
      return await crypto.subtle.verify(
        { name: "RSA-PSS", saltLength: Number(algorithm.hash!.slice(4)) / 8 },
        imported,
        signature,
        data,
      );
    }
    const point = joined(Uint8Array.of(4), key.x, key.y);
    const imported = await crypto.subtle.importKey("raw", point, { name: "ECDSA", namedCurve: key.kind }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "ECDSA", hash: algorithm.hash! }, imported, signature, data);
  } catch {
    return false; // A point that is not on its curve, or numbers that are out of range.
  }
}

async function edwards(key: Key, signature: Bytes, data: Bytes): Promise<boolean> {
  let imported: CryptoKey;
  try {
    imported = await crypto.subtle.importKey("raw", key.x, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    // A browser without Ed25519, or bytes that are no point: the library tells which.
    return verifyAsync(signature, data, key.x, { zip215: false }).catch(() => false);
  }
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, data);
}

function isAnybodys(key: Key): boolean {
  if (key.kind !== "Ed25519") return false;
  let y = 0n;
  for (const byte of key.x.slice().reverse()) y = (y << 8n) | BigInt(byte);
  return SMALL_ORDER.has(y & ((1n << 255n) - 1n));
}
