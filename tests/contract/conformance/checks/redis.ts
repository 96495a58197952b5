/**
 * The sections `redis`, `redis_delay` and `redis_layout`. What needs a server finds it through
 * {@linkcode Servers}; without one those cases have no result. Contract: R95, T2.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Delivery, readEnvelope, reemit } from "@bq/core";
import { reconcile } from "@bq/core/transport";
import { delayedScore, zsetKeys } from "@bq/redis";
import { environment } from "../../../harness.ts";
import { Lab, latin, text as latinText, utf8 } from "../../../redis/lab.ts";
import { TokenPin } from "../../../redis/token_pin.ts";
import {
  assertSameJson,
  isRecord,
  type JsonRecord,
  list,
  member,
  number,
  record,
  text,
} from "../json.ts";
import { AbsentServer, type CaseCheck, type Servers } from "../run.ts";
import { assertState, stateOf } from "./_redis_state.ts";

/** The score of a delayed message. Contract: R6. */
export const checkRedisDelay: CaseCheck = ({ value }) => {
  const score = delayedScore(number(value, "now") * 1_000, number(value, "delay") * 1_000);
  assert.equal(score, number(value, "expect_score"), "the score");
};

/** Names of the keys. Contract: R1. */
export const checkRedisKeys: CaseCheck = ({ value }) => {
  const keys = zsetKeys(text(value, "queue"), text(value, "key_prefix"));
  assertSameJson({ ...keys }, record(value, "expect"), "the keys");
};

/** What is published is what is reserved, byte for byte, on both layouts. Contract: R61. */
export const checkRedisIdentity: CaseCheck = async ({ value }, suite, servers) => {
  const body = suite.read(text(value, "envelope_file"));
  for (const layout of ["legacy", "zset"] as const) {
    const lab = await Lab.open(await portOf(servers), { layout });
    try {
      await lab.transport.publish(lab.queue, [{ body }]);
      assert.deepEqual((await lab.look()).ready, [latinText(body)], `the element, ${layout}`);
      const delivery = await lab.reserveOne();
      assert.equal(latinText(delivery.body), latinText(body), `what is reserved, ${layout}`);
    } finally {
      await lab.close();
    }
  }
};

/** A history of one queue on a live server. Contract: R6, R10–R17, R35, R36, R42, R64–R75. */
export const checkRedisHistory: CaseCheck = async ({ value }, _suite, servers) => {
  const layout = text(value, "layout");
  assert.ok(layout === "zset" || layout === "legacy", `unknown layout '${layout}'`);
  const retryAfter = member(value, "retry_after");
  const batch = member(value, "migration_batch_size");
  const tokens = new TokenPin();
  const lab = await Lab.open(await portOf(servers), {
    layout,
    bytes: tokens.bytes,
    // The suite shows the members that cjson makes. Contract: R48.
    ...(layout === "zset" ? { reserve: "cjson" } : {}),
    ...(retryAfter === undefined
      ? {}
      : { retryAfterMs: retryAfter === null ? null : Number(retryAfter) * 1_000 }),
    ...(batch === undefined ? {} : { migrationBatchSize: Number(batch) }),
  });
  try {
    await lab.put(stateOf(record(value, "state")));
    const held = new Map<string, Delivery>();
    for (const step of list(value, "steps")) {
      assert.ok(isRecord(step), "a step is no object");
      lab.now = number(step, "now");
      const outcome = await perform(lab, step, held, tokens);
      const expected = member(step, "expect");
      if (!isRecord(expected)) continue;
      checkOutcome(outcome, expected);
      await assertState(lab, expected);
    }
  } finally {
    await lab.close();
  }
};

/** What a reserve gave: null when there was nothing. */
type Outcome = Delivery | null | undefined;

async function perform(
  lab: Lab,
  step: JsonRecord,
  held: Map<string, Delivery>,
  tokens: TokenPin,
): Promise<Outcome> {
  const op = text(step, "op");
  switch (op) {
    case "push_delayed": {
      const body = latin(utf8(text(step, "body")));
      await lab.transport.publish(lab.queue, [{ body, delayMs: number(step, "delay") * 1_000 }]);
      return undefined;
    }
    case "migrate":
    case "sweep":
      await lab.migrate();
      return undefined;
    case "reserve": {
      const [delivery] = await lab.reserve();
      const name = member(step, "as");
      if (typeof name === "string" && delivery) held.set(name, delivery);
      return delivery ?? null;
    }
    default:
      await settle(lab, step, await reservationOf(lab, step, held, tokens));
      return undefined;
  }
}

/** A reservation by the name of its reserve, or one that the case spells out. */
async function reservationOf(
  lab: Lab,
  step: JsonRecord,
  held: Map<string, Delivery>,
  tokens: TokenPin,
): Promise<Delivery> {
  const reservation = member(step, "reservation");
  if (typeof reservation === "string") {
    const delivery = held.get(reservation);
    assert.ok(delivery !== undefined, `nothing was reserved as '${reservation}'`);
    return delivery;
  }
  assert.ok(isRecord(reservation), "the reservation is neither a name nor an object");
  return await tokens.reserve(lab, text(reservation, "token"), utf8(text(reservation, "raw")));
}

async function settle(lab: Lab, step: JsonRecord, delivery: Delivery): Promise<void> {
  const subscription = await lab.subscription();
  const attempts = (readEnvelope(delivery.body).attempts ?? 0) + 1;
  switch (text(step, "op")) {
    case "ack":
      await subscription.settle(delivery, { kind: "ack" });
      return;
    case "release":
      await subscription.settle(delivery, {
        kind: "retry",
        body: reemit(delivery.body, { attempts }),
        attempts,
        delayMs: number(step, "delay") * 1_000,
      });
      return;
    case "dead_letter":
      await subscription.settle(delivery, {
        kind: "deadLetter",
        record: delivery.body,
        queue: lab.transport.policy.deadLetterQueue(lab.queue),
        reason: "failed",
      });
      return;
    default:
      assert.fail(`unknown op '${text(step, "op")}'`);
  }
}

function checkOutcome(delivery: Outcome, expected: JsonRecord): void {
  const outcome = member(expected, "outcome");
  if (outcome !== undefined) {
    const poison = delivery &&
      (delivery.undecodable || readEnvelope(delivery.body).verdict().verdict !== "ok");
    assert.equal(!delivery ? "empty" : poison ? "poison" : "delivered", outcome, "the outcome");
  }
  const body = member(expected, "handler_body");
  if (typeof body === "string") {
    assert.equal(delivery && latinText(delivery.body), utf8(body), "what the handler gets");
  }
  const reported = member(expected, "reported_attempts");
  if (reported !== undefined && delivery) {
    const reconciled = reconcile(readEnvelope(delivery.body).attempts, delivery.counting);
    assert.equal(reconciled + 1, reported, "the attempts that are reported");
  }
}

async function portOf(servers: Servers | undefined): Promise<number> {
  const port = await servers?.redis?.();
  if (port !== undefined) return port;
  assert.ok(!environment("BQ_REQUIRE_REDIS"), "BQ_REQUIRE_REDIS is set and there is no Redis");
  throw new AbsentServer("for want of a Redis server");
}
