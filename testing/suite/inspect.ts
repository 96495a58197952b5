import { check, equal } from "./_assert.ts";
import { bytes, envelope, text } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { eventually } from "./_world.ts";
import type { Peeked } from "../../runtime/transport.ts";

export const inspectTests: readonly SuiteTest[] = [
  {
    title: "size() counts what waits, what is delayed and what is in flight, where it is offered",
    async run(world) {
      const transport = await world.open();
      equal(transport.size !== undefined, world.capabilities.size, "whether there is a size()");
      if (!world.capabilities.size) return;
      const delays = world.capabilities.publishDelay.kind === "native" ? 1 : 0;
      await transport.publish(world.queue, [
        ...Array.from({ length: 3 }, () => ({ body: bytes(envelope(world.queue)) })),
        ...Array.from({ length: delays }, () => ({
          body: bytes(envelope(world.queue)),
          delayMs: 300_000,
        })),
      ]);
      const sizeIs = (ready: number, delayed: number, inFlight: number): Promise<void> =>
        eventually(
          `the queue has ${ready} ready, ${delayed} delayed, ${inFlight} in flight`,
          async () => {
            const size = await transport.size!(world.queue);
            return size.ready === ready && size.delayed === delayed && size.inFlight === inFlight;
          },
        );
      await sizeIs(3, delays, 0);
      const { subscription, take } = await world.read(world.queue, { transport, prefetch: 1 });
      const [delivery] = await take(1);
      await sizeIs(2, delays, 1);
      await subscription.settle(delivery!, { kind: "ack" });
      await sizeIs(2, delays, 0);
    },
  },
  {
    title: "peek() shows bodies and headers and removes nothing, where it is offered",
    async run(world) {
      const transport = await world.open();
      equal(transport.peek !== undefined, world.capabilities.peek, "whether there is a peek()");
      if (!world.capabilities.peek) return;
      const bodies = Array.from({ length: 3 }, () => bytes(envelope(world.queue)));
      const headers = { tenant: "7" };
      await transport.publish(world.queue, bodies.map((body) => ({ body, headers })));
      let seen: Peeked[] = [];
      await eventually("3 messages can be seen", async () => {
        seen = await Array.fromAsync(transport.peek!(world.queue));
        return seen.length === 3;
      });
      const wanted = bodies.map(text).sort();
      equal(seen.map(({ body }) => text(body)).sort(), wanted, "the bodies");
      for (const message of seen) {
        equal(message.state, "ready", "the state of a message that waits");
        equal(message.headers, world.capabilities.headers ? headers : {}, "the headers");
      }
      const two = await Array.fromAsync(transport.peek!(world.queue, { max: 2 }));
      check(two.length === 2, "no more than 2 messages are shown when 2 were asked for");
      const came = await world.takeOff(world.queue, 3);
      equal(came.map(({ body }) => text(body)).sort(), wanted, "what can still be received");
    },
  },
];
