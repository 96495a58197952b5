/** When a connection is made anew: the waits between the attempts, with a clock that writes them down. */

import assert from "node:assert/strict";
import { type Clock, ConnectionError, systemClock } from "@bq/core";
import { Connector, type Dial, type Watcher } from "../../transports/artemis/_connector.ts";
import type { Dialled } from "../../transports/artemis/_dial.ts";
import { context } from "../_context.ts";
import { eventually, test } from "../harness.ts";

/** What one attempt may take; that wait is called off by its answer. */
const ATTEMPT_MS = 10_000;

/** A connection of which nothing is asked but its end. */
const IDLE: Dialled = {
  connection: { close: () => {}, on: () => {} } as unknown as Dialled["connection"],
  destroy: () => {},
};

/** A clock whose waits are over in the next turn, but for those on an answer. */
class RecordingClock implements Clock {
  readonly waits: number[] = [];
  /** Whether waits only end when they are called off. */
  stopped = false;

  now(): number {
    return 0;
  }

  elapsed(): number {
    return 0;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms === ATTEMPT_MS) return untilAborted(signal!);
    this.waits.push(ms);
    return this.stopped ? untilAborted(signal!) : systemClock.sleep(0);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A connector whose broker answers what a test says, and what it did and told. */
class Bench {
  readonly clock: RecordingClock = new RecordingClock();
  readonly events: string[] = [];
  readonly connector: Connector;
  /** What the next attempts end with; when there is none left, one succeeds. */
  #refusals: Error[] = [];
  #lost: ((error: Error | undefined) => void) | undefined;
  dialled = 0;
  /** Whether attempts are answered at all. */
  answers = true;

  constructor(random: () => number) {
    const dial: Dial = async (signal, lost) => {
      this.dialled++;
      if (!this.answers) {
        await untilAborted(signal);
        throw new ConnectionError("Cannot connect: no answer in time");
      }
      const refusal = this.#refusals.shift();
      if (refusal !== undefined) throw refusal;
      this.#lost = lost;
      return IDLE;
    };
    const emit = ({ type }: { readonly type: string }): void => void this.events.push(type);
    this.connector = new Connector(context({ clock: this.clock, random, emit }), dial);
  }

  /** Loses the connection, has the next attempts end like that, and gives the waits until it is back. */
  async lose(refusals: readonly Error[]): Promise<readonly number[]> {
    this.#refusals = [...refusals];
    const from = this.clock.waits.length;
    this.cut();
    assert.equal(this.connector.up, false);
    await eventually(() => this.connector.up);
    return this.clock.waits.slice(from);
  }

  /** Loses the connection. */
  cut(): void {
    this.#lost!(new Error("cut"));
  }

  async close(): Promise<void> {
    await this.connector.close(AbortSignal.abort());
  }
}

const refused = (count: number): readonly Error[] =>
  Array.from({ length: count }, () => new ConnectionError("Cannot connect: ECONNREFUSED"));

async function opened(random: () => number): Promise<Bench> {
  const bench = new Bench(random);
  await bench.connector.open(new AbortController().signal);
  return bench;
}

test("a lost connection is tried for after 100 ms, doubling to 5 s", async () => {
  const bench = await opened(() => 0);
  const waits = await bench.lose(refused(8));
  assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  assert.equal(bench.dialled, 1 + waits.length);
  assert.deepEqual(bench.events, ["connected", "disconnected", "connected"]);
  await bench.close();
});

test("chance takes up to a half of each wait, so that not all clients come at once", async () => {
  const draws = [0.5, 0.999_999, 0, 0.25];
  const bench = await opened(() => draws.shift() ?? assert.fail("a wait draws once"));
  const waits = await bench.lose(refused(3));
  assert.deepEqual(waits.map(Math.round), [75, 100, 400, 700]);
  assert.ok(waits[1]! > 100, "never less than half");
  await bench.close();
});

test("the waits begin anew after each success", async () => {
  const bench = await opened(() => 0);
  assert.deepEqual(await bench.lose(refused(4)), [100, 200, 400, 800, 1_600]);
  assert.deepEqual(await bench.lose([]), [100]);
  assert.deepEqual(await bench.lose(refused(1)), [100, 200]);
  await bench.close();
});

test("a refusal for good is told to whoever waits, and the attempts go on", async () => {
  const bench = await opened(() => 0);
  const told: (string | boolean)[] = [];
  const watcher: Watcher = { up: () => told.push("up"), down: ({ fatal }) => told.push(fatal) };
  bench.connector.watch(watcher);
  const denied = new ConnectionError("Cannot connect: unauthorized-access", { fatal: true });
  assert.deepEqual(await bench.lose([...refused(1), denied]), [100, 200, 400]);
  assert.deepEqual(told, [false, true, "up"]);
  await bench.close();
});

test("closing ends the wait for the next attempt, and there is none", async () => {
  const bench = await opened(() => 0);
  bench.clock.stopped = true;
  bench.cut();
  await bench.close();
  assert.deepEqual([bench.clock.waits, bench.dialled], [[100], 1]);
});

test("closing ends an attempt that gets no answer", async () => {
  const bench = await opened(() => 0);
  bench.answers = false;
  bench.cut();
  await eventually(() => bench.dialled === 2);
  await bench.close();
  assert.equal(bench.dialled, 2);
});
