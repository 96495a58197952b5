import { systemClock } from "../../core/clock.ts";
import { inject } from "../inject.ts";
import { check, equal } from "./_assert.ts";
import { bytes, envelope, text, URN } from "./_bodies.ts";
import type { SuiteTest } from "./_test.ts";
import { eventually, PATIENCE_MS } from "./_world.ts";

export const leaseTests: readonly SuiteTest[] = [
  {
    title: "a delivery says when its lease ends, where there are leases",
    async run(world) {
      const transport = await world.open();
      await inject(transport, world.queue, envelope(world.queue));
      const { take } = await world.read(world.queue, { transport });
      const beforeMs = systemClock.now();
      const { leaseUntilMs } = (await take(1))[0]!;
      if (!world.capabilities.leases) {
        return equal(leaseUntilMs, undefined, "leaseUntilMs of a delivery that nothing takes back");
      }
      check(leaseUntilMs !== undefined && leaseUntilMs > beforeMs, "the lease ends in the future");
    },
  },
  {
    title: "a handler that takes longer than the lease keeps its message",
    async run(world) {
      const { leaseMs } = world.features;
      const app = world.app({ deadLetter: true }, world.transport({ leaseMs }));
      const attempts: number[] = [];
      app.bq.handle(URN, async (_, ctx) => {
        attempts.push(ctx.attempt);
        await systemClock.sleep(1.5 * leaseMs, ctx.signal);
        check(!ctx.signal.aborted, "the lease is not lost");
      });
      await app.bq.publish(URN, {});
      const other = world.app({ deadLetter: true }, world.transport({ leaseMs }));
      other.bq.handle(URN, (_, ctx) => {
        attempts.push(ctx.attempt);
      });
      const work = world.work(app, { concurrency: world.features.concurrency });
      await eventually("the first worker has it", () => attempts.length === 1);
      const waiting = world.work(other);
      await app.seen.waitFor("handled");
      await work.stop();
      await systemClock.sleep(world.features.quietMs);
      await waiting.stop();
      equal(attempts, [1], "the deliveries");
      await world.expectEmpty();
    },
  },
  {
    title: "extend() moves the end of the lease, where leases can be extended",
    async run(world) {
      const transport = await world.open();
      await inject(transport, world.queue, envelope(world.queue));
      const { subscription, take } = await world.read(world.queue, { transport });
      const [delivery] = await take(1);
      if (subscription.extend === undefined) return;
      check(world.capabilities.leases, "only a transport with leases extends them");
      await systemClock.sleep(50);
      const untilMs = await subscription.extend(delivery!);
      check(untilMs !== null && untilMs >= delivery!.leaseUntilMs!, "the lease ends later");
      await subscription.settle(delivery!, { kind: "ack" });
      equal(await subscription.extend(delivery!), null, "the lease of a settled delivery");
    },
  },
  {
    title: "a message whose lease has ended goes to another worker; without leases it stays",
    async run(world) {
      const { leaseMs, quietMs, recoveryCounts } = world.features;
      const id = crypto.randomUUID();
      const body = bytes(envelope(world.queue, { id }));
      const first = await world.open({ leaseMs });
      await first.publish(world.queue, [{ body }]);
      const slow = await world.read(world.queue, { transport: first });
      const [late] = await slow.take(1);
      const other = await world.open({ leaseMs: PATIENCE_MS });
      const next = await world.read(world.queue, { transport: other });
      if (world.capabilities.leases) {
        const [again] = await next.take(1);
        const attempts = recoveryCounts ? 1 : 0;
        const wanted = envelope(world.queue, { id, attempts });
        equal(text(again!.body), wanted, "the body that comes again");
        equal(await slow.subscription.extend?.(late!) ?? null, null, "the lease that has ended");
        equal(await slow.subscription.settle(late!, { kind: "ack" }), "expired", "the late answer");
        equal(await next.subscription.settle(again!, { kind: "ack" }), "settled", "the answer");
      } else {
        equal((await next.subscription.receive(1, quietMs)).length, 0, "what the other one gets");
        equal(await slow.subscription.settle(late!, { kind: "ack" }), "settled", "the answer");
      }
      await next.subscription.close();
      await slow.subscription.close();
      await world.expectEmpty();
    },
  },
  {
    title: "a handler whose lease is lost is told, and what it does late touches nothing",
    needs: "expireLease",
    async run(world) {
      const { leaseMs } = world.features;
      const app = world.app({ deadLetter: true }, world.transport({ leaseMs }));
      const aborted: boolean[] = [];
      app.bq.handle(URN, async (_, ctx) => {
        if (aborted.length === 0) {
          await world.harness.expireLease?.(world.queue);
          await systemClock.sleep(PATIENCE_MS, ctx.signal);
        }
        aborted.push(ctx.signal.aborted);
      });
      await app.bq.publish(URN, {});
      const work = world.work(app);
      await app.seen.waitFor("leaseLost");
      await eventually("the message is handled again", () => aborted.length >= 2);
      await work.stop();
      equal(aborted, [true, false], "whether the signal of each delivery was aborted");
      equal(app.seen.of("handled").length, 1, "the number of deliveries that count as handled");
      await world.expectEmpty();
    },
  },
];
