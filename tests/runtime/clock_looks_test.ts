import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { type Clock, systemClock } from "@bq/core/transport";
import { recorder } from "@bq/core/testing";
import { test } from "../harness.ts";
import { URN } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const MESSAGES = 200;

/** A look at a clock can cost as much as the rest of a step, so this counts them. */
function countedClock(): { readonly clock: BabelQueueOptions["clock"] & object; looks: number } {
  const counted = {
    looks: 0,
    clock: {
      now: (): number => (counted.looks++, systemClock.now()),
      elapsed: (): number => (counted.looks++, systemClock.elapsed()),
      sleep: systemClock.sleep,
    },
  };
  return counted;
}

/** A clock that stands until it is moved. */
class MovedClock implements Clock {
  atMs = 0;
  now(): number {
    return this.atMs;
  }
  elapsed(): number {
    return this.atMs;
  }
  sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(1e9, signal);
  }
}

test("a worker looks at the clock four times a message, in batches less than three times", async () => {
  for (const [concurrency, most] of [[1, 4], [10, 2.5]] as const) {
    const counted = countedClock();
    const transport = new ScriptedTransport({}, { leaseMs: 60_000, extends: true });
    const bq = new BabelQueue(transport, {
      queue: "shop",
      deadLetter: true,
      concurrency,
      clock: counted.clock,
    });
    bq.handle(URN, () => {});
    await bq.connect();
    for (let n = 0; n < MESSAGES; n++) transport.put("shop");
    counted.looks = 0;
    assert.equal((await bq.consume({ waitMs: 0, maxMessages: MESSAGES })).handled, MESSAGES);
    // Beginning and ending look too, and so does whoever lets the event loop turn.
    const looks = counted.looks - 20;
    assert.ok(looks <= most * MESSAGES, `${looks / MESSAGES} looks a message`);
    await bq.close();
  }
});

test("a publish looks at the clock twice", async () => {
  const counted = countedClock();
  const bq = new BabelQueue(new ScriptedTransport(), { queue: "shop", clock: counted.clock });
  await bq.connect();
  counted.looks = 0;
  for (let n = 0; n < MESSAGES; n++) await bq.publish(URN, {});
  const looks = counted.looks - 20;
  assert.ok(looks <= 2 * MESSAGES, `${looks / MESSAGES} looks a publish`);
  await bq.close();
});

test("the time in which one handler of a batch blocks is not the next one's", async () => {
  const clock = new MovedClock();
  const transport = new ScriptedTransport({}, { leaseMs: 1_000, extends: false });
  const seen = recorder();
  const bq = new BabelQueue(transport, {
    queue: "shop",
    deadLetter: true,
    concurrency: 3,
    clock,
    onEvent: seen,
  });
  const blocksMs = [100, 900, 0];
  bq.handle(URN, () => {
    clock.atMs += blocksMs.shift()!;
  });
  await bq.connect();
  for (let n = 0; n < 3; n++) transport.put("shop");
  await bq.consume({ waitMs: 0, maxMessages: 3 });
  // Both ends are seen when the second one yields.
  assert.deepEqual(seen.of("handled").map(({ durationMs }) => durationMs), [1_000, 900]);
  // All leases were over by then: nothing is settled, and the third handler never began.
  assert.deepEqual([seen.of("leaseLost").length, transport.settled, blocksMs], [3, [], [0]]);
  await bq.close();
});

test("the time in which a listener blocks is not the handler's either", async () => {
  const clock = new MovedClock();
  const transport = new ScriptedTransport({}, { leaseMs: 1_000, extends: false });
  const subscribe = transport.subscribe.bind(transport);
  transport.subscribe = async (queue, options) => {
    const subscription = await subscribe(queue, options);
    const receive = subscription.receive.bind(subscription);
    subscription.receive = async (max, waitMs) => {
      const given = await receive(max, waitMs);
      return [...given, ...given];
    };
    return subscription;
  };
  let told = 0;
  const bq = new BabelQueue(transport, {
    queue: "shop",
    deadLetter: true,
    clock,
    onEvent: ({ type }) => {
      if (type !== "warning") return;
      told++;
      clock.atMs += 2_000;
    },
  });
  let began = 0;
  bq.handle(URN, () => void began++);
  await bq.connect();
  transport.put("shop");
  await bq.consume({ waitMs: 0 });
  assert.deepEqual([told > 0, began, transport.settled], [true, 0, []]);
  await bq.close();
});
