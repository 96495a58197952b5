/** What a membership makes of a group that moves on, with a member that does as it is told. */

import assert from "node:assert/strict";
import { fakeClock } from "@bq/core/testing";
import { Membership } from "../../transports/kafka/_membership.ts";
import { test } from "../harness.ts";
import { type Answer, scripted } from "./_scripted.ts";

const PLACE = { topic: "orders", partition: 0 };

function refuse(): never {
  const message = "Specified group generation id is not valid";
  throw Object.assign(new Error(message), { type: "ILLEGAL_GENERATION" });
}

/** A membership with one record in hand, whose commits are answered in turn. */
async function holding(...answers: readonly Answer[]) {
  const clock = fakeClock();
  const script = scripted(PLACE, answers);
  const nothing = (): void => {};
  const membership = new Membership({
    doing: "receive from 'orders'",
    ahead: false,
    clock,
    available: nothing,
    lost: nothing,
    failed: nothing,
    consumer: script.consumer,
  });
  await membership.join();
  script.bring();
  const [held] = membership.intake.take(1);
  return { membership, clock, held: held!, committed: script.committed };
}

test("a commit is tried at once when the group was joined anew before its refusal was heard", async () => {
  const anew: Answer = (events) => {
    events.assigned("me", [PLACE]);
    refuse();
  };
  const { membership, held, committed } = await holding(anew);
  // The clock stands still: nothing is waited for.
  assert.equal(await membership.commit(held), "settled");
  assert.deepEqual(committed, [8n]);
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
  const { membership, clock, held, committed } = await holding(refuse, refuse);
  const settled = membership.commit(held);
  for (const _ of Array(4)) await clock.advance(1_000);
  assert.equal(await settled, "settled");
  assert.deepEqual(committed, [8n]);

  const endless = await holding(...Array<Answer>(60).fill(refuse));
  const ended = assert.rejects(endless.membership.commit(endless.held), /generation/);
  for (const _ of Array(17)) await endless.clock.advance(1_000);
  await ended;
});

test("a commit without an answer counts as one that failed", async () => {
  const silent: Answer = () => new Promise(() => {});
  const { membership, clock, held, committed } = await holding(silent, silent);
  const given = assert.rejects(membership.commit(held), /no answer to a commit within 30000 ms/);
  for (const _ of Array(31)) await clock.advance(1_000);
  await given;
  const cut = assert.rejects(membership.commit(held), /no answer to a commit before the end/);
  await clock.advance(0);
  membership.end();
  await cut;
  assert.deepEqual(committed, []);
});

test("a commit is made again after one that was not answered", async () => {
  const silent: Answer = () => new Promise(() => {});
  const { membership, clock, held, committed } = await holding(silent);
  const given = assert.rejects(membership.commit(held), /no answer/);
  for (const _ of Array(31)) await clock.advance(1_000);
  await given;
  assert.equal(await membership.commit(held), "settled");
  assert.deepEqual(committed, [8n]);
});
