import { systemClock } from "../../core/clock.ts";
import { equal } from "./_assert.ts";
import { text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { type App, eventually, PATIENCE_MS, type World } from "./_world.ts";

/** Publishes that many messages, each with a key of its own, and gives their ids. */
async function publish({ bq }: App, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, (_, n) => ({
    message: URN,
    data: { n },
    key: `key-${n}`,
  }));
  return await bq.publishMany(items);
}

/** A number from 0 to 99 that is always the same for an id and an attempt. */
function chance(id: string, attempt: number): number {
  let hash = attempt * 40_503;
  for (const character of id) hash = (hash * 31 + character.charCodeAt(0)) % 65_521;
  return hash % 100;
}

/** The ids of all messages of some queues, until there are that many. */
async function collect(
  world: World,
  queues: readonly string[],
  enough: (count: number) => boolean,
): Promise<string[]> {
  const ids: string[] = [];
  const readers = await Promise.all(queues.map((queue) => world.read(queue)));
  await eventually("every message is somewhere", async () => {
    for (const { subscription } of readers) {
      for (const delivery of await subscription.receive(50, 50)) {
        ids.push(JSON.parse(text(delivery.body)).meta.id);
        await subscription.settle(delivery, { kind: "ack" });
      }
    }
    return enough(ids.length);
  });
  for (const { subscription } of readers) await subscription.close();
  return ids;
}

export const concurrencyTests: readonly SuiteTest[] = [
  {
    title: "a worker has as many handlers at work as it was told, and never more",
    async run(world) {
      const { concurrency } = world.features;
      const app = world.app({ deadLetter: true });
      let working = 0;
      let most = 0;
      const reached = new AbortController();
      app.bq.handle(URN, async () => {
        most = Math.max(most, ++working);
        if (working === concurrency) reached.abort();
        // Nobody goes on before all are there, so that no speed decides what is seen.
        await systemClock.sleep(PATIENCE_MS, reached.signal);
        await systemClock.sleep(20);
        working--;
      });
      const count = 8 * concurrency;
      await publish(app, count);
      const work = world.work(app, { concurrency });
      await app.seen.waitFor(() => app.seen.of("handled").length === count);
      await work.stop();
      equal(most, concurrency, "the most handlers at a time");
    },
  },
  {
    title: "two workers share a queue, and no message is handled twice",
    async run(world) {
      const count = 60;
      const handled: [string, string][] = [];
      const workers = ["first", "second"].map((name) => {
        const app = world.app({ deadLetter: true });
        app.bq.handle(URN, async (_, ctx) => {
          handled.push([name, ctx.messageId]);
          await systemClock.sleep(5);
        });
        return app;
      });
      const runs = workers.map((app) => world.work(app));
      await eventually(
        "both workers poll",
        () => workers.every(({ bq }) => bq.health().queues[0]?.lastPollAtMs != null),
      );
      const ids = await publish(world.app(), count);
      await eventually("every message is handled", () => handled.length >= count);
      for (const run of runs) await run.stop();
      equal(handled.map(([, id]) => id).sort(), ids.sort(), "what was handled");
      await world.expectEmpty();
    },
  },
  {
    title: "of 500 messages with failing handlers none is lost and none ends twice",
    async run(world) {
      const count = 500;
      const maxAttempts = world.attempts(3);
      const handled: string[] = [];
      const app = world.app({ deadLetter: true, maxAttempts });
      app.bq.handle(URN, async (_, ctx) => {
        const luck = chance(ctx.messageId, ctx.attempt);
        if (luck < 20) await Promise.resolve();
        if (luck < 40) throw new Error(`fails at attempt ${ctx.attempt}`);
        handled.push(ctx.messageId);
      });
      const ids = await publish(app, count);
      const work = world.work(app, { concurrency: world.features.concurrency });
      const ended = (): number =>
        app.seen.of("handled").length + app.seen.of("deadLettered").length;
      // It is stopped on the way, so that some are left, and some are in hand when it stops.
      await eventually("half of them have ended", () => ended() >= count / 2);
      await work.stop();
      const queues = [world.queue, world.deadLetterQueue];
      const elsewhere = await collect(world, queues, (found) => handled.length + found >= count);
      equal([...handled, ...elsewhere].sort(), ids.sort(), "handled, dead-lettered and left");
      for (const queue of queues) await world.expectEmpty(queue);
    },
  },
];
