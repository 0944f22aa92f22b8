/** What adds up under a name: the calls of a tool, the tokens of a model. */

export interface Sum {
  name: string;
  value: number;
  /** How much of it failed. */
  failed?: number;
}

/** Add up what has the same name. */
export function summed(all: Sum[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const { name, value, failed = 0 } of all) {
    const sum = sums.get(name) ?? { name, value: 0, failed: 0 };
    sums.set(name, { name, value: sum.value + value, failed: (sum.failed ?? 0) + failed });
  }
  return [...sums.values()].filter((sum) => sum.value > 0);
}
