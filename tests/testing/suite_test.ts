import assert from "node:assert/strict";
import {
  type Delivery,
  memory,
  MemoryStore,
  type Outgoing,
  reemit,
  type Subscription,
  type Transport,
  type Verdict,
} from "@bq/core";
import { type SuiteFeatures, testTransport } from "@bq/core/testing";
import { test } from "../harness.ts";

/** How a broken transport differs from one that works. */
interface Breakage {
  readonly publish?: (
    transport: Transport,
    queue: string,
    messages: readonly Outgoing[],
  ) => unknown;
  readonly receive?: (subscription: Subscription, max: number) => Promise<readonly Delivery[]>;
  readonly settle?: (
    subscription: Subscription,
    delivery: Delivery,
    verdict: Verdict,
    transport: Transport,
  ) => Promise<"settled" | "expired">;
  readonly extend?: (subscription: Subscription, delivery: Delivery) => Promise<number | null>;
  readonly deliver?: (delivery: Delivery) => object;
  readonly snapshot?: false;
}

function broken(inner: Transport, breakage: Breakage): Transport {
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    policy: inner.policy,
    open: (context) => inner.open(context),
    async publish(queue, messages) {
      if (!breakage.publish) return await inner.publish(queue, messages);
      await breakage.publish(inner, queue, messages);
      return messages.map(() => ({ status: "confirmed" }));
    },
    async subscribe(queue, options) {
      const snapshot = breakage.snapshot ?? options.snapshot ?? false;
      const subscription = await inner.subscribe(queue, { ...options, snapshot });
      const originals = new WeakMap<Delivery, Delivery>();
      const original = (delivery: Delivery): Delivery => originals.get(delivery) ?? delivery;
      return {
        lanes: 1,
        async receive(max, waitMs) {
          const came = breakage.receive
            ? await breakage.receive(subscription, max)
            : await subscription.receive(max, waitMs);
          if (!breakage.deliver) return came;
          return came.map((delivery) => {
            const changed = breakage.deliver!(delivery) as Delivery;
            originals.set(changed, delivery);
            return changed;
          });
        },
        async settle(delivery, verdict) {
          const { settle } = breakage;
          if (!settle) return await subscription.settle(original(delivery), verdict);
          return await settle(subscription, original(delivery), verdict, inner);
        },
        extend: (delivery) =>
          breakage.extend
            ? breakage.extend(subscription, original(delivery))
            : subscription.extend!(original(delivery)),
        close: () => subscription.close(),
      };
    },
    size: (queue) => inner.size!(queue),
    peek: (queue) => inner.peek!(queue),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}

/** The tests of the suite, by title. */
function suite(breakage: Breakage, features: SuiteFeatures = {}): Map<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>();
  testTransport((name, fn) => tests.set(name.replace("broken: ", ""), fn), "broken", () => {
    const store = new MemoryStore();
    let queues = 0;
    return {
      transport: (options) => broken(memory({ store, ...options }), breakage),
      queue: () => `queue-${queues++}`,
    };
  }, { clockMs: 20, quietMs: 20, leaseMs: 2_000, ...features });
  return tests;
}

const rewritten = ({ body }: Outgoing): Uint8Array => {
  const text = new TextDecoder().decode(body);
  return new TextEncoder().encode(JSON.stringify(JSON.parse(text)));
};

const counted = ({ body }: Delivery): Uint8Array => reemit(body, { attempts: 1 });

