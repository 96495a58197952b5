/** Addresses that would be topics by the broker's own settings: what is sent and received asks for queues. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, type Lab, type LabApp } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

/** Runs a test whose addresses are topics unless the one who makes them asks for a queue. */
function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () =>
    inLab(broker().url, async (lab) => {
      const settings = JSON.stringify({
        defaultAddressRoutingType: "MULTICAST",
        defaultQueueRoutingType: "MULTICAST",
      });
      for (const address of [lab.queue, lab.dead]) {
        await lab.peer.manage("broker", "addAddressSettings", address, settings);
      }
      await work(lab);
    }), { ignore });
}

/** What the management says of a resource, for an operation that takes nothing. */
async function ask(lab: Lab, resource: string, operation: string): Promise<unknown> {
  const [answer] = JSON.parse(String(await lab.peer.manage(resource, operation)));
  return answer;
}

/** How its address delivers. */
async function routingOf(lab: Lab): Promise<unknown> {
  return JSON.parse(String(await ask(lab, `address.${lab.queue}`, "getRoutingTypesAsJSON")));
}

/** How many receive from its queue; a topic has none of that name. */
function consumersOf(lab: Lab): Promise<unknown> {
  return ask(lab, `queue.${lab.queue}`, "getConsumerCount");
}

/** An App whose handler writes down the numbers that came. */
function counting(lab: Lab): LabApp & { readonly came: unknown[] } {
  const came: unknown[] = [];
  const app = lab.app();
  app.bq.handle(U, ({ n }) => {
    came.push(n);
  });
  return { ...app, came };
}

live("what is published before any worker is there waits for one", async (lab) => {
  const { bq, came } = counting(lab);
  await bq.publish(U, { n: 1 });
  assert.deepEqual(await routingOf(lab), ["ANYCAST"]);
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  assert.deepEqual(came, [1]);
});

live("of two workers that are there before anything is published one gets it", async (lab) => {
  const [first, second] = [counting(lab), counting(lab)];
  const ended = [first, second].map(({ bq }) => bq.run());
  await eventually(async () => await consumersOf(lab) === 2);
  assert.deepEqual(await routingOf(lab), ["ANYCAST"]);
  for (let n = 0; n < 10; n++) await first.bq.publish(U, { n });
  await eventually(() => first.came.length + second.came.length >= 10);
  for (const { bq } of [first, second]) await bq.stop();
  await Promise.all(ended);
  const all = [...first.came, ...second.came] as number[];
  assert.deepEqual(all.sort((a, b) => a - b), [...Array(10).keys()]);
});
