/** Texts as Python splits and cuts them, so that page and terminal show the same. Mirrors `vacr.viewer.content`. */

const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const BLANKS = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const CONTROLS = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const JOINER = "\u200d";
const TAB_WIDTH = 4;

/** Return the lines of a text without their ends, as Python's splitlines does. */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** Return the words of a text, as Python's split does. */
export function splitWords(text: string): string[] {
  return text.split(BLANKS).filter(Boolean);
}

/** Return a text of at most `length` characters; a longer one ends in "…". */
export function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

let numbers: Intl.NumberFormat | undefined;

/** Return a number with commas between its thousands, such as "1,200". A format takes long to make, so all numbers share one. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) && value >= 0 && value < 1000) return String(value);
  numbers ??= new Intl.NumberFormat("en");
  return numbers.format(value);
}

/** Return a count with its noun in the singular or plural, such as "1,200 lines". */
export function pluralize(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Return a text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Replace control characters by visible escapes, so that they have no effect: terminal escapes, bidirectional controls. */
export function makeVisible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, (character) => {
    if (character === "\n" || character === JOINER) return character;
    if (character === "\t") return " ".repeat(TAB_WIDTH);
    const code = character.codePointAt(0)!;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

/** An empty line between two words as JSON writes it; a text about such line ends quotes them. */
const ESCAPED_PARAGRAPH = /[^\s"'`\\]\\n\\n[^\s"'`]/;

/** Return a prompt with real line ends, if a program passed it as JSON and left its line ends as `\n`; others unchanged. */
export function restoreLineEnds(text: string): string {
  if (!ESCAPED_PARAGRAPH.test(text) || text.trim().includes("\n")) return text;
  const lines = text.trim().replace(/^"|"$/g, "");
  return lines
    .replace(/\\[rn]/g, "\n")
    .replaceAll("\\t", "\t")
    .replaceAll('\\"', '"');
}

const MARKS = /[√✓✔✅☑🗸🗹⍻🆗✕✖✗✘❌❎☒🗴🗵🗶🗷❓❔]/gu;
/** Blanks, and characters that nobody can see. */
const NOT_IN_A_WORD =
  /[\s\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\u{16fe4}\u{1d159}\u{e0100}-\u{e01ef}]/u;

/**
 * Return an id or an address that a stranger chose, in quotes unless it is one word: further words could imitate the rest of a
 * verdict, such as a proven time. Mirrors `vacr.verification.trust_store.quote_words`.
 */
export function quoteWords(text: string): string {
  const escaped = text.replace(MARKS, (mark) => {
    const code = mark.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
  const isPlain = text !== "" && escaped === text && makeVisible(text) === text && !NOT_IN_A_WORD.test(text);
  return isPlain ? text : `"${escaped.replaceAll('"', '\\"')}"`;
}

/** Thoughts that some models write into their answer, before its text; the last may be cut off. */
const WRITTEN_THOUGHT = /\s*<(think(?:ing)?(?:-content-[0-9a-f]{1,64})?)>([^]*?)(?:<\/\1>|$)/y;

/** Return the thoughts at the start of an answer, and the rest of it. Mirrors `vacr.viewer.content.split_thoughts`. */
export function splitThoughts(text: string): [string, string] {
  const thoughts: string[] = [];
  let end = 0;
  for (;;) {
    WRITTEN_THOUGHT.lastIndex = end;
    const match = WRITTEN_THOUGHT.exec(text);
    if (!match) return [thoughts.join("\n\n"), end ? text.slice(end).trimStart() : text];
    thoughts.push(match[2].trim());
    end += match[0].length;
  }
}
