/** Texts as Python sees them, so that page and terminal show the same: lines, words, letters. */

const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const BLANKS = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const CONTROLS = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const JOINER = "\u200d";
const TAB = 4;

export function lines(text: string): string[] {
  const found = text.split(LINE_END);
  if (found[found.length - 1] === "") found.pop();
  return found;
}

export function words(text: string): string[] {
  return text.split(BLANKS).filter(Boolean);
}

/** Cut a text to so many letters. */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const letters = Array.from(text);
  return letters.length <= longest ? text : `${letters.slice(0, longest - 1).join("")}…`;
}

/** Give a text in which every control character can be seen and does nothing: escapes for terminals, bidi controls. */
export function visible(text: string): string {
  const whole = text.replaceAll("\r\n", "\n");
  return whole.replace(CONTROLS, (letter) => {
    if (letter === "\n" || letter === JOINER) return letter;
    if (letter === "\t") return " ".repeat(TAB);
    const code = letter.codePointAt(0)!;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}
