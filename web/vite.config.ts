/** Build the viewer into one HTML file with a content security policy, and write it into the Python package. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const TARGET = "../src/vacr/viewer/page.html";
const LICENCES = "../src/vacr/viewer/LICENSE-page.txt";
const SOURCES = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/** Hash the sources of the page. `tests/viewer/test_page.py` computes the same hash to see whether the page is current. */
function hashSources(): string {
  const names = [...SOURCES, ...readdirSync("src").map((name) => `src/${name}`)].sort();
  const hash = createHash("sha256");
  for (const name of names) {
    const data = readFileSync(name);
    hash.update(`${name}\0${data.length}\0`).update(data);
  }
  return hash.digest("hex");
}

/** Hash the content of each element with a tag, for the content security policy. */
function hashElements(html: string, tag: string): string {
  const elements = [...html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, "g"))];
  return elements.map(([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`).join(" ");
}

/** Collect the licences of the packages in the page, which must accompany it. */
function collectLicences(): string {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const texts = Object.entries(dependencies).map(([name, version]) => {
    const folder = join("node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))!;
    return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `page.html contains these packages, each under its own licence.\n\n${texts.join(`\n${"-".repeat(78)}\n\n`)}`;
}

/** Add the policy to the built file, and write it into the Python package. */
function packagePage(): Plugin {
  return {
    name: "package-page",
    closeBundle() {
      const built = readFileSync(join("dist", "index.html"), "utf8");
      const policy = [
        "default-src 'none'",
        `script-src ${hashElements(built, "script")}`,
        `style-src ${hashElements(built, "style")}`,
        "img-src data:",
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      const metas = `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <meta name="vacr-sources" content="${hashSources()}" />`;
      writeFileSync(LICENCES, collectLicences());
      writeFileSync(
        TARGET,
        built.replace('<meta charset="utf-8" />', () => `<meta charset="utf-8" />\n    ${metas}`),
      );
    },
  };
}

/**
 * Take `import.meta` out of the script: it is an error in the worker, which is no module. Only Vite's loader has it, for files
 * beside the page, and this page has none.
 */
function removeImportMeta(): Plugin {
  return { name: "remove-import-meta", renderChunk: (code) => code.replaceAll("import.meta", "({})") };
}

export default defineConfig({
  plugins: [removeImportMeta(), viteSingleFile({ removeViteModuleLoader: true }), packagePage()],
  build: { target: "es2022", modulePreload: false, reportCompressedSize: true },
});
