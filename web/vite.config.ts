/** One file: the viewer, its style, and a policy that lets nothing else run. It is written into the Python package. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const TARGET = "../src/vacr/viewer/page.html";
const LICENCES = "../src/vacr/viewer/LICENSE-page.txt";
const SOURCES = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/** The digest of all that the page is made of; `tests/viewer/test_page.py` makes it again to tell whether the page is stale. */
function digest(): string {
  const names = [...SOURCES, ...readdirSync("src").map((name) => `src/${name}`)].sort();
  const whole = createHash("sha256");
  for (const name of names) {
    const data = readFileSync(name);
    whole.update(`${name}\0${data.length}\0`).update(data);
  }
  return whole.digest("hex");
}

function hashes(html: string, tag: string): string {
  const found = [...html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, "g"))];
  return found.map(([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`).join(" ");
}

/** The licences of what is in the page, as they ask to be kept with it. */
function licences(): string {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const texts = Object.entries(dependencies).map(([name, version]) => {
    const folder = join("node_modules", name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))!;
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `page.html holds these packages, each under its own licence.\n\n${texts.join(`\n${"-".repeat(78)}\n\n`)}`;
}

/** Take the built file, put the policy into it, and write it where Python finds it. */
function packaged(): Plugin {
  return {
    name: "packaged",
    closeBundle() {
      const built = readFileSync(join("dist", "index.html"), "utf8");
      const policy = [
        "default-src 'none'",
        `script-src ${hashes(built, "script")}`,
        `style-src ${hashes(built, "style")}`,
        "img-src data:",
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const metas = `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <meta name="vacr-sources" content="${digest()}" />`;
      writeFileSync(LICENCES, licences());
      writeFileSync(
        TARGET,
        built.replace('<meta charset="utf-8" />', () => `<meta charset="utf-8" />\n    ${metas}`),
      );
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), packaged()],
  build: { target: "es2022", modulePreload: false, reportCompressedSize: true },
});
