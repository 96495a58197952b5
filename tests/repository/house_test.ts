import assert from "node:assert/strict";
import plugin from "../../tools/house/plugin.ts";
import { test } from "../harness.ts";

/** The rules that a source text breaks when it stands at a path. */
function broken(path: string, source: string): string[] {
  const file = new URL(`../../${path}`, import.meta.url).pathname;
  return Deno.lint.runPlugin(plugin, file, source).map(({ id }) => id.replace("house/", ""));
}

const CASES: readonly [rule: string, path: string, source: string][] = [
  ["layers", "core/a.ts", `import { x } from "../runtime/options.ts"; export { x };`],
  ["layers", "core/a.ts", `export * from "../runtime/options.ts";`],
  ["layers", "core/a.ts", `export type X = 1; const y = import("../runtime/options.ts");`],
  ["layers", "core/a.ts", `import process from "node:process";`],
  ["layers", "core/a.ts", `import { z } from "zod";`],
  ["layers", "runtime/a.ts", `import { z } from "zod";`],
  ["layers", "runtime/a.ts", `import { memory } from "../transports/memory/mod.ts";`],
  ["layers", "runtime/a.ts", `import { App } from "../mod.ts";`],
  ["layers", "runtime/a.ts", `import { x } from "../tests/harness.ts";`],
  ["layers", "runtime/a.ts", `import { x } from "../core/_scan.ts";`],
  ["layers", "runtime/a.ts", `import { x } from "@bq/core";`],
  ["layers", "runtime/a.ts", `import { x } from "../core/scan";`],
  ["layers", "transports/redis/a.ts", `import { x } from "../kafka/mod.ts";`],
  ["layers", "transports/redis/a.ts", `import { x } from "../../runtime/app.ts";`],
  ["layers", "transports/redis/a.ts", `import { createClient } from "npm:redis@6";`],
  ["layers", "transports/redis/a.ts", `import { BabelQueue } from "@bq/core";`],
  ["time", "core/a.ts", `export const f = () => Date.now();`],
  ["time", "core/a.ts", `export const f = () => new Date();`],
  ["time", "runtime/a.ts", `export const f = () => setTimeout(f, 1);`],
  ["time", "runtime/a.ts", `export const f = () => globalThis.setTimeout(f, 1);`],
  ["time", "runtime/a.ts", `export const f = () => Math.random();`],
  ["time", "runtime/a.ts", `export const f = () => performance.now();`],
  ["time", "runtime/a.ts", `export const f = () => AbortSignal.timeout(1);`],
  ["time", "transports/redis/a.ts", `export const f = () => crypto.randomUUID();`],
  ["files", "core/camelCase.ts", `export {};`],
  ["files", "core/a.ts", "\n".repeat(401) + "export {};"],
  ["files", "core/a.ts", `export default 1;`],
  ["files", "core/mod.ts", `export const x = 1;`],
  ["files", "core/a.ts", `// ${"TO"}DO: later`],
  ["purity", "core/a.ts", `console.log(1);`],
  ["purity", "core/a.ts", `let count = 0; export const f = () => count++;`],
  ["purity", "runtime/a.ts", `export let state = 1;`],
  [
    "portable",
    "runtime/a.ts",
    `export async function f(x: AsyncDisposable) { await using y = x; }`,
  ],
  ["portable", "core/a.ts", `export const f = (x: Uint8Array) => x.toBase64();`],
];

for (const [rule, path, source] of CASES) {
  test(`the rule '${rule}' refuses in ${path}: ${source.trim().slice(0, 60)}`, () => {
    assert.deepEqual(broken(path, source), [rule]);
  });
}

const FINE: readonly [path: string, source: string][] = [
  ["core/clock.ts", `export const f = () => Date.now();`],
  ["core/a.ts", `import { f } from "./_scan.ts"; export const g = f(new Date(5));`],
  ["runtime/a.ts", `import { x } from "../core/errors.ts"; export { x };`],
  [
    "transports/redis/a.ts",
    `import { x } from "@bq/core/transport"; import { createClient } from "redis";`,
  ],
  ["transports/memory/a.ts", `import { x } from "../../runtime/options.ts";`],
  ["process/a.ts", `import process from "node:process";`],
  ["tests/a_test.ts", `console.log(Date.now());`],
  ["mod.ts", `export { memory } from "./transports/memory/mod.ts";`],
];

for (const [path, source] of FINE) {
  test(`the rules accept in ${path}: ${source}`, () => {
    assert.deepEqual(broken(path, source), []);
  });
}
