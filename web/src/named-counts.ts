/** Counts by name, such as the calls of each tool or the tokens of each model. */

export interface NamedCount {
  name: string;
  value: number;
  /** How many of them failed. */
  failed?: number;
}

/** Add up the counts with the same name, and drop the names with a total of zero. */
export function addUpByName(counts: NamedCount[]): NamedCount[] {
  const totals = new Map<string, NamedCount>();
  for (const { name, value, failed = 0 } of counts) {
    const total = totals.get(name) ?? { name, value: 0, failed: 0 };
    totals.set(name, { name, value: total.value + value, failed: (total.failed ?? 0) + failed });
  }
  return [...totals.values()].filter((total) => total.value > 0);
}
