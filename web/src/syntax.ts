/** Simple syntax colours: comments, strings, numbers and keywords of common languages, one line at a time. */

export interface Token {
  /** "comment", "string", "number", "keyword", or "" for all other text. */
  look: string;
  text: string;
}

/** A family of languages: its comments, the ends of its block comments, and its keywords. */
interface Family {
  comment: RegExp;
  begin: string;
  end: string;
  keywords: Set<string>;
}

const KEYWORDS =
  "abstract and as assert async await begin bool boolean break case catch class const continue def default defer del do elif else elsif end " +
  "ensure enum except export extends extern false final finally float fn for foreach from func function global go goto if impl implements " +
  "import in include instanceof int interface internal is lambda let local long loop match mod module mut namespace new next nil none " +
  "nonlocal not null of or override package pass private protected pub public raise readonly require rescue return select self shared " +
  "short sizeof static string struct super switch then this throw throws trait true try type typeof undefined union unless unsafe until " +
  "use using val var void when where while with yield None True False";
const WORDS = new Set(KEYWORDS.split(" "));
/** A text that no line contains. */
const NO_BLOCKS = { begin: "\n", end: "\n" };
const SLASHES: Family = { comment: /\/\/.*|\/\*.*?(?:\*\/|$)/y, begin: "/*", end: "*/", keywords: WORDS };
const HASHES: Family = { comment: /#.*/y, ...NO_BLOCKS, keywords: WORDS };
const DASHES: Family = { comment: /--.*/y, ...NO_BLOCKS, keywords: WORDS };
const MARKUP: Family = { comment: /<!--.*?(?:-->|$)/y, begin: "<!--", end: "-->", keywords: new Set() };
const PLAIN: Family = { comment: /$^/y, ...NO_BLOCKS, keywords: new Set() };
const FAMILIES: [Family, string][] = [
  [
    SLASHES,
    "c cc cpp cs css cxx dart go gradle groovy h hpp java js json jsonc jsx kt less m mjs mts php proto rs scala scss swift ts tsx zig",
  ],
  [HASHES, "bash cfg conf dockerfile ex exs fish gemfile jl makefile mk nix pl ps1 py pyi r rake rb sh tf toml yaml yml zsh"],
  [DASHES, "adb ads elm hs lua sql vhd"],
  [MARKUP, "astro htm html md mdx svelte svg vue xml"],
];
const FAMILY_BY_NAME = new Map(
  FAMILIES.flatMap(([family, names]) => names.split(" ").map((name): [string, Family] => [name, family])),
);
const STRING = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\d[\w.]*/y;

/**
 * Return the tokens of the lines of a diff in the language of a file.
 *
 * `marks` has the mark of each line. A block comment may go on in the next line, apart for the old and for the new text.
 */
export function tokenizeLines(lines: string[], marks: string[], path: string): Token[][] {
  const name = path.split("/").pop()!.toLowerCase();
  const family = FAMILY_BY_NAME.get(name.split(".").pop()!) ?? PLAIN;
  if (family === PLAIN) return lines.map((text) => [{ look: "", text }]);
  const isInside = { old: false, new: false };
  return lines.map((line, at) => {
    const side = marks[at] === "-" ? "old" : "new";
    const [tokens, isOpen] = tokenizeLine(line, family, isInside[side]);
    isInside[side] = isOpen;
    if (marks[at] !== "+" && marks[at] !== "-") isInside.old = isInside.new = isOpen;
    return tokens;
  });
}

/** Return the tokens of a line, and whether a block comment is open at its end. */
function tokenizeLine(line: string, family: Family, isInside: boolean): [Token[], boolean] {
  const tokens: Token[] = [];
  const add = (look: string, text: string) => {
    const last = tokens[tokens.length - 1];
    if (last?.look === look) last.text += text;
    else tokens.push({ look, text });
  };
  let at = 0;
  // The first line of a hunk may be inside a comment already; such a line usually begins with an asterisk.
  if (isInside || (family === SLASHES && /^\s*\*(?:\s|\/|$)/.test(line))) {
    const end = line.indexOf(family.end);
    if (end < 0) return [[{ look: "comment", text: line }], isInside];
    at = end + family.end.length;
    add("comment", line.slice(0, at));
  }
  let isOpen = false;
  while (at < line.length) {
    const [look, text] = readToken(line, at, family);
    isOpen = look === "comment" && text.startsWith(family.begin) && !text.endsWith(family.end);
    add(look, text);
    at += text.length;
  }
  return [tokens, isOpen];
}

/** Return the look and the text of the token at a position. */
function readToken(line: string, at: number, family: Family): [string, string] {
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(line)?.[0] ?? "";
  };
  const comment = match(family.comment);
  if (comment) return ["comment", comment];
  if (family !== MARKUP || line[at] === '"') {
    const text = match(STRING);
    if (text) return ["string", text];
  }
  const word = match(WORD);
  if (word) return [family.keywords.has(word) ? "keyword" : "", word];
  const number = family === MARKUP ? "" : match(NUMBER);
  return number ? ["number", number] : ["", line[at]];
}
