/** Copies that the broker does not take: the original stays, uncounted, and nothing is lost or doubled. */

import assert from "node:assert/strict";
import { type BabelQueueOptions, systemClock } from "@bq/core";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, b0, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { inLab, type Lab, nativeText } from "./lab.ts";

const ignore = await absentArtemis({ own: true });
const broker = brokerOfFile(ignore, () => startArtemis({ own: true }));

function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

const NOTHING = { ready: 0, delayed: 0, inFlight: 0 };

/** Why the worker writes a copy: where it comes from decides neither how it fails nor what follows. */
const COPIES: readonly { title: string; body: string; options: BabelQueueOptions }[] = [
  { title: "a delayed retry", body: B0, options: { retry: { baseMs: 50 } } },
  {
    title: "a retry of a body that counts more than the broker",
    body: b0({ attempts: '"attempts":1' }),
    options: { retry: { baseMs: 0 } },
  },
  {
    title: "a delayed release of an unknown URN",
    body: b0({ job: '"job":"urn:babel:unknown"' }),
    options: { onUnknownUrn: "release", unknownUrnReleaseDelayMs: 50 },
  },
];

for (const { title, body, options } of COPIES) {
  live(`${title} whose copy is refused brings the original back, uncounted`, async (lab) => {
    await lab.peer.send(lab.queue, { body });
    await lab.forbidSending();
    const { bq, seen } = lab.app({ maxAttempts: 5, ...options });
    bq.handle(U, () => {
      throw new Error("fails");
    });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    const failures = seen.of("writeFailed");
    assert.equal(failures.length, 1);
    assert.match(failures[0]!.error.message, /Cannot write the copy of a message.*permission/);
    assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["write_failed"]);
    const [message = {}] = await lab.peer.receive(lab.queue);
    assert.deepEqual([message.body, message.delivery_count ?? 0], [body, 0]);
    assert.deepEqual(await (await lab.transport()).size(lab.queue), NOTHING);
  });
}

live(
  "a delayed retry for which its address has no room brings the original back, uncounted",
  async (lab) => {
    const queue = `full.${lab.queue}`;
    const bodies = [1, 2, 3].map((n) => b0({ data: `"data":{"n":${n}}` }));
    for (const body of bodies) await lab.peer.send(queue, { body });
    // The wait for credit is the same one, but short: it never comes while the address is full.
    const sleep: typeof systemClock.sleep = (ms, signal) =>
      systemClock.sleep(ms === 20_000 ? 500 : ms, signal);
    const clock = { ...systemClock, sleep };
    const { bq, seen } = lab.app({ queue, clock, maxAttempts: 5, retry: { baseMs: 50 } });
    bq.handle(U, () => {
      throw new Error("fails");
    });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    assert.equal(seen.of("writeFailed").length, 1);
    assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["write_failed"]);
    const back = await lab.peer.receive(queue, bodies.length);
    assert.deepEqual(back.map(nativeText).sort(), bodies);
    assert.deepEqual(back.map((message) => message.delivery_count ?? 0), [0, 0, 0]);
    // Its link has credit again. What was given up is not sent with what comes after it.
    await bq.publish(U, {});
    assert.deepEqual(await (await lab.transport()).size(queue), { ...NOTHING, ready: 1 });
  },
);
