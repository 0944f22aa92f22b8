/**
 * Markdown of others as HTML that can do nothing: no pictures, forms, styles, frames, ids; links only to the web and to mail, and
 * each says where it leads.
 */

import DOMPurify from "dompurify";
import { marked } from "marked";
import { visible } from "./texts";

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
const SAFE = /^(?:https?:\/\/|mailto:)/i;
const BELOW = 3;
const LONGEST = 80;

let ready = false;

function prepare(): void {
  ready = true;
  // A control may be spelled in a way that only HTML reads.
  DOMPurify.addHook("beforeSanitizeElements", (node) => {
    if (node.nodeType === Node.TEXT_NODE) node.nodeValue = visible(node.nodeValue!);
  });
  DOMPurify.addHook("afterSanitizeAttributes", (node) => {
    if (node.nodeName === "A") link(node as HTMLAnchorElement);
    // The headings of others come below those of the page, so that its outline stays true.
    if (/^H[1-6]$/.test(node.nodeName)) node.setAttribute("aria-level", String(Math.min(6, Number(node.nodeName[1]) + BELOW)));
  });
}

function link(node: HTMLAnchorElement): void {
  const address = node.getAttribute("href");
  node.removeAttribute("title");
  const told = address !== null && SAFE.test(address) ? destination(address) : null;
  if (address === null || told === null) {
    node.removeAttribute("href");
    if (address !== null) node.append(` (${address.slice(0, 200)})`);
    return;
  }
  node.setAttribute("rel", "noopener noreferrer nofollow");
  node.setAttribute("target", "_blank");
  if (node.textContent !== address) node.append(` (${told})`);
}

/** Say where a link leads: of the web, first of all to whom, whatever stands before that; nothing for no address. */
function destination(address: string): string | null {
  try {
    const { protocol, host, pathname, search, hash } = new URL(address);
    const whole = protocol === "mailto:" ? address : host + (pathname + search + hash).replace(/^\/$/, "");
    return whole.length <= LONGEST ? whole : `${whole.slice(0, Math.max(LONGEST, host.length))}…`;
  } catch {
    return null;
  }
}

// Raw HTML in Markdown is shown as the text it is.
marked.use({
  gfm: true,
  renderer: { html: ({ text }) => escaped(text), image: ({ href, text }) => escaped(`![${text}](${href.slice(0, 200)})`) },
});

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export function markdown(text: string): string {
  if (!ready) prepare();
  return DOMPurify.sanitize(marked.parse(text, { async: false }), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", "start", "align"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^[^]*$/, // Our own hook judges links, so that those it takes away can still be read.
  });
}
