import { systemClock } from "../../core/clock.ts";
import { check, equal } from "./_assert.ts";
import { bytes, envelope, text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { type App, eventually, type World } from "./_world.ts";
import type { BabelQueueOptions } from "../../runtime/options.ts";

/** An App whose handler fails always, with a message on its queue. */
async function failing(world: World, options: BabelQueueOptions): Promise<App> {
  const app = world.app(options);
  app.bq.handle(URN, () => {
    throw new TypeError("no stock");
  });
  await app.bq.publishRaw(
    world.queue,
    bytes(envelope(world.queue, {
      data: '{"n":12345678901234567890,"r":1.0,"s":"\\u00e9\\/"}',
      extra: '"extra_top":"x",',
    })),
  );
  return app;
}

export const deadLetterTests: readonly SuiteTest[] = [
  {
    title: "a dead-letter record says what happened and keeps every other byte",
    async run(world) {
      const maxAttempts = world.attempts(2);
      const startMs = systemClock.now();
      const app = await failing(world, { deadLetter: true, maxAttempts });
      const work = world.work(app);
      const event = await app.seen.waitFor("deadLettered");
      await work.stop();
      equal(event.deadLetterQueue, world.deadLetterQueue, "the queue that the event names");

      const [record] = await world.takeOff(world.deadLetterQueue, 1);
      const written = text(record!.body);
      const { dead_letter, meta } = JSON.parse(written);
      const { failed_at, ...rest } = dead_letter;
      equal(rest, {
        reason: "failed",
        error: "no stock",
        exception: "TypeError",
        original_queue: world.queue,
        attempts: maxAttempts,
        lang: "node",
      }, "dead_letter");
      const endMs = systemClock.now();
      check(failed_at >= startMs && failed_at <= endMs, "failed_at is the time of the failure");
      const kept = envelope(world.queue, {
        id: meta.id,
        data: '{"n":12345678901234567890,"r":1.0,"s":"\\u00e9\\/"}',
        extra: '"extra_top":"x",',
        attempts: maxAttempts,
      });
      const block = written.slice(written.indexOf(',"dead_letter":'));
      equal(written, kept.slice(0, -1) + block, "the record");
      await world.expectEmpty();
    },
  },
  {
    title: "without dead-lettering a message that failed for good is dropped, and that is told",
    async run(world) {
      const app = await failing(world, { deadLetter: false, maxAttempts: 1 });
      const work = world.work(app);
      if (world.policy.exhaustedOff === "native") {
        equal((await app.seen.waitFor("deadLettered")).reason, "native", "the reason");
      } else {
        equal((await app.seen.waitFor("dropped")).reason, "failed", "the reason");
      }
      await work.stop();
      await world.expectEmpty();
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "a dead-letter queue that was named gets the record",
    async run(world) {
      const deadLetterQueue = await world.harness.queue();
      const app = await failing(world, { deadLetterQueue, maxAttempts: 1 });
      const work = world.work(app);
      equal((await app.seen.waitFor("deadLettered")).deadLetterQueue, deadLetterQueue, "it");
      await work.stop();
      const [record] = await world.takeOff(deadLetterQueue, 1);
      equal(JSON.parse(text(record!.body)).dead_letter.reason, "failed", "the reason");
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "a record on the dead-letter queue is itself a message that can be handled",
    async run(world) {
      const app = await failing(world, { deadLetter: true, maxAttempts: 1 });
      const work = world.work(app);
      await app.seen.waitFor("deadLettered");
      await work.stop();
      const rescue = world.app({ queue: world.deadLetterQueue, maxAttempts: 5, deadLetter: true });
      let reason: unknown;
      rescue.bq.handle(URN, (_, ctx) => {
        reason = ctx.envelope.dead_letter?.reason;
      });
      const rescuing = world.work(rescue);
      await rescue.seen.waitFor("handled");
      await rescuing.stop();
      equal(reason, "failed", "the reason that the handler sees");
    },
  },
  {
    title: "a message whose record cannot be written stays, and is dead-lettered when it can",
    needs: "failWrites",
    async run(world) {
      const app = await failing(world, { deadLetter: true, maxAttempts: 1 });
      await world.harness.failWrites?.(true);
      const work = world.work(app);
      await app.seen.waitFor("writeFailed");
      equal(app.seen.of("deadLettered").length, 0, "the number of records");
      await world.harness.failWrites?.(false);
      await app.seen.waitFor("deadLettered");
      await work.stop();
      equal((await world.takeOff(world.deadLetterQueue, 1)).length, 1, "the number of records");
      await world.expectEmpty();
    },
  },
  {
    title: "a worker that cannot write records goes on with its other messages",
    needs: "failWrites",
    async run(world) {
      const app = await failing(world, { deadLetter: true, maxAttempts: 1 });
      let handled = 0;
      app.bq.handle(`${URN}:other`, () => {
        handled++;
      });
      await world.harness.failWrites?.(true);
      const work = world.work(app, { concurrency: world.features.concurrency });
      await app.seen.waitFor("writeFailed");
      for (let n = 0; n < 5; n++) await app.bq.publish(`${URN}:other`, {}, { key: `key-${n}` });
      await eventually("5 other messages are handled", () => handled === 5);
      await world.harness.failWrites?.(false);
      await app.seen.waitFor("deadLettered");
      await work.stop();
    },
  },
];
