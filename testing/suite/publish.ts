import { systemClock } from "../../core/clock.ts";
import { BabelQueueError } from "../../core/errors.ts";
import { check, equal, rejects } from "./_assert.ts";
import { bytes, envelope, text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { eventually, type World } from "./_world.ts";

function refused(error: Error, code: string, what: string): void {
  check(error instanceof BabelQueueError, `${what} is refused with a BabelQueueError`);
  equal(error.code, code, `the code of ${what}`);
}

async function order(world: World, count: number, key?: string): Promise<number[]> {
  const app = world.app({ deadLetter: true });
  const came: number[] = [];
  app.bq.handle(URN, ({ n }) => {
    came.push(Number(n));
  });
  const options = key === undefined ? {} : { key };
  const many = Array.from({ length: count }, (_, n) => ({ message: URN, data: { n }, ...options }));
  await app.bq.publishMany(many.slice(0, count / 2));
  for (const { data } of many.slice(count / 2)) await app.bq.publish(URN, data, options);
  const work = world.work(app);
  await eventually(`${count} messages are handled`, () => came.length >= count);
  await work.stop();
  return came;
}

export const publishTests: readonly SuiteTest[] = [
  {
    title: "publish() gives the id of a message that the broker has",
    async run(world) {
      const { bq } = world.app();
      const data = { order_id: 1042, text: 'grüß "Gott" \u{1f600}', list: [1, null, { a: [] }] };
      const id = await bq.publish(URN, data, { traceId: "trace-7" });
      const [delivery] = await world.takeOff(world.queue, 1);
      const message = JSON.parse(text(delivery!.body));
      equal(message.meta.id, id, "meta.id");
      equal(message.meta.queue, world.queue, "meta.queue");
      equal(message.job, URN, "job");
      equal(message.trace_id, "trace-7", "trace_id");
      equal(message.data, data, "data");
      equal(message.attempts, 0, "attempts");
    },
  },
  {
    title: "a body arrives byte for byte",
    async run(world) {
      const { bq } = world.app();
      const body = bytes(envelope(world.queue, {
        data: '{"n":12345678901234567890,"r":1.0,"s":"\\u00e9\\/","e":{},"w": [ 1 ]}',
        extra: '"extra_top":{"b":1,"a":2},',
      }));
      await bq.publishRaw(world.queue, body);
      const [delivery] = await world.takeOff(world.queue, 1);
      equal(delivery!.body, body, "the body");
      equal(delivery!.queue, world.queue, "the queue of the delivery");
    },
  },
  {
    title: "a large body arrives byte for byte, and its handler gets it",
    async run(world) {
      const app = world.app({ deadLetter: true });
      const empty = bytes(envelope(world.queue, { data: '{"s":""}' })).length;
      const filler = "0123456789abcdef".repeat(Math.ceil(world.features.bodyBytes / 16))
        .slice(0, world.features.bodyBytes - empty);
      let got: unknown;
      app.bq.handle(URN, ({ s }) => {
        got = s;
      });
      await app.bq.publishRaw(
        world.queue,
        bytes(envelope(world.queue, { data: `{"s":"${filler}"}` })),
      );
      const work = world.work(app);
      await app.seen.waitFor("handled");
      await work.stop();
      check(got === filler, "the handler gets the whole text");
    },
  },
  {
    title: "a body of any bytes arrives as it is, or is refused where only text travels",
    async run(world) {
      const { bq } = world.app();
      const body = Uint8Array.from({ length: 512 }, (_, index) => index & 0xff);
      const sending = bq.publishRaw(world.queue, body);
      if (!world.features.binaryBodies) {
        const error = await rejects(sending, "a publish of bytes that are no text");
        check(error instanceof BabelQueueError, "the error is a BabelQueueError");
        return await world.expectEmpty();
      }
      await sending;
      const [delivery] = await world.takeOff(world.queue, 1);
      equal(delivery!.body, body, "the body");
    },
  },
  {
    title: "the order of publishing is kept as far as the transport says",
    async run(world) {
      const { capabilities } = world;
      const count = 40;
      const came = await order(world, count, capabilities.order === "key" ? "one" : undefined);
      if (capabilities.order === "none") came.sort((left, right) => left - right);
      equal(came, Array.from({ length: count }, (_, n) => n), "what was handled");
    },
  },
  {
    title: "publishes at the same time are all confirmed and all arrive",
    async run(world) {
      const { bq } = world.app();
      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, n) => bq.publish(URN, { n })),
      );
      const came = await world.takeOff(world.queue, 50);
      const arrived = came.map(({ body }) => JSON.parse(text(body)).meta.id);
      equal(arrived.sort(), ids.sort(), "the ids that arrived");
    },
  },
  {
    title: "publishMany() gives the ids in the order given",
    async run(world) {
      const { bq } = world.app();
      const items = Array.from({ length: 5 }, (_, n) => ({ message: URN, data: { n } }));
      const ids = await bq.publishMany(items);
      const came = await world.takeOff(world.queue, 5);
      const messages = came.map(({ body }) => JSON.parse(text(body)));
      const byNumber = messages.sort((left, right) => left.data.n - right.data.n);
      equal(byNumber.map((message) => message.meta.id), ids, "the ids");
    },
  },
  {
    title: "a delayed message comes in its time, or is refused where publishes cannot be delayed",
    async run(world) {
      const { publishDelay } = world.capabilities;
      const { bq } = world.app();
      if (publishDelay.kind === "none") {
        const error = await rejects(bq.publish(URN, {}, { delayMs: 1 }), "a delayed publish");
        refused(error, "unsupported", "a delayed publish");
        return await world.expectEmpty();
      }
      const delayMs = publishDelay.kind === "tiers" ? publishDelay.tiersMs[0]! : world.delayMs;
      const sentMs = systemClock.elapsed();
      await bq.publish(URN, { late: true }, { delayMs });
      await bq.publish(URN, { late: false });
      const [first, second] = await world.takeOff(world.queue, 2);
      const waitedMs = systemClock.elapsed() - sentMs;
      equal(JSON.parse(text(first!.body)).data, { late: false }, "the first message");
      equal(JSON.parse(text(second!.body)).data, { late: true }, "the second message");
      const leastMs = delayMs - world.features.clockMs;
      check(waitedMs >= leastMs, `${leastMs} ms pass; ${waitedMs} ms passed`);
    },
  },
  {
    title: "a delay beyond the transport's maximum is refused, and nothing is sent",
    async run(world) {
      const { publishDelay } = world.capabilities;
      const { bq } = world.app();
      const maxMs = publishDelay.kind === "native"
        ? publishDelay.maxMs
        : publishDelay.kind === "tiers"
        ? publishDelay.tiersMs.at(-1)
        : 0;
      const tooLong = maxMs === undefined ? -1 : maxMs + 1;
      const error = await rejects(
        bq.publish(URN, {}, { delayMs: tooLong }),
        `a publish with a delay of ${tooLong} ms`,
      );
      refused(error, tooLong < 0 ? "invalid_option" : "unsupported", "that publish");
      await world.expectEmpty();
    },
  },
  {
    title: "a publish whose signal is aborted rejects and sends nothing",
    async run(world) {
      const { bq } = world.app();
      await bq.connect();
      await rejects(bq.publish(URN, {}, { signal: AbortSignal.abort() }), "the publish");
      await world.expectEmpty();
    },
  },
  {
    title: "publish() after close() rejects",
    async run(world) {
      const { bq } = world.app();
      await bq.publish(URN, {});
      await bq.close();
      refused(await rejects(bq.publish(URN, {}), "the publish"), "closed", "the publish");
    },
  },
];
