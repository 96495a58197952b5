/** The transport on AMQP 1.0 brokers that are not Artemis: all that works there, and what differs. */

import assert from "node:assert/strict";
import { artemis } from "@bq/artemis";
import type { Verdict } from "@bq/core";
import { testTransport } from "@bq/core/testing";
import {
  absentActivemq,
  absentQpid,
  brokerOfFile,
  startActivemq,
  startQpid,
} from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { testDecisionTable } from "./_decision_table.ts";
import { artemisHarness, FEATURES, freshQueue } from "./harness.ts";
import { bytes, inLab, type Lab } from "./lab.ts";

const NO_SIZE = "only Artemis counts its queues";

/** Each broker with what docs/artemis.md says of it. */
const OTHERS = [
  {
    name: "activemq",
    absent: absentActivemq,
    start: startActivemq,
    /** Whether the suite delays by the broker. */
    scheduler: true,
    /** Whether it says that it can delay. */
    offersDelays: true,
    /** Whether every queue can hold a message until its time. */
    delaysAnywhere: true,
    /** A queue that can. */
    delaying: freshQueue,
    keepsCount: false,
    /** How often a message was delivered that was left unsettled until its link closed. */
    countOfLeft: 0,
    /** How often one was that the broker was told to reject; undefined where it is gone from its queue. */
    countOfRejected: undefined,
    /** Whether what was returned waits for the link that returned it, as long as that is open. */
    returnsToLink: true,
  },
  {
    name: "qpid",
    absent: absentQpid,
    start: startQpid,
    scheduler: false,
    offersDelays: false,
    delaysAnywhere: false,
    delaying: () => `held.${freshQueue()}`,
    keepsCount: true,
    countOfLeft: 1,
    countOfRejected: 1,
    returnsToLink: false,
  },
];

