/** The Lua sources and what is made of them. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { child, runtimePath, test } from "../harness.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = `${ROOT}transports/redis/lua/`;

test("the generated scripts are those of lua/*.lua", async () => {
  const { code, stderr } = await child("deno", [
    "run",
    "--allow-read",
    "--allow-write=transports/redis",
    "tools/lua.ts",
    "--check",
  ], { cwd: ROOT });
  assert.equal(code, 0, stderr);
}, { ignore: runtimePath("deno") === null });

test("every script says what it is for, its keys, its arguments, its result and what is atomic", () => {
  for (const name of readdirSync(FOLDER)) {
    const source = readFileSync(FOLDER + name, "utf8");
    assert.match(source, /^-- [A-Z]/, name);
    if (name.startsWith("_")) continue;
    for (const part of ["KEYS", "Returns", "Atomic"]) {
      assert.match(source, new RegExp(`^-- ${part} `, "m"), `${name}: ${part}`);
    }
    if (source.includes("ARGV")) assert.match(source, /^-- ARGV /m, `${name}: ARGV`);
  }
});

test("no script names a key by itself", () => {
  for (const name of readdirSync(FOLDER)) {
    const source = readFileSync(FOLDER + name, "utf8");
    for (const [call] of source.matchAll(/redis\.p?call\('[A-Z]+', *'[^']*'/g)) {
      assert.fail(`${name}: ${call}`);
    }
  }
});
