import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { filesIn } from "../../tools/_files.ts";
import { test } from "../harness.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const pages = filesIn("", ".md");
const tasks: Readonly<Record<string, string>> = JSON.parse(read("deno.json")).tasks;
const scripts: Readonly<Record<string, string>> = JSON.parse(read("package.json")).scripts;

test("the README shows the demo and the tests as one line each", () => {
  assert.match(read("README.md"), /^npx -y deno@\S+ (task demo|run examples\/demo\.ts)\b/m);
  assert.match(read("README.md"), /^npm ci && npm test\b/m);
  assert.ok(tasks["demo"] && tasks["test"] && scripts["test"]);
});

for (const page of pages) {
  test(`the links of ${page} lead to files that exist`, () => {
    for (const [, target = ""] of read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      assert.ok(existsSync(new URL(target, new URL(`../../${page}`, import.meta.url))), target);
    }
  });

  test(`the tasks that ${page} names exist`, () => {
    for (const [, name = ""] of read(page).matchAll(/\bdeno task ([a-z][\w:-]*)/g)) {
      assert.ok(name in tasks, `deno task ${name}`);
    }
    for (const [, name = ""] of read(page).matchAll(/\bnpm run ([a-z][\w:-]*)/g)) {
      assert.ok(name in scripts, `npm run ${name}`);
    }
  });
}
