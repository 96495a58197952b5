import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { DEFAULTS } from "../../runtime/options.ts";
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

  test(`the files and folders that ${page} names exist`, () => {
    const rooms = "core|runtime|process|testing|transports|tests|tools|bench|examples|docs";
    const paths = new RegExp(`\`((?:${rooms})/[\\w./-]*)\``, "g");
    for (const [, path = ""] of read(page).matchAll(paths)) {
      assert.ok(existsSync(new URL(`../../${path}`, import.meta.url)), path);
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

/** The cells of the rows of tables whose first cell is code. */
function rowsOf(page: string): [name: string, ...cells: string[]][] {
  return page.split("\n").filter((line) => line.startsWith("| `")).map((line) => {
    const [first = "", ...cells] = line.split("|").slice(1, -1).map((cell) => cell.trim());
    return [first, ...cells];
  });
}

test("docs/runtime.md lists every option of an App with its default", () => {
  const { retry, ...app } = DEFAULTS;
  const expected: Record<string, unknown> = { ...app, random: undefined };
  for (const [name, value] of Object.entries(retry)) expected[`retry.${name}`] = value;
  // What no value says stands in words.
  const words: Record<string, string> = {
    onUnknownUrn: '`"fail"`',
    deadLetterSuffix: "the broker's",
    prefetch: "the handlers of the queue",
    clock: "the system's",
    random: "the system's",
  };
  const page = read("docs/runtime.md");
  const table = page.slice(
    page.indexOf("\n## Options\n"),
    page.indexOf("\n## Events and health\n"),
  );
  const listed = new Map<string, string>();
  for (const [names, value = ""] of rowsOf(table)) {
    for (const [, name = ""] of names.matchAll(/`([\w.]+)`/g)) listed.set(name, value);
  }
  assert.deepEqual([...listed.keys()].sort(), Object.keys(expected).sort());
  for (const [name, value] of Object.entries(expected)) {
    const said = value === undefined ? "not set" : `\`${JSON.stringify(value)}\``;
    assert.equal(listed.get(name), words[name] ?? said, name);
  }
});

test("docs/errors.md lists every code, and no other", () => {
  const union = /export type ErrorCode =([^;]*);/.exec(read("core/errors.ts"))?.[1] ?? "";
  const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code]) => `\`${code}\``);
  assert.ok(codes.length > 10);
  const listed = rowsOf(read("docs/errors.md")).map(([name]) => name);
  assert.deepEqual(listed.sort(), codes.sort());
});
