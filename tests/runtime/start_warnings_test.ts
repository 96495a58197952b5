import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions, memory, type WarningCode } from "@bq/core";
import { fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";
import { ended, URN, withApp } from "./_app.ts";
import { type ScriptedOptions, ScriptedTransport } from "./_scripted.ts";

/** The codes that a worker warns with when it starts. */
async function warnings(
  options: BabelQueueOptions & { readonly handlers?: number },
  broker: ScriptedOptions = {},
): Promise<WarningCode[]> {
  const { handlers = 1, ...rest } = options;
  const transport = new ScriptedTransport({}, broker);
  let codes: WarningCode[] = [];
  await withApp({ transport, ...rest }, async ({ bq, clock, seen }) => {
    for (let n = 0; n < handlers; n++) bq.handle(`${URN}:${n}`, () => {});
    const running = bq.run();
    await clock.advance(5_000);
    codes = seen.of("warning").map(({ code }) => code);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.ok(seen.of("warning").every(({ level }) => level === "warn"));
    assert.equal(seen.of("warning").length, codes.length);
  });
  return codes;
}

test("a worker without a handler says so when it starts", async () => {
  assert.deepEqual(await warnings({ handlers: 0, deadLetter: true }), ["no_handlers"]);
  assert.deepEqual(await warnings({ handlers: 1, deadLetter: true }), []);
});

test("a worker whose dead-lettering nobody decided on says so when it starts", async () => {
  assert.deepEqual(await warnings({}), ["dead_letter_not_set"]);
  for (
    const undecided of [
      { onUnknownUrn: "fail" },
      { onUnknownUrn: "delete" },
      { deadLetterSuffix: "-dead" },
      { deadLetter: undefined as never },
    ] as const
  ) {
    assert.deepEqual(await warnings(undecided), ["dead_letter_not_set"], JSON.stringify(undecided));
  }
  for (
    const decided of [
      { deadLetter: true },
      { deadLetter: false },
      { deadLetterQueue: null },
      { deadLetterQueue: "dead" },
      { onUnknownUrn: "dead_letter" },
    ] as const
  ) {
    assert.deepEqual(await warnings(decided), [], JSON.stringify(decided));
  }
});

test("a worker that is to try again on a broker that cannot says so when it starts", async () => {
  const impossible: ScriptedOptions = { policy: { retry: "impossible" } };
  assert.deepEqual(await warnings({ deadLetter: true }, impossible), ["retry_impossible"]);
  assert.deepEqual(await warnings({ deadLetter: true, maxAttempts: 1 }, impossible), []);
  assert.deepEqual(await warnings({ handlers: 0 }, impossible), [
    "no_handlers",
    "dead_letter_not_set",
    "retry_impossible",
  ]);
});

test("every run() warns anew, a run() that is refused and consume() do not", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    const count = (): number => seen.of("warning").length;
    await ended(bq.consume({ waitMs: 0 }), clock);
    await assert.rejects(bq.run({ queues: [] }));
    assert.equal(count(), 0);
    for (const total of [2, 4]) {
      const running = bq.run();
      await assert.rejects(bq.run());
      await ended(Promise.all([bq.stop(), running]), clock);
      assert.equal(count(), total);
    }
  });
});

test("a run() or a consume() from a listener of the start warnings meets a queue that is worked on", async () => {
  for (const verb of ["run", "consume"] as const) {
    const clock = fakeClock();
    const again: Promise<unknown>[] = [];
    const types: string[] = [];
    const bq: BabelQueue = new BabelQueue(memory(), {
      clock,
      onEvent(event) {
        types.push(event.type);
        if (event.type === "warning") again.push(bq[verb]());
      },
    });
    bq.handle(URN, () => {});
    const running = bq.run();
    await assert.rejects(again[0]!, { code: "invalid_option", message: /is worked on already$/ });
    assert.equal(bq.health().queues.length, 1);
    await ended(Promise.all([bq.close(), running]), clock);
    assert.deepEqual(types.filter((type) => type === "started"), ["started"]);
  }
});

test("a stop() or a close() from a listener of the start warnings ends the run", async () => {
  for (const verb of ["stop", "close"] as const) {
    const clock = fakeClock();
    const bq: BabelQueue = new BabelQueue(memory(), {
      clock,
      onEvent(event) {
        if (event.type === "warning") void bq[verb]();
      },
    });
    bq.handle(URN, () => {});
    await ended(bq.run(), clock);
    await ended(bq.close(), clock);
    assert.deepEqual(bq.health().queues, []);
  }
});
