/**
 * Untrusted Markdown as harmless HTML: no images, forms, styles, frames or ids. Links lead only to web and mail addresses, and show
 * their target.
 */

import DOMPurify from "dompurify";
import { marked } from "marked";
import { makeVisible } from "./text";

const TAGS = [
  "a",
  "b",
  "blockquote",
  "br",
  "code",
  "del",
  "em",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "i",
  "li",
  "ol",
  "p",
  "pre",
  "s",
  "strong",
  "sub",
  "sup",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
];
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:)/i;
/** The page's own headings above the content use levels 1 and 2. */
const HEADING_OFFSET = 2;
const MAX_TARGET_LENGTH = 80;

let hasHooks = false;
/** The levels of the headings around the current place of a text. */
let openHeadings: number[] = [];

/** Make the sanitizer escape control characters, restrict links, and lower the levels of headings. */
function addHooks(): void {
  hasHooks = true;
  // Control characters may hide in HTML entities, so escape them again after parsing.
  DOMPurify.addHook("beforeSanitizeElements", (node) => {
    if (node.nodeType === Node.TEXT_NODE) node.nodeValue = makeVisible(node.nodeValue!);
  });
  DOMPurify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A") restrictLink(node as HTMLAnchorElement);
    if (/^H[1-6]$/.test(node.nodeName)) node.setAttribute("aria-level", String(nestHeading(Number(node.nodeName[1]))));
    // The corner of a table is often empty, and then heads nothing.
    if (node.nodeName === "TH" && !node.textContent?.trim()) node.setAttribute("role", "cell");
  });
}

/** Return the level of a heading below the headings of the page and of its own text, without gaps, for screen readers. */
function nestHeading(level: number): number {
  openHeadings = [...openHeadings.filter((other) => other < level), level];
  return Math.min(6, openHeadings.length + HEADING_OFFSET);
}

/** Make a link show its target; remove its address if that is not safe. */
function restrictLink(node: HTMLAnchorElement): void {
  const address = node.getAttribute("href");
  node.removeAttribute("title");
  const target = address !== null && SAFE_ADDRESS.test(address) ? describeTarget(address) : null;
  if (address === null || target === null) {
    node.removeAttribute("href");
    if (address !== null) node.append(` (${address.slice(0, 200)})`);
    return;
  }
  node.setAttribute("rel", "noopener noreferrer nofollow");
  node.setAttribute("target", "_blank");
  if (node.textContent !== address) node.append(` (${target})`);
}

/** Return the target of a link, starting with the host, so that a user name in the address cannot hide it; null if invalid. */
function describeTarget(address: string): string | null {
  try {
    const { protocol, host, pathname, search, hash } = new URL(address);
    const whole = protocol === "mailto:" ? address : host + (pathname + search + hash).replace(/^\/$/, "");
    return whole.length <= MAX_TARGET_LENGTH ? whole : `${whole.slice(0, Math.max(MAX_TARGET_LENGTH, host.length))}…`;
  } catch {
    return null;
  }
}

// Show raw HTML and images in Markdown as text.
marked.use({
  gfm: true,
  renderer: { html: ({ text }) => escapeHtml(text), image: ({ href, text }) => escapeHtml(`![${text}](${href.slice(0, 200)})`) },
});

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** Return Markdown as HTML that is safe to insert into the page. */
export function renderMarkdown(text: string): string {
  if (!hasHooks) addHooks();
  openHeadings = [];
  return DOMPurify.sanitize(marked.parse(text, { async: false }), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "start", "align"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^[^]*$/, // Our own hook checks links, and shows the address of a removed one.
  });
}
