import assert from "node:assert/strict";
import { test } from "../harness.ts";
import { absent, RUNTIMES, start } from "./_start.ts";

for (const runtime of RUNTIMES) {
  test(`a Worker of ${runtime} publishes and handles`, async () => {
    const ended = await start(runtime, "start_worker.ts");
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.deepEqual(JSON.parse(ended.stdout), [{ order_id: 1042 }]);
  }, { ignore: absent(runtime), timeoutMs: 90_000 });
}
