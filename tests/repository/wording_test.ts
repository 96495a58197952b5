import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { filesIn } from "../../tools/_files.ts";
import { test } from "../harness.ts";

/** What ties a text to one machine, one registry mirror or the way it was written. */
const FOREIGN: readonly RegExp[] = [
  /(^|[\s"'`(])\/(work|home|root|Users)\/\w/,
  /\/tmp\/(?!\$|\{)\w/,
  /https?:\/\/registry\.|\.npmrc/,
  /\b(claude|anthropic|gpt|copilot|llm|sub-?agent|ai-generated)\b/i,
  /\b(colleague|this session|another session)\b/i,
];

const TEXT = [".ts", ".md", ".json", ".jsonc", ".yml", ".lua", ".capnp", ".js", "run"];
const SELF = "tests/repository/wording_test.ts";

test("no file names a machine's path, a registry or who wrote it", () => {
  const found: string[] = [];
  for (const path of filesIn("", "").filter((p) => TEXT.some((e) => p.endsWith(e)))) {
    if (path === SELF) continue;
    readFileSync(new URL(`../../${path}`, import.meta.url), "utf8").split("\n").forEach(
      (line, i) => {
        if (FOREIGN.some((pattern) => pattern.test(line))) {
          found.push(`${path}:${i + 1}: ${line.trim()}`);
        }
      },
    );
  }
  assert.deepEqual(found, []);
});
