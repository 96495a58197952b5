/** What a membership makes of a group that moves on, with a member that does as it is told. */

import assert from "node:assert/strict";
import { fakeClock } from "@bq/core/testing";
import { Membership } from "../../transports/kafka/_membership.ts";
import type {
  ConsumerEvents,
  IncomingRecord,
  KafkaConsumer,
} from "../../transports/kafka/client.ts";
import { test } from "../harness.ts";

const PLACE = { topic: "orders", partition: 0 };
const RECORD: IncomingRecord = {
  ...PLACE,
  offset: 7n,
  key: null,
  value: new Uint8Array(),
  headers: [],
  timestampMs: 0,
};

function refuse(): never {
  const message = "Specified group generation id is not valid";
  throw Object.assign(new Error(message), { type: "ILLEGAL_GENERATION" });
}

type Answer = (events: ConsumerEvents) => void;

/** A membership with one record in hand, whose commits are answered in turn. */
async function holding(...answers: readonly Answer[]) {
  const clock = fakeClock();
  const left = [...answers];
  let told: ConsumerEvents | undefined;
  const consumer = (events: ConsumerEvents): KafkaConsumer => {
    told = events;
    return {
      start: () => Promise.resolve(events.assigned("me", [PLACE])).then(() => {}),
      commit: () => Promise.resolve().then(() => left.shift()?.(events)),
      stop: () => Promise.resolve(),
    };
  };
  const nothing = (): void => {};
  const membership = new Membership({
    doing: "receive from 'orders'",
    ahead: false,
    clock,
    available: nothing,
    lost: nothing,
    failed: nothing,
    consumer,
  });
  await membership.join();
  void told!.records(PLACE, [RECORD], 8n);
  const [held] = membership.intake.take(1);
  return { membership, clock, held: held!, left };
}

test("a commit is tried at once when the group was joined anew before its refusal was heard", async () => {
  const anew: Answer = (events) => {
    events.assigned("me", [PLACE]);
    refuse();
  };
  const { membership, held, left } = await holding(anew, () => {});
  // The clock stands still: nothing is waited for.
  assert.equal(await membership.commit(held), "settled");
  assert.equal(left.length, 0);
});

test("a commit that the group refused is settled by nobody when another member has the partition", async () => {
  const gone: Answer = (events) => {
    events.assigned("another id", [PLACE]);
    refuse();
  };
  const { membership, held } = await holding(gone);
  assert.equal(await membership.commit(held), "expired");
});

test("a commit is tried again without a word of the group, and given up in the end", async () => {
  const { membership, clock, held, left } = await holding(refuse, refuse, () => {});
  const settled = membership.commit(held);
  for (const _ of Array(4)) await clock.advance(1_000);
  assert.equal(await settled, "settled");
  assert.equal(left.length, 0);

  const endless = await holding(...Array<Answer>(60).fill(refuse));
  const ended = assert.rejects(endless.membership.commit(endless.held), /generation/);
  for (const _ of Array(17)) await endless.clock.advance(1_000);
  await ended;
});
