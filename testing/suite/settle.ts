import { check, equal, rejects } from "./_assert.ts";
import { bytes, envelope, text } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import type { Reader, World } from "./_world.ts";
import type { Delivery, Verdict } from "../../runtime/transport.ts";

/** A queue with one message, received. */
async function received(world: World): Promise<Reader & { body: Uint8Array; delivery: Delivery }> {
  const transport = await world.open();
  const body = bytes(envelope(world.queue, { data: '{"n":9007199254740993}' }));
  await transport.publish(world.queue, [{ body }]);
  const reader = await world.read(world.queue, { transport });
  const [delivery] = await reader.take(1);
  return { ...reader, body, delivery: delivery! };
}

export const settleTests: readonly SuiteTest[] = [
  {
    title: "an acknowledged message is gone",
    async run(world) {
      const { subscription, delivery } = await received(world);
      equal(await subscription.settle(delivery, { kind: "ack" }), "settled", "the answer");
      await subscription.close();
      await world.expectEmpty();
    },
  },
  {
    title: "a second settle says expired and touches nothing",
    async run(world) {
      const { subscription, delivery, body } = await received(world);
      await subscription.settle(delivery, { kind: "ack" });
      const record = bytes('{"never":"written"}');
      const verdicts: readonly Verdict[] = [
        { kind: "ack" },
        { kind: "retry", body, attempts: 1, delayMs: 0 },
        { kind: "release", delayMs: 0 },
        { kind: "return" },
        { kind: "deadLetter", record, queue: world.deadLetterQueue, reason: "failed" },
      ];
      for (const verdict of verdicts) {
        equal(await subscription.settle(delivery, verdict), "expired", `a late ${verdict.kind}`);
      }
      await subscription.close();
      await world.expectEmpty();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "a returned message comes again, unchanged",
    async run(world) {
      const { subscription, delivery, body } = await received(world);
      equal(await subscription.settle(delivery, { kind: "return" }), "settled", "the answer");
      await subscription.close();
      const [again] = await world.takeOff(world.queue, 1);
      equal(again!.body, body, "the body");
    },
  },
  {
    title: "the delivery before a return settles nothing any more",
    async run(world) {
      const { subscription, delivery, take } = await received(world);
      await subscription.settle(delivery, { kind: "return" });
      const [again] = await take(1);
      equal(await subscription.settle(delivery, { kind: "ack" }), "expired", "the late answer");
      equal(await subscription.settle(again!, { kind: "ack" }), "settled", "the answer");
    },
  },
  {
    title: "settle and the next receive may be issued together",
    async run(world) {
      const { subscription, delivery, take } = await received(world);
      const transport = await world.open();
      await transport.publish(world.queue, [{ body: bytes(envelope(world.queue)) }]);
      const settling = subscription.settle(delivery, { kind: "ack" });
      const taking = take(1);
      equal(await settling, "settled", "the answer");
      const [next] = await taking;
      equal(await subscription.settle(next!, { kind: "ack" }), "settled", "the next answer");
    },
  },
  {
    title: "a record is on the dead-letter queue and the original is gone",
    async run(world) {
      const { subscription, delivery } = await received(world);
      const queue = world.deadLetterQueue;
      const record = bytes('{"raw":"x","dead_letter":{"reason":"poison"}}');
      await subscription.settle(delivery, { kind: "deadLetter", record, queue, reason: "poison" });
      await subscription.close();
      const [written] = await world.takeOff(queue, 1);
      equal(text(written!.body), text(record), "the record");
      await world.expectEmpty();
    },
  },
  {
    title: "settle() after close() rejects",
    async run(world) {
      const transport = await world.open();
      await transport.publish(world.queue, [{ body: bytes(envelope(world.queue)) }]);
      const { subscription, take } = await world.read(world.queue, { transport });
      const [delivery] = await take(1);
      await transport.close();
      await rejects(subscription.settle(delivery!, { kind: "ack" }), "settle()");
    },
  },
  {
    title:
      "a delivery carries headers without a prototype, and a count only where the broker counts",
    async run(world) {
      const { delivery } = await received(world);
      equal(Object.getPrototypeOf(delivery.headers), null, "the prototype of its headers");
      equal(Object.keys(delivery.headers), [], "its foreign headers");
      const { replaces, floor, beside } = delivery.counting;
      equal(Math.max(replaces ?? 0, floor ?? 0, beside ?? 0), 0, "its earlier deliveries");
      if (!world.capabilities.nativeCount) {
        check(floor === undefined, "a broker that does not count gives no count");
      }
    },
  },
];
