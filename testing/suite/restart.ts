import { systemClock } from "../../core/clock.ts";
import { URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { type App, eventually, type World } from "./_world.ts";

/** Publishes until the broker confirms; gives the id of the copy that was confirmed. */
async function insist(world: World, { bq }: App): Promise<string> {
  let id = "";
  await eventually(`a publish to '${world.queue}' is confirmed`, async () => {
    try {
      id = await bq.publish(URN, {}, { timeoutMs: 5_000 });
      return true;
    } catch {
      return false;
    }
  });
  return id;
}

export const restartTests: readonly SuiteTest[] = [
  {
    title: "a worker goes on after the broker was restarted, and nothing confirmed is lost",
    needs: "restartBroker",
    async run(world) {
      const app = world.app({ deadLetter: true, maxAttempts: 100 });
      const handled: Set<string> = new Set();
      app.bq.handle(URN, async (_, ctx) => {
        await systemClock.sleep(20);
        handled.add(ctx.messageId);
      });
      const ids = await app.bq.publishMany(
        Array.from({ length: 20 }, (_, n) => ({ message: URN, data: { n }, key: `key-${n}` })),
      );
      const work = world.work(app, { concurrency: world.features.concurrency });
      await eventually("some are handled", () => handled.size >= 3);
      await world.harness.restartBroker?.();
      for (let n = 0; n < 5; n++) ids.push(await insist(world, app));
      await eventually("all are handled", () => ids.every((id) => handled.has(id)));
      await work.stop();
    },
  },
  {
    title: "a message that was in flight when the broker was restarted is not lost",
    needs: "restartBroker",
    async run(world) {
      const app = world.app({ deadLetter: true, maxAttempts: 100 });
      const goOn = new AbortController();
      let begun = 0;
      app.bq.handle(URN, async (_, ctx) => {
        begun++;
        if (begun > 1) return;
        await systemClock.sleep(10_000, AbortSignal.any([goOn.signal, ctx.signal]));
        throw new Error("the broker went away meanwhile");
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await eventually("the handler has begun", () => begun === 1);
      await world.harness.restartBroker?.();
      goOn.abort();
      await app.seen.waitFor("handled");
      await work.stop();
    },
  },
];