const BREAKAGES: readonly (readonly [what: string, title: string, breakage: Breakage])[] = [
  ["parses and writes bodies", "a body arrives byte for byte", {
    publish: (transport, queue, messages) =>
      transport.publish(queue, messages.map((each) => ({ ...each, body: rewritten(each) }))),
  }],
  ["turns the order round", "the order of publishing is kept as far as the transport says", {
    publish: (transport, queue, messages) => transport.publish(queue, messages.toReversed()),
  }],
  [
    "publishes twice",
    "publishes at the same time are all confirmed and all arrive",
    { publish: (transport, queue, [first]) => transport.publish(queue, [first!, first!]) },
  ],
  [
    "forgets delays",
    "a delayed message comes in its time, or is refused where publishes cannot be delayed",
    {
      publish: (transport, queue, messages) =>
        transport.publish(queue, messages.map(({ delayMs: _, ...rest }) => rest)),
    },
  ],
  [
    "loses headers",
    "headers travel beside the body, or are dropped in silence where there is no place",
    {
      publish: (transport, queue, messages) =>
        transport.publish(queue, messages.map(({ headers: _, ...rest }) => rest)),
    },
  ],
  [
    "forgets what a message goes on from",
    "a message that goes on from another broker keeps its headers, under its own",
    {
      publish: (transport, queue, messages) =>
        transport.publish(queue, messages.map(({ from: _, ...rest }) => rest)),
    },
  ],
  ["gives more than asked for", "receive() never gives more than it was asked for", {
    receive: (subscription, max) => subscription.receive(max + 1, 500),
  }],
  ["settles everything again", "a second settle says expired and touches nothing", {
    settle: (subscription, delivery, verdict) =>
      subscription.settle(delivery, verdict).then(() => "settled" as const),
  }],
  ["answers after its close", "settle() after close() rejects", {
    settle: (subscription, delivery, verdict) =>
      subscription.settle(delivery, verdict).catch(() => "expired" as const),
  }],
  ["retries at once", "the wait before a retry passes", {
    settle: (subscription, delivery, verdict) =>
      subscription.settle(
        delivery,
        verdict.kind === "retry" ? { ...verdict, delayMs: 0 } : verdict,
      ),
  }],
  [
    "writes records and keeps the original",
    "a record is on the dead-letter queue and the original is gone",
    {
      settle: async (subscription, delivery, verdict, transport) => {
        if (verdict.kind !== "deadLetter") return await subscription.settle(delivery, verdict);
        await transport.publish(verdict.queue, [{ body: verdict.record }]);
        return "settled";
      },
    },
  ],
  [
    "copies the replay marker into records",
    "headers, but not the replay marker, go into the dead-letter record",
    {
      settle: async (subscription, delivery, verdict, transport) => {
        if (verdict.kind !== "deadLetter") return await subscription.settle(delivery, verdict);
        await transport.publish(verdict.queue, [{ body: verdict.record, from: delivery }]);
        return await subscription.settle(delivery, { kind: "ack" });
      },
    },
  ],
  [
    "counts what nobody delivered",
    "a failing message gets its deliveries, counted 1, 2, 3, and no more",
    { deliver: (delivery) => ({ ...delivery, counting: { floor: 1 } }) },
  ],
  ["hides its leases", "a delivery says when its lease ends, where there are leases", {
    deliver: ({ leaseUntilMs: _, ...rest }) => rest,
  }],
  [
    "gives headers a prototype",
    "a delivery carries headers without a prototype, and a count only where the broker counts",
    { deliver: (delivery) => ({ ...delivery, headers: { ...delivery.headers } }) },
  ],
  [
    "makes up a native version",
    "a delivery has a native version only where there is a gate",
    { deliver: (delivery) => ({ ...delivery, schemaVersion: "1" }) },
  ],
  [
    "writes poison records anew",
    "poison is kept whole in a record",
    {
      settle: (subscription, delivery, verdict) =>
        subscription.settle(
          delivery,
          verdict.kind === "deadLetter"
            ? { ...verdict, record: rewritten({ body: verdict.record }) }
            : verdict,
        ),
    },
  ],
  [
    "counts a release",
    "an unknown URN under 'release' is handled by the worker that knows it",
    {
      settle: (subscription, delivery, verdict) =>
        subscription.settle(
          delivery,
          verdict.kind === "release"
            ? { kind: "retry", body: counted(delivery), attempts: 1, delayMs: verdict.delayMs }
            : verdict,
        ),
    },
  ],
  [
    "hands out again what was acknowledged",
    "two workers share a queue, and no message is handled twice",
    {
      settle: (subscription, delivery, verdict) =>
        subscription.settle(
          delivery,
          verdict.kind === "ack" ? { kind: "release", delayMs: 0 } : verdict,
        ),
    },
  ],
  [
    "says that it extends and does not",
    "a handler that takes longer than the lease keeps its message",
    { extend: () => Promise.resolve(Date.now() + 60_000) },
  ],
  [
    "counts what a worker that stops gives back",
    "past the deadline a message goes back unchanged, and the late result is ignored",
    {
      settle: (subscription, delivery, verdict) =>
        subscription.settle(
          delivery,
          verdict.kind === "return"
            ? { kind: "retry", body: counted(delivery), attempts: 1, delayMs: 0 }
            : verdict,
        ),
    },
  ],
  [
    "never ends a snapshot",
    "a snapshot ends with what was there, whatever is published meanwhile",
    { snapshot: false },
  ],
];

for (const [what, title, breakage] of BREAKAGES) {
  test(`the transport suite catches one that ${what}`, async () => {
    const run = suite(breakage).get(title);
    assert(run, `there is a test '${title}'`);
    await assert.rejects(run(), { name: "SuiteError" });
    await suite({}).get(title)!();
  });
}

test("the transport suite registers only what its harness can do", () => {
  const plain = suite({});
  const all = suite({}, {
    failWrites: true,
    expireLease: true,
    restartBroker: true,
    versionGate: true,
  });
  assert(all.size > plain.size);
  for (const title of plain.keys()) assert(all.has(title));
  const title = "an acknowledged message is gone";
  assert.equal(suite({}, { skip: { [title]: "cannot be" } }).size, plain.size - 1);
});

test("the transport suite refuses to skip what it does not have", () => {
  assert.throws(
    () => suite({}, { skip: { "no such test": "none" } }),
    /Cannot skip 'no such test' of 'broken': the suite has no such test/,
  );
});
