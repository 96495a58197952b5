import { systemClock } from "../../core/clock.ts";
import { check, equal } from "./_assert.ts";
import { bytes, envelope, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { type App, eventually, PATIENCE_MS, within, type World } from "./_world.ts";

/** A worker whose handler stays until its signal is aborted, in the middle of one message. */
async function stuck(
  world: World,
  shutdownTimeoutMs: number,
): Promise<{ app: App; body: Uint8Array; signals: AbortSignal[] }> {
  const app = world.app({ deadLetter: true, shutdownTimeoutMs });
  const signals: AbortSignal[] = [];
  app.bq.handle(URN, async (_, ctx) => {
    signals.push(ctx.signal);
    await systemClock.sleep(2 * PATIENCE_MS, ctx.signal);
  });
  const body = bytes(envelope(world.queue));
  await app.bq.publishRaw(world.queue, body);
  return { app, body, signals };
}

export const shutdownTests: readonly SuiteTest[] = [
  {
    title: "a worker that is stopped finishes and settles what it has begun",
    async run(world) {
      const app = world.app({ deadLetter: true });
      const goOn = new AbortController();
      let begun = 0;
      let ended = 0;
      app.bq.handle(URN, async (_, ctx) => {
        begun++;
        await systemClock.sleep(PATIENCE_MS, goOn.signal);
        check(!ctx.signal.aborted, "the first request to stop aborts no handler");
        ended++;
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await eventually("the handler has begun", () => begun === 1);
      const stopping = work.stop();
      await systemClock.sleep(50);
      equal(ended, 0, "the number of handlers that ended");
      goOn.abort();
      await within(stopping, "run()");
      equal(ended, 1, "the number of handlers that ended");
      await world.expectEmpty();
    },
  },
  {
    title: "past the deadline a message goes back unchanged, and the late result is ignored",
    async run(world) {
      const { app, body, signals } = await stuck(world, 500);
      const work = world.work(app);
      await eventually("the handler has begun", () => signals.length === 1);
      await within(work.stop(), "run()");
      check(signals[0]!.aborted, "the deadline aborts the handler");
      await app.bq.close();
      const [again] = await world.takeOff(world.queue, 1);
      equal(again!.body, body, "the body that comes again");
      await world.expectEmpty();
    },
  },
  {
    title: "a forced stop does not wait for handlers",
    async run(world) {
      const { app, body, signals } = await stuck(world, 600_000);
      const force = new AbortController();
      const work = world.work(app, { forceSignal: force.signal });
      await eventually("the handler has begun", () => signals.length === 1);
      force.abort();
      await within(work.ended, "run()");
      await within(app.bq.close(), "close()");
      const [again] = await world.takeOff(world.queue, 1);
      equal(again!.body, body, "the body that comes again");
    },
  },
  {
    title: "close() stops the worker, settles what it has in hand and disconnects",
    async run(world) {
      const app = world.app({ deadLetter: true });
      let begun = 0;
      app.bq.handle(URN, async () => {
        begun++;
        await systemClock.sleep(100);
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await eventually("the handler has begun", () => begun === 1);
      await within(app.bq.close(), "close()");
      await within(work.ended, "run()");
      equal(app.seen.of("handled").length, 1, "the number of messages handled");
      await world.expectEmpty();
    },
  },
  {
    title: "an idle worker stops at once",
    async run(world) {
      const app = world.app({ deadLetter: true, pollTimeoutMs: 600_000 });
      app.bq.handle(URN, () => {});
      const work = world.work(app);
      await app.seen.waitFor("connected");
      await systemClock.sleep(50);
      await within(work.stop(), "run()");
    },
  },
  {
    title: "a worker that is stopped and one that takes over handle every message, none twice",
    async run(world) {
      const count = 50;
      const handled: string[] = [];
      const worker = (): App => {
        const app = world.app({ deadLetter: true });
        app.bq.handle(URN, async (_, ctx) => {
          await systemClock.sleep(2);
          handled.push(ctx.messageId);
        });
        return app;
      };
      const first = worker();
      const ids = await first.bq.publishMany(
        Array.from({ length: count }, (_, n) => ({ message: URN, data: { n }, key: `key-${n}` })),
      );
      const work = world.work(first, { concurrency: world.features.concurrency });
      await eventually("some are handled", () => handled.length >= 10);
      await work.stop();
      await first.bq.close();
      const second = worker();
      const working = world.work(second, { concurrency: world.features.concurrency });
      await eventually("all are handled", () => handled.length >= count);
      await working.stop();
      equal(handled.sort(), ids.sort(), "what was handled");
      await world.expectEmpty();
    },
  },
];
