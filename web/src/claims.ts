/** What a signer says beside the signature. Follows RFC 8392. */

import { Float } from "./cbor";
import { Refusal } from "./refusal";

const [ISS, SUB, EXP, NBF, IAT] = [1, 2, 4, 5, 6];
const CLOCKS_DIFFER_BY = 300;
const LAST_SECOND = Date.UTC(9999, 11, 31) / 1000;

export interface Claims {
  issuer?: string;
  subject?: string;
  issuedAt?: number;
}

export function readClaims(said: unknown, now: number): Claims {
  if (!(said instanceof Map)) throw new Refusal("claims that are no map", "claims-malformed");
  for (const label of said.keys())
    if (typeof label !== "number" && typeof label !== "string" && typeof label !== "bigint")
      throw new Refusal("a claim whose label is neither number nor text", "claims-malformed");
  for (const label of [ISS, SUB])
    if (said.has(label) && typeof said.get(label) !== "string")
      throw new Refusal(`claim ${label} is of the wrong type`, "claims-malformed");
  const times = new Map<number, number>();
  for (const label of [IAT, NBF, EXP]) {
    const value = said.get(label);
    if (!said.has(label)) continue;
    if (typeof value !== "number" && typeof value !== "bigint" && !(value instanceof Float))
      throw new Refusal(`claim ${label} is of the wrong type`, "claims-malformed");
    const time = Number(value);
    if (!(time >= 0 && time < LAST_SECOND)) throw new Refusal("a time that no calendar has", "claims-malformed");
    times.set(label, time);
  }
  if ((times.get(IAT) ?? 0) > now + CLOCKS_DIFFER_BY)
    throw new Refusal(`it says that it will be signed at ${moment(times.get(IAT)!)}`, "issued-in-future");
  if ((times.get(NBF) ?? 0) > now + CLOCKS_DIFFER_BY)
    throw new Refusal(`it says that it holds from ${moment(times.get(NBF)!)} on`, "claims-not-yet");
  if ((times.get(EXP) ?? Infinity) < now - CLOCKS_DIFFER_BY)
    throw new Refusal(`it says that it held until ${moment(times.get(EXP)!)}`, "claims-expired");
  return { issuer: said.get(ISS) as string | undefined, subject: said.get(SUB) as string | undefined, issuedAt: times.get(IAT) };
}

export function moment(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
