import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import * as named from "@bq/core";
import * as processByName from "@bq/core/process";
import * as testingByName from "@bq/core/testing";
import * as direct from "../../mod.ts";
import * as processDirect from "../../process/mod.ts";
import * as testingDirect from "../../testing/mod.ts";
import { test } from "../harness.ts";

test("the package's own name resolves to its source, so that classes are the same classes", () => {
  assert.equal(named.BabelQueue, direct.BabelQueue);
  assert.equal(processByName.shutdownSignal, processDirect.shutdownSignal);
  assert.deepEqual(Object.keys(testingByName), Object.keys(testingDirect));
});

const { workspaces }: { workspaces: string[] } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

for (const broker of workspaces.map((path) => path.replace("transports/", ""))) {
  test(`@bq/${broker} resolves by its name, and stands on the same core`, async () => {
    const { [broker]: transport }: Record<string, (options: unknown) => unknown> = await import(
      `@bq/${broker}`
    );
    assert.throws(() => transport?.(5), (error) => error instanceof named.BabelQueueError);
  });
}

for (const broker of readdirSync(new URL("../../transports/", import.meta.url))) {
  test(`the policy of ${broker} loads by itself`, async () => {
    const policy: object = await import(`../../transports/${broker}/policy.ts`);
    assert.ok(Object.values(policy).some((value) => typeof value === "function"));
  });
}
