import assert from "node:assert/strict";
import fc from "fast-check";
import { type Clock, type Delivery, memory, type Subscription } from "@bq/core";
import { Fifo } from "../../transports/memory/_fifo.ts";
import { Heap } from "../../transports/memory/_heap.ts";
import { test } from "../harness.ts";
import { bytes, open, QUEUE, text } from "./_seam.ts";

const LEASE_MS = 100;

/** One message, as the model sees it. */
interface Model {
  readonly id: string;
  order: number;
  state: "ready" | "returned" | "delayed" | "leased";
  atMs: number;
  delivery?: Delivery;
}

type Step =
  | { readonly do: "publish"; readonly delayMs: number }
  | { readonly do: "receive"; readonly max: number }
  | { readonly do: "wait"; readonly ms: number }
  | {
    readonly do: "ack" | "retry" | "release" | "return" | "extend";
    readonly which: number;
    readonly delayMs: number;
  };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("publish" as const), delayMs: fc.constantFrom(0, 0, 30, 70) }),
  fc.record({ do: fc.constant("receive" as const), max: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 60 }) }),
  fc.record({
    do: fc.constantFrom(
      "ack" as const,
      "retry" as const,
      "release" as const,
      "return" as const,
      "extend" as const,
    ),
    which: fc.nat(20),
    delayMs: fc.constantFrom(0, 0, 40),
  }),
);

/** The rules of one queue, in the plainest form. */
class ModelQueue {
  readonly all: Model[] = [];
  nowMs = 0;
  #orders = 0;

  append(message: Model, delayMs: number): void {
    message.order = this.#orders++;
    message.state = delayMs > 0 ? "delayed" : "ready";
    message.atMs = this.nowMs + delayMs;
    delete message.delivery;
  }

  waitingIds(): Model[] {
    const by = (state: Model["state"]): Model[] =>
      this.all.filter((each) => each.state === state).sort((a, b) => a.order - b.order);
    return [...by("returned"), ...by("ready")];
  }

  advance(): void {
    for (const message of this.all) {
      if (message.state === "leased" && message.atMs <= this.nowMs) this.giveBack(message);
    }
    const due = this.all.filter((each) => each.state === "delayed" && each.atMs <= this.nowMs);
    due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
    for (const message of due) this.append(message, 0);
  }

  giveBack(message: Model): void {
    message.state = "returned";
    delete message.delivery;
  }

  remove(message: Model): void {
    this.all.splice(this.all.indexOf(message), 1);
  }
}

test("memory: any history of publishes, settles and passing time follows the rules of the queue", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const model = new ModelQueue();
      const clock: Clock = {
        now: () => model.nowMs,
        elapsed: () => model.nowMs,
        sleep: () => Promise.resolve(),
      };
      const transport = await open(memory({ leaseMs: LEASE_MS }), clock);
      const subscription = await transport.subscribe(QUEUE, {
        prefetch: 1,
        intake: new AbortController().signal,
        lost: () => {},
      });
      const handed: { delivery: Delivery; message: Model }[] = [];
      for (const each of steps) {
        if (each.do === "publish") {
          const id = `${model.all.length}-${model.nowMs}-${handed.length}`;
          await transport.publish(QUEUE, [{ body: bytes(id), delayMs: each.delayMs }]);
          const message: Model = { id, order: 0, state: "ready", atMs: 0 };
          model.all.push(message);
          model.append(message, each.delayMs);
        } else if (each.do === "receive") {
          const wanted = model.waitingIds().slice(0, each.max);
          const came = await subscription.receive(each.max, 0);
          assert.deepEqual(came.map(text), wanted.map(({ id }) => id));
          came.forEach((delivery, index) => {
            const message = wanted[index]!;
            Object.assign(message, { state: "leased", atMs: model.nowMs + LEASE_MS, delivery });
            handed.push({ delivery, message });
          });
        } else if (each.do === "wait") {
          model.nowMs += each.ms;
          model.advance();
        } else if (handed.length > 0) {
          const { delivery, message } = handed[each.which % handed.length]!;
          await settle(subscription, model, each, delivery, message);
        }
        const states = model.all.map(({ state }) => state);
        const count = (...of: string[]): number => states.filter((s) => of.includes(s)).length;
        assert.deepEqual(await transport.size(QUEUE), {
          ready: count("ready", "returned"),
          delayed: count("delayed"),
          inFlight: count("leased"),
        });
      }
      await transport.close();
    }),
    { numRuns: 300 },
  );
});

async function settle(
  subscription: Subscription,
  model: ModelQueue,
  { do: kind, delayMs }: Exclude<Step, { do: "publish" | "receive" | "wait" }>,
  delivery: Delivery,
  message: Model,
): Promise<void> {
  const held = message.delivery === delivery;
  if (kind === "extend") {
    const untilMs = held ? model.nowMs + LEASE_MS : null;
    if (untilMs !== null) message.atMs = untilMs;
    return assert.equal(await subscription.extend!(delivery), untilMs);
  }
  const { body } = delivery;
  const verdict = kind === "retry"
    ? { kind, body, attempts: 1, delayMs }
    : kind === "release"
    ? { kind, delayMs }
    : { kind };
  assert.equal(await subscription.settle(delivery, verdict), held ? "settled" : "expired");
  if (!held) return;
  if (kind === "ack") {
    model.remove(message);
    delete message.delivery;
  } else if (kind === "return") model.giveBack(message);
  else model.append(message, delayMs);
}

test("Fifo gives what was pushed, in order, at any length", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 12 }), (moves) => {
      const fifo = new Fifo<number>();
      let pushed = 0;
      let shifted = 0;
      for (const [index, many] of moves.entries()) {
        if (index % 2 === 0) { for (let n = 0; n < many; n++) fifo.push(pushed++); }
        else {for (let n = 0; n < many && shifted < pushed; n++) {
            assert.equal(fifo.shift(), shifted++);
          }}
        assert.equal(fifo.size, pushed - shifted);
        assert.equal(fifo.peek(), shifted < pushed ? shifted : undefined);
        const first = Array.from({ length: Math.min(3, pushed - shifted) }, (_, n) => shifted + n);
        assert.deepEqual(fifo.first(3), first);
      }
      while (shifted < pushed) assert.equal(fifo.shift(), shifted++);
      assert.equal(fifo.shift(), undefined);
    }),
  );
});

test("Heap gives the smallest first, whatever was removed from its middle", () => {
  const ranks = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 80 });
  fc.assert(
    fc.property(ranks, fc.array(fc.nat(79), { maxLength: 40 }), (all, removed) => {
      const heap = new Heap<{ rank: number; order: number; heapIndex: number }>();
      const items = all.map((rank, order) => ({ rank, order, heapIndex: -1 }));
      for (const item of items) heap.push(item);
      const left = new Set(items);
      for (const index of removed) {
        const item = items[index];
        if (item === undefined || !left.delete(item)) continue;
        heap.remove(item);
        assert.equal(item.heapIndex, -1);
        heap.values().forEach((each, at, values) => {
          const parent = values[(at - 1) >> 1] ?? each;
          const later = parent.rank - each.rank || parent.order - each.order;
          assert(later <= 0, "no item is before its parent");
        });
      }
      const sorted = [...left].sort((a, b) => a.rank - b.rank || a.order - b.order);
      assert.equal(heap.size, sorted.length);
      for (const item of sorted) assert.equal(heap.pop(), item);
      assert.equal(heap.pop(), undefined);
    }),
    // The last one comes from another branch than the removed one and has to rise.
    { examples: [[[0, 10, 1, 11, 12, 2, 3], [3]]] },
  );
});
