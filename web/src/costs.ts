/** Costs as text, with the marks of `vacr stats`. */

// A format takes long to make, so it is made once, when it is first used.
let amounts: Intl.NumberFormat | undefined;

/** Return what the marks of a cost mean; "" for a cost without marks. */
export function explainCost(cost: string): string {
  const marks = {
    "~": "with an estimate by list prices",
    "≥": "without the models that have no price",
    "?": "no price is known",
  };
  const notes = Object.entries(marks).flatMap(([mark, text]) => (cost.includes(mark) ? [text] : []));
  return notes.length ? `Cost ${notes.join(", ")}` : "";
}

/** Return a cost with the marks of `vacr stats`: ~ is estimated, ≥ lacks a price, ? is unknown; "" for nothing. */
export function formatCost(cost: number, isEstimated: boolean, isUnpriced: boolean): string {
  if (!cost) return isUnpriced ? "$?" : "";
  amounts ??= new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const amount = cost < 0.01 ? cost.toPrecision(1) : amounts.format(cost);
  return `${isUnpriced ? "≥" : ""}${isEstimated ? "~" : ""}$${amount}`;
}

/** Return a cost in words, such as "at least ~$1.20" or "cost unknown". */
export function spellCost(cost: string): string {
  return cost.includes("?") ? "cost unknown" : cost.replace("≥", "at least ");
}
