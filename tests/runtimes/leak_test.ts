import assert from "node:assert/strict";
import { test } from "../harness.ts";
import { absent, RUNTIMES, start } from "./_start.ts";

/** The program handles 40 MB of messages between its two measurements; a twentieth of them shows. */
const ALLOWED_BYTES = 2_000_000;
/** It makes and closes 200 Apps between them; what one in five leaves behind shows. */
const ALLOWED_OBJECTS = 40;

for (const runtime of RUNTIMES) {
  test(`memory and open handles return to where they were on ${runtime}`, async () => {
    const ended = await start(runtime, "leak.ts");
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    const { before, after } = JSON.parse(ended.stdout);
    assert.deepEqual(after.handles, before.handles);
    for (const type of Object.keys(after.objects)) {
      const more = after.objects[type] - before.objects[type];
      assert.ok(more < ALLOWED_OBJECTS, `${more} objects of type ${type} more are held`);
    }
    const growth = after.bytes - before.bytes;
    assert.ok(growth < ALLOWED_BYTES, `${growth} bytes more are held`);
  }, { ignore: absent(runtime), timeoutMs: 90_000 });
}
