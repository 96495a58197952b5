/** How long a transport waits before it opens a lost connection again: a clock that tells its sleeps, and no broker. */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Clock } from "@bq/core";
import { fakeClock } from "@bq/core/testing";
import type { RabbitConnection } from "@bq/rabbitmq";
import { Link } from "../../transports/rabbitmq/_link.ts";
import { test } from "../harness.ts";

/** A connection that can only be lost. */
class Losable extends EventEmitter implements RabbitConnection {
  createChannel(): Promise<never> {
    return Promise.reject(new Error("no channels here"));
  }
  createConfirmChannel(): Promise<never> {
    return Promise.reject(new Error("no channels here"));
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A link that stands, how it fares when it is lost, and what it waited. */
async function standing(chance: readonly number[] = [0]) {
  const waitsMs: number[] = [];
  const { now, elapsed } = fakeClock();
  const clock: Clock = {
    now,
    elapsed,
    sleep: (ms) => Promise.resolve(void waitsMs.push(ms)),
  };
  let refusals: Error[] = [];
  let connection = new Losable();
  let up: () => void = () => {};
  const link = new Link({
    clock,
    random: () => chance[waitsMs.length % chance.length]!,
    dial() {
      const refusal = refusals.shift();
      if (refusal !== undefined) return Promise.reject(refusal);
      return Promise.resolve(connection = new Losable());
    },
    changed: (isUp) => isUp ? up() : undefined,
    blocked: () => {},
  });
  await link.open();
  return {
    /** Loses the connection; gives the waits until it is back, of so many tries the last one works. */
    async lose(...refused: readonly Error[]): Promise<readonly number[]> {
      waitsMs.length = 0;
      refusals = [...refused];
      const back = new Promise<void>((resolve) => up = resolve);
      connection.emit("close");
      await back;
      return [...waitsMs];
    },
    close: () => link.close(undefined),
  };
}

const times = (count: number, message = "connect ECONNREFUSED"): readonly Error[] =>
  Array.from({ length: count }, () => new Error(message));

test("Q15 the waits before a lost connection is opened again double from 100 ms to 5 s", async () => {
  const { lose, close } = await standing();
  assert.deepEqual(
    await lose(...times(8)),
    [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000],
  );
  await close();
});

test("after a connection stood the waits begin at the first again", async () => {
  const { lose, close } = await standing();
  assert.deepEqual(await lose(...times(3)), [100, 200, 400, 800]);
  assert.deepEqual(await lose(), [100]);
  assert.deepEqual(await lose(...times(1)), [100, 200]);
  await close();
});

test("chance takes up to a half of each wait, each time anew, and does not make the next one shorter", async () => {
  const { lose, close } = await standing([0, 0.5, 0.75, 1, 0]);
  assert.deepEqual(await lose(...times(7)), [100, 150, 250, 400, 1_600, 3_200, 3_750, 3_125]);
  await close();
});

test("after a refusal that no trying helps against the waits are the longest", async () => {
  const { lose, close } = await standing();
  const refused = times(2, "Handshake terminated by server: 403 (ACCESS-REFUSED)");
  assert.deepEqual(await lose(...times(1), ...refused), [100, 200, 5_000, 5_000]);
  await close();
});

/** A link on a clock that is moved by hand. */
async function byHand() {
  const clock = fakeClock();
  const dialsMs: number[] = [];
  const broker = { away: false, connection: new Losable() };
  const link = new Link({
    clock,
    random: () => 0,
    dial() {
      dialsMs.push(clock.elapsed());
      if (broker.away) return Promise.reject(new Error("connect ECONNREFUSED"));
      return Promise.resolve(broker.connection = new Losable());
    },
    changed: () => {},
    blocked: () => {},
  });
  await link.open();
  return { clock, dialsMs, broker, link };
}

test("a link that is lost again after a call opened it waits by itself once, from the first wait", async () => {
  const { clock, dialsMs, broker, link } = await byHand();
  broker.connection.emit("close");
  await clock.advance(50);
  await link.open();
  broker.away = true;
  broker.connection.emit("close");
  await clock.advance(1_000);
  assert.deepEqual(dialsMs, [0, 50, 150, 350, 750]);
  await link.close(undefined);
});

test("a link that is closed while it waits is not opened again", async () => {
  const { clock, dialsMs, broker, link } = await byHand();
  broker.connection.emit("close");
  await clock.advance(99);
  await link.close(undefined);
  assert.equal(clock.pending, 0, "nothing waits any more");
  await clock.advance(60_000);
  assert.deepEqual(dialsMs, [0]);
});
