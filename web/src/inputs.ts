/** What a call was given, as texts, as `vacr.viewer.inputs` gives them. */

import { isObject } from "./diffs";
import { canonical, type Value } from "./json";

/** A member of an input: its name, and what it says. */
export type Input = [string, string];

/** Give the members of an input; one that is no object has a single text without a name. */
export function inputsOf(given: Value): Input[] {
  if (given === undefined || given === null) return [];
  return isObject(given) ? Object.keys(given).map((name) => [name, textOf(given[name])]) : [["", textOf(given)]];
}

function textOf(value: Value): string {
  return typeof value === "string" ? value : canonical(value);
}
