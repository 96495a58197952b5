import { systemClock } from "../../core/clock.ts";
import { inject } from "../inject.ts";
import { check, equal, rejects } from "./_assert.ts";
import { bytes, envelope, text } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { PATIENCE_MS, within, type World } from "./_world.ts";

async function put(world: World, count: number): Promise<string[]> {
  const transport = await world.open();
  const ids = Array.from({ length: count }, () => crypto.randomUUID());
  await transport.publish(
    world.queue,
    ids.map((id) => ({ body: bytes(envelope(world.queue, { id })) })),
  );
  return ids;
}

function idsOf(deliveries: readonly { readonly body: Uint8Array }[]): string[] {
  return deliveries.map(({ body }) => JSON.parse(text(body)).meta.id as string).sort();
}

export const subscriptionTests: readonly SuiteTest[] = [
  {
    title: "an open transport cannot be opened again",
    async run(world) {
      const transport = await world.open();
      const context = {
        clock: systemClock,
        random: () => 0,
        bytes: (length: number) => new Uint8Array(length),
        emit: () => {},
      };
      await rejects(transport.open(context), "a second open()");
      await inject(transport, world.queue, envelope(world.queue));
      await world.takeOff(world.queue, 1);
    },
  },
  {
    title: "close() twice is one close, and what is closed refuses work",
    async run(world) {
      const transport = await world.open();
      await transport.close();
      await transport.close();
      await rejects(
        transport.publish(world.queue, [{ body: bytes(envelope(world.queue)) }]),
        "publish() on a closed transport",
      );
      const { signal } = new AbortController();
      await rejects(
        transport.subscribe(world.queue, { prefetch: 1, intake: signal, lost: () => {} }),
        "subscribe() on a closed transport",
      );
    },
  },
  {
    title: "receive() gives nothing when nothing comes in its time",
    async run(world) {
      const { subscription } = await world.read();
      equal((await within(subscription.receive(1, 0), "receive()")).length, 0, "what came at once");
      equal((await within(subscription.receive(1, 300), "receive()")).length, 0, "what came");
    },
  },
  {
    title: "receive() that waits is ended by a message, not by its time",
    async run(world) {
      const reader = await world.read();
      const waiting = reader.subscription.receive(5, 600_000);
      const [id] = await put(world, 1);
      const came = await within(waiting, "receive()");
      equal(idsOf(came), [id], "what came");
    },
  },
  {
    title: "receive() never gives more than it was asked for",
    async run(world) {
      const ids = await put(world, 12);
      const { subscription } = await world.read();
      const came: { readonly body: Uint8Array }[] = [];
      while (came.length < ids.length) {
        const some = await within(subscription.receive(5, PATIENCE_MS), "receive()");
        check(some.length > 0 && some.length <= 5, "1 to 5 messages come, and none twice");
        for (const delivery of some) await subscription.settle(delivery, { kind: "ack" });
        came.push(...some);
      }
      equal(idsOf(came), ids.sort(), "what came");
    },
  },
  {
    title: "the end of intake ends receive() and loses nothing",
    async run(world) {
      const { subscription, intake } = await world.read();
      const waiting = subscription.receive(1, 600_000);
      intake.abort();
      const came = await within(waiting, "receive()");
      equal((await within(subscription.receive(1, 600_000), "a later receive()")).length, 0, "it");
      equal(came.length, 0, "what came");
      const [id] = await put(world, 1);
      await subscription.close();
      equal(idsOf(await world.takeOff(world.queue, 1)), [id], "what the next worker gets");
    },
  },
  {
    title: "what was not handed out, and what was not settled, is there for the next worker",
    async run(world) {
      const ids = await put(world, 10);
      const { subscription, intake, take } = await world.read(world.queue, {
        transport: await world.open({ leaseMs: world.features.leaseMs }),
      });
      const taken = await take(1);
      intake.abort();
      await subscription.settle(taken[0]!, { kind: "ack" });
      await subscription.close();
      const gone = idsOf(taken)[0];
      const left = await world.takeOff(world.queue, 9);
      equal(idsOf(left), ids.filter((id) => id !== gone).sort(), "what the next worker gets");
    },
  },
  {
    title: "closing a subscription ends its waiting receive()",
    async run(world) {
      const { subscription } = await world.read();
      const waiting = subscription.receive(1, 600_000).catch(() => []);
      await within(subscription.close(), "close()");
      equal((await within(waiting, "receive()")).length, 0, "what came");
    },
  },
  {
    title: "a snapshot ends with what was there, whatever is published meanwhile",
    async run(world) {
      await put(world, 3);
      const transport = await world.open();
      const { subscription } = await world.read(world.queue, { snapshot: true, transport });
      let received = 0;
      for (;;) {
        const came = await within(subscription.receive(1, PATIENCE_MS), "receive()");
        if (came.length === 0) break;
        received += came.length;
        check(received <= 3, "a snapshot of 3 messages gives no more than 3");
        for (const delivery of came) {
          await transport.publish(world.queue, [{ body: delivery.body, from: delivery }]);
          await subscription.settle(delivery, { kind: "ack" });
        }
      }
      equal(received, 3, "the number of messages received");
      await subscription.close();
      equal((await world.takeOff(world.queue, 3)).length, 3, "the number of messages afterwards");
    },
  },
];
