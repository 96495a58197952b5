import { systemClock } from "../../core/clock.ts";
import { NonRetriableError, RetryAfterError } from "../../core/errors.ts";
import { check, equal } from "./_assert.ts";
import { bytes, envelope, text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import type { World } from "./_world.ts";

/** The shortest wait that counts as the one asked for; tiers, and a broker without retries, have their own. */
function leastWaitMs({ policy, delayMs, features }: World): number {
  const chosen = policy.retry === "possible" && policy.retryDelay.kind !== "tiers";
  return chosen ? delayMs - features.clockMs : 1;
}

/** Fails the first delivery with `error`; gives the time between it and the second. */
async function waited(
  world: World,
  baseMs: number,
  error: Error,
): Promise<{ attempts: number[]; waitedMs: number }> {
  const app = world.app({ deadLetter: true, retry: { baseMs } });
  const attempts: number[] = [];
  const timesMs: number[] = [];
  app.bq.handle(URN, (_, ctx) => {
    attempts.push(ctx.attempt);
    timesMs.push(systemClock.elapsed());
    if (attempts.length === 1) throw error;
  });
  await app.bq.publish(URN, {});
  const work = world.work(app);
  await app.seen.waitFor("handled");
  await work.stop();
  await world.expectEmpty();
  return { attempts, waitedMs: timesMs[1]! - timesMs[0]! };
}

export const retryTests: readonly SuiteTest[] = [
  {
    title: "a failing message gets its deliveries, counted 1, 2, 3, and no more",
    async run(world) {
      const maxAttempts = world.attempts(3);
      const app = world.app({ deadLetter: true, maxAttempts });
      const attempts: number[] = [];
      app.bq.handle(URN, (_, ctx) => {
        attempts.push(ctx.attempt);
        throw new Error("fails always");
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      const { attempt, reason } = await app.seen.waitFor("deadLettered");
      await work.stop();
      equal(attempts, [1, 2, 3].slice(0, maxAttempts), "ctx.attempt of the deliveries");
      equal(attempt, maxAttempts, "the attempt at which it was dead-lettered");
      equal(reason, "failed", "the reason");
      equal(app.seen.of("retried").length, maxAttempts - 1, "the number of retries");
      await world.expectEmpty();
    },
  },
  {
    title: "a message that failed once is handled the second time, and is gone",
    async run(world) {
      const { attempts } = await waited(world, 0, new Error("fails once"));
      equal(attempts, [1, world.attempts(2)], "ctx.attempt of the deliveries");
      await world.expectEmpty(world.deadLetterQueue);
    },
  },
  {
    title: "the wait before a retry passes",
    async run(world) {
      const { attempts, waitedMs } = await waited(world, world.delayMs, new Error("fails once"));
      equal(attempts, [1, world.attempts(2)], "ctx.attempt of the deliveries");
      const leastMs = leastWaitMs(world);
      check(waitedMs >= leastMs, `${leastMs} ms pass before the retry; ${waitedMs} ms passed`);
    },
  },
  {
    title: "the wait that a handler asks for passes",
    async run(world) {
      const { attempts, waitedMs } = await waited(world, 0, new RetryAfterError(world.delayMs));
      equal(attempts, [1, world.attempts(2)], "ctx.attempt of the deliveries");
      const leastMs = leastWaitMs(world);
      check(waitedMs >= leastMs, `${leastMs} ms pass before the retry; ${waitedMs} ms passed`);
    },
  },
  {
    title: "a message whose handler rules out another attempt is dead-lettered at the first",
    async run(world) {
      const app = world.app({ deadLetter: true, maxAttempts: 3 });
      let calls = 0;
      app.bq.handle(URN, () => {
        calls++;
        throw new NonRetriableError("never again");
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await app.seen.waitFor("deadLettered");
      await work.stop();
      equal(calls, 1, "the number of deliveries");
      const [record] = await world.takeOff(world.deadLetterQueue, 1);
      const { attempts, dead_letter } = JSON.parse(text(record!.body));
      equal(attempts, 1, "attempts");
      equal(dead_letter.error, "never again", "dead_letter.error");
      await world.expectEmpty();
    },
  },
  {
    title: "deliveries before this one count, whoever counted them",
    async run(world) {
      const app = world.app({ deadLetter: true, maxAttempts: 3 });
      const attempts: number[] = [];
      app.bq.handle(URN, (_, ctx) => {
        attempts.push(ctx.attempt);
        throw new Error("fails always");
      });
      await app.bq.publishRaw(world.queue, bytes(envelope(world.queue, { attempts: 2 })));
      const work = world.work(app);
      await app.seen.waitFor("deadLettered");
      await work.stop();
      equal(attempts, [3], "ctx.attempt of the deliveries");
    },
  },
];
