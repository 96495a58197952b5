/** What is waited for long, and then neither done twice nor forgotten, on a clock of its own. */

import assert from "node:assert/strict";
import { Attached, SettleWriteError } from "@bq/core/transport";
import { fakeClock } from "@bq/core/testing";
import type { Producing } from "../../transports/kafka/_producing.ts";
import { Reinjection } from "../../transports/kafka/_reinjection.ts";
import type { KafkaClient } from "../../transports/kafka/client.ts";
import { resolveBroker } from "../../transports/kafka/options.ts";
import { KafkaSubscription } from "../../transports/kafka/subscription.ts";
import { retryTopic } from "../../transports/kafka/tiers.ts";
import { test } from "../harness.ts";
import { type Answer, scripted } from "./_scripted.ts";

const broken: Answer = () => {
  throw new Error("no connection");
};

test("a re-injector that cannot commit what it wrote commits it later, and does not write it again", async () => {
  const clock = fakeClock();
  const place = { topic: retryTopic("shop", 1), partition: 0 };
  // A commit is tried for 15 s, ten times a second, before it is given up for a while.
  const script = scripted(place, Array<Answer>(200).fill(broken));
  const warnings: string[] = [];
  let writes = 0;
  const writeTogether = (): Promise<void> => Promise.resolve(void writes++);
  const consumer: KafkaClient["consumer"] = ({ events }) => script.consumer(events);
  const reinjection = new Reinjection({
    broker: resolveBroker({ retryTiersMs: [1_000] }),
    queues: ["shop"],
    client: { consumer } as KafkaClient,
    producing: { writeTogether } as unknown as Producing,
    clock,
    emit: (event) => event.type === "warning" && warnings.push(event.message),
  });
  const stopping = new AbortController();
  const running = reinjection.run(stopping.signal);
  await clock.advance(0);
  script.bring();
  await clock.advance(60_000);
  assert.equal(writes, 1);
  assert.deepEqual(script.committed, [8n]);
  assert.match(
    warnings.join("\n"),
    /offset 7 of partition 0 of '.*' stays and is tried again: no con/,
  );
  stopping.abort();
  await clock.advance(0);
  await running;
});

test("a record whose settle took longer than the worker waits is handed out again", async () => {
  const clock = fakeClock();
  const script = scripted({ topic: "shop", partition: 0 });
  const writing = Promise.withResolvers<void>();
  const subscription = new KafkaSubscription({
    queue: "shop",
    topic: "shop",
    tiersMs: [1_000],
    producing: { write: () => [writing.promise] } as unknown as Producing,
    context: { clock, random: () => 0, bytes: (n) => new Uint8Array(n), emit: () => {} },
    options: { prefetch: 1, intake: new AbortController().signal, lost: () => {} },
    ends: undefined,
    sources: new Attached(),
    topicOf: (queue) => queue,
    consumer: script.consumer,
    onClose: () => Promise.resolve(),
  });
  await subscription.start();
  script.bring();
  const [first] = await subscription.receive(1, 0);
  const body = new Uint8Array();
  const settling = subscription.settle(first!, { kind: "retry", body, attempts: 1, delayMs: 0 });
  const refused = assert.rejects(settling, SettleWriteError);
  await clock.advance(29_000);
  writing.reject(new Error("no connection"));
  await refused;
  assert.deepEqual(await subscription.receive(1, 0), []);
  await clock.advance(1_000);
  const [again] = await subscription.receive(1, 0);
  assert.deepEqual(again?.body, first!.body);
  assert.equal(await subscription.settle(first!, { kind: "ack" }), "expired");
  assert.equal(await subscription.settle(again!, { kind: "ack" }), "settled");
  assert.deepEqual(script.committed, [8n]);
  await subscription.close();
});
