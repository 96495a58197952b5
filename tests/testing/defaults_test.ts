import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { BabelQueue, memory, type PeekOptions } from "@bq/core";
import { drain, fakeClock, inject, recorder } from "@bq/core/testing";
import { test } from "../harness.ts";
import { documentedDefaults } from "../runtime/_documented.ts";
import { ScriptedTransport } from "../runtime/_scripted.ts";
import { bytes, QUEUE, seam } from "../transports/_seam.ts";

const URN = "urn:babel:orders:created";

const FILES = [
  "runtime/transport.ts",
  "transports/memory/transport.ts",
  "testing/drain.ts",
  "testing/inject.ts",
  "testing/recorder.ts",
];
const documented = new Map(
  FILES.flatMap((file) => [...documentedDefaults(file)]).filter(([, value]) => value !== null),
);

/** What a documented default does, for memory and for the tools of tests. */
const BEHAVIOUR: Readonly<Record<string, readonly [string, () => Promise<void>]>> = {
  "PeekOptions.max": ["100", async () => {
    const { put, transport } = await seam();
    await put(Array.from({ length: 150 }, (_, n) => `message ${n}`));
    const look = async (options?: PeekOptions): Promise<number> =>
      (await Array.fromAsync(transport.peek(QUEUE, options))).length;
    assert.deepEqual([await look(), await look({}), await look({ max: 150 })], [100, 100, 150]);
    const bq = new BabelQueue(memory());
    for (let n = 0; n < 101; n++) await bq.publishRaw(QUEUE, bytes("message"));
    assert.equal((await Array.fromAsync(bq.peek(QUEUE))).length, 100);
    await bq.close();
  }],
  "MemoryOptions.leaseMs": ["30000", async () => {
    const { put, subscribe, transport, clock } = await seam();
    await put(["held"]);
    const [delivery] = await (await subscribe()).receive(1, 0);
    assert.equal(delivery?.leaseUntilMs, clock.now() + 30_000);
    await clock.advance(29_999);
    assert.equal((await transport.size(QUEUE)).inFlight, 1);
    await clock.advance(1);
    assert.equal((await transport.size(QUEUE)).ready, 1);
  }],
  "MemoryOptions.store": ["new MemoryStore()", async () => {
    const [one, other] = [await seam(), await seam()];
    await one.put(["message"]);
    const sizes = [await one.transport.size(QUEUE), await other.transport.size(QUEUE)];
    assert.deepEqual(sizes.map(({ ready }) => ready), [1, 0]);
  }],
  "DrainOptions.queue": ["the App's queue", async () => {
    const transport = new ScriptedTransport();
    const bq = new BabelQueue(transport, { queue: "mail" });
    await drain(bq);
    assert.equal(transport.receives[0]?.queue, "mail");
    await bq.close();
  }],
  "DrainOptions.maxMessages": ["undefined", async () => {
    const bq = new BabelQueue(memory(), { deadLetter: true });
    bq.handle(URN, () => {});
    for (let n = 0; n < 250; n++) await bq.publish(URN, {});
    assert.equal((await drain(bq)).handled, 250);
    await bq.close();
  }],
  "InjectOptions.headers": ["undefined", injectsTheBodyAlone],
  "InjectOptions.delayMs": ["0", injectsTheBodyAlone],
  "InjectOptions.key": ["undefined", injectsTheBodyAlone],
  "WaitForOptions.timeoutMs": ["30000", async () => {
    const waits: unknown[] = [];
    const original = globalThis.setTimeout;
    globalThis.setTimeout = ((run: () => void, ms?: number) => {
      waits.push(ms);
      return original(run, 0);
    }) as typeof setTimeout;
    try {
      await assert.rejects(recorder().waitFor("handled"), /within 30000 ms/);
    } finally {
      globalThis.setTimeout = original;
    }
    assert.deepEqual(waits, [30_000]);
  }],
};

async function injectsTheBodyAlone(): Promise<void> {
  const transport = new ScriptedTransport();
  const bq = new BabelQueue(transport);
  await inject(bq, QUEUE, "message");
  assert.deepEqual(Object.keys(transport.published[0]!.messages[0]!), ["body"]);
  await bq.close();
}

test("every default of memory() and of the tools for tests is documented and tested", () => {
  assert.deepEqual([...documented.keys()].sort(), Object.keys(BEHAVIOUR).sort());
});

for (const [name, [value, check]] of Object.entries(BEHAVIOUR)) {
  test(`the default of ${name} is ${value}`, async () => {
    assert.equal(documented.get(name), value);
    await check();
  });
}

test("fakeClock() starts where its documentation says", () => {
  const source = readFileSync(new URL("../../testing/fake_clock.ts", import.meta.url), "utf8");
  const [, start] = /@param startMs .*`@default \{([0-9]+)\}`/.exec(source)!;
  const clock = fakeClock();
  assert.deepEqual([clock.now(), clock.elapsed()], [1_760_000_000_000, 0]);
  assert.equal(Number(start), clock.now());
  assert.equal(fakeClock(7).now(), 7);
});