for (const other of OTHERS) {
  const { name, scheduler } = other;
  const ignore = await other.absent({ own: true });
  const broker = brokerOfFile(ignore, () => other.start({ own: true }));
  const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });
  const live = (title: string, work: (lab: Lab) => Promise<void>): void =>
    run(`${name}: ${title}`, () => inLab(broker().url, work));

  testTransport(
    run,
    name,
    () => artemisHarness(broker(), () => artemis({ url: broker().url, scheduler })),
    {
      ...FEATURES,
      failWrites: false,
      skip: {
        "size() counts what waits, what is delayed and what is in flight, where it is offered":
          NO_SIZE,
        "a snapshot ends with what was there, whatever is published meanwhile": NO_SIZE,
      },
    },
  );

  testDecisionTable(run, {
    name,
    url: () => broker().url,
    keepsCount: other.keepsCount,
    count: async (transport, queue) => (await Array.fromAsync(transport.peek(queue))).length,
  });

  live("counts and snapshots are refused at once, and nothing is asked", async (lab) => {
    const transport = await lab.transport();
    await assert.rejects(transport.size(lab.queue), { code: "unsupported" });
    const options = {
      prefetch: 1,
      intake: new AbortController().signal,
      lost: () => {},
      snapshot: true,
    };
    await assert.rejects(transport.subscribe(lab.queue, options), { code: "unsupported" });
    const asked = await Array.fromAsync(transport.peek("activemq.management"));
    assert.deepEqual(asked, []);
  });

  live("a warning tells where the connection does not offer delays", async (lab) => {
    const codes: string[] = [];
    await lab.transport({}, {
      emit: (event) => void (event.type === "warning" && codes.push(event.code)),
    });
    assert.deepEqual(codes, other.offersDelays ? [] : ["no_scheduler"]);
  });

  live("a delayed publish and a delayed retry come when they are due", async (lab) => {
    const queue = other.delaying();
    const { bq } = lab.app({ queue, retry: { baseMs: 600 } });
    const timesMs: number[] = [];
    const attempts: number[] = [];
    bq.handle(U, (_, { attempt }) => {
      timesMs.push(performance.now());
      attempts.push(attempt);
      if (attempt === 1) throw new Error("fails once");
    });
    const sentMs = performance.now();
    await bq.publish(U, {}, { delayMs: 600 });
    await bq.consume({ maxMessages: 2, waitMs: 20_000 });
    assert.deepEqual(attempts, [1, 2]);
    assert.ok(timesMs[0]! - sentMs >= 400, `it was published for later, and came at ${timesMs[0]}`);
    assert.ok(timesMs[1]! - timesMs[0]! >= 400, "the retry was for later");
  });

  live("peek shows more than a session holds, and takes nothing", async (lab) => {
    const transport = await lab.transport();
    const some = Array.from({ length: 1_500 }, () => ({ body: bytes("x") }));
    for (let times = 0; times < 6; times++) await transport.publish(lab.queue, some);
    for (let times = 0; times < 2; times++) {
      await eventually(async () => {
        const shown = await Array.fromAsync(transport.peek(lab.queue, { max: 10_000 }));
        assert.equal(shown.length, 9_000);
      });
    }
  });

  live("a worker counts what fails on its link", async (lab) => {
    const { bq } = lab.app({ maxAttempts: 3, deadLetter: true });
    const attempts: number[] = [];
    bq.handle(U, (_, { attempt }) => {
      attempts.push(attempt);
      throw new Error("fails");
    });
    await bq.publish(U, {});
    await bq.consume({ maxMessages: 3, waitMs: 10_000 });
    assert.deepEqual(attempts, [1, 2, 3]);
  });

  /** The count of a message after that, seen by another client; undefined when it does not come. */
  const countAfter = async (
    lab: Lab,
    verdict: Verdict | undefined,
    waitMs: number = 10_000,
  ): Promise<number | undefined> => {
    const transport = await lab.transport();
    await transport.publish(lab.queue, [{ body: bytes(B0) }]);
    const subscription = await lab.subscribe(transport);
    const [delivery] = await subscription.receive(1, 10_000);
    if (verdict !== undefined) await subscription.settle(delivery!, verdict);
    await subscription.close();
    const again = await lab.subscribe(transport);
    const [came] = await again.receive(1, waitMs);
    if (came === undefined) return undefined;
    await again.settle(came, { kind: "ack" });
    return came.counting.floor ?? 0;
  };

  live("what is returned, or was in hand when the link closed, is not counted", async (lab) => {
    assert.equal(await countAfter(lab, { kind: "return" }), 0);
    assert.equal(await countAfter(lab, undefined), 0);
  });

  live("a count outlives its link on some brokers", async (lab) => {
    const verdict: Verdict = { kind: "retry", body: bytes(B0), attempts: 1, delayMs: 0 };
    assert.equal(await countAfter(lab, verdict), other.keepsCount ? 1 : 0);
  });

  live("what is left unsettled is counted by some brokers", async (lab) => {
    assert.equal(await countAfter(lab, { kind: "leave" }), other.countOfLeft);
  });

  live("what is rejected goes to a place of the broker's own, or comes again", async (lab) => {
    const verdict: Verdict = { kind: "deadLetterNatively", reason: "failed" };
    const { countOfRejected } = other;
    const waitMs = countOfRejected === undefined ? 500 : 10_000;
    assert.equal(await countAfter(lab, verdict, waitMs), countOfRejected);
  });

  live(
    "what a worker returns goes to another one, at the latest when its link closes",
    async (lab) => {
      const transport = await lab.transport();
      await transport.publish(lab.queue, [{ body: bytes(B0) }]);
      const first = await lab.subscribe(transport);
      const second = await lab.subscribe(transport);
      const [delivery] = await first.receive(1, 10_000);
      await first.settle(delivery!, { kind: "return" });
      const early = await second.receive(1, other.returnsToLink ? 500 : 10_000);
      assert.equal(early.length, other.returnsToLink ? 0 : 1);
      await first.close();
      const late = early.length > 0 ? early : await second.receive(1, 10_000);
      assert.equal(await second.settle(late[0]!, { kind: "ack" }), "settled");
    },
  );

  live("a queue that cannot hold a message refuses it alone", async (lab) => {
    const transport = await lab.transport();
    const messages = [{ body: bytes(B0) }, { body: bytes(B0), delayMs: 600 }, { body: bytes(B0) }];
    const outcomes = await transport.publish(lab.queue, messages);
    const wanted = ["confirmed", other.delaysAnywhere ? "confirmed" : "failed", "confirmed"];
    assert.deepEqual(outcomes.map(({ status }) => status), wanted);
  });
}
