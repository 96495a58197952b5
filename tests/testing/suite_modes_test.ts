/**
 * The transport suite on memory that poses as other brokers: what it asks of a transport follows from
 * `capabilities` and `policy`, and each of its ways is walked here.
 */

import {
  type Capabilities,
  type Delivery,
  memory,
  MemoryStore,
  type SettlementPolicy,
  type Transport,
} from "@bq/core";
import { type SuiteFeatures, testTransport, type TransportHarness } from "@bq/core/testing";
import { artemisPolicy } from "../../transports/artemis/policy.ts";
import { kafkaPolicy } from "../../transports/kafka/policy.ts";
import { redisPolicy } from "../../transports/redis/policy.ts";
import { test } from "../harness.ts";

/** The header that stands for a native slot. */
const VERSION = "posed-schema-version";

/** Another broker's manners on memory. */
interface Pose {
  readonly capabilities: Partial<Capabilities>;
  readonly policy: SettlementPolicy;
  readonly leaseMs?: number;
}

function posed(inner: Transport, { capabilities, policy }: Pose): Transport {
  const can: Capabilities = { ...inner.capabilities, ...capabilities };
  const shown = new WeakMap<Delivery, Delivery>();
  const show = (delivery: Delivery): Delivery => {
    const { headers, leaseUntilMs, ...rest } = delivery;
    const { [VERSION]: schemaVersion, ...foreign } = headers;
    const as: Delivery = {
      ...rest,
      headers: Object.assign(Object.create(null), foreign),
      ...(can.leases ? { leaseUntilMs: leaseUntilMs! } : {}),
      ...(can.versionGate ? { schemaVersion } : {}),
    };
    shown.set(as, delivery);
    return as;
  };
  return {
    name: inner.name,
    capabilities: can,
    policy,
    open: (context) => inner.open(context),
    publish: (queue, messages, options) =>
      inner.publish(
        queue,
        messages.map(({ headers = {}, from, ...rest }) => ({
          ...rest,
          ...(can.headers && from !== undefined ? { from } : {}),
          headers: {
            ...(can.headers ? headers : {}),
            ...(can.versionGate ? { [VERSION]: headers[VERSION] ?? "1" } : {}),
          },
        })),
        options,
      ),
    async subscribe(queue, options) {
      const { receive, settle, extend, close } = await inner.subscribe(queue, options)
        .then((subscription) => ({
          receive: subscription.receive.bind(subscription),
          settle: subscription.settle.bind(subscription),
          extend: subscription.extend!.bind(subscription),
          close: subscription.close.bind(subscription),
        }));
      return {
        lanes: 1,
        receive: async (max, waitMs) => (await receive(max, waitMs)).map(show),
        settle: (delivery, verdict) => settle(shown.get(delivery)!, verdict),
        ...(can.leases ? { extend: (delivery: Delivery) => extend(shown.get(delivery)!) } : {}),
        close,
      };
    },
    ...(can.size ? { size: inner.size!.bind(inner) } : {}),
    ...(can.peek ? { peek: inner.peek!.bind(inner) } : {}),
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}

function harness(pose: Pose): () => TransportHarness {
  return () => {
    const store = new MemoryStore();
    let queues = 0;
    return {
      transport: ({ leaseMs = pose.leaseMs ?? 30_000 } = {}) =>
        posed(memory({ store, leaseMs: pose.leaseMs ?? leaseMs }), pose),
      queue: () => `queue-${queues++}`,
      async publishVersion(queue, body, version) {
        const transport = posed(memory({ store }), pose);
        await transport.open({
          clock: { now: () => 0, elapsed: () => performance.now(), sleep: () => Promise.resolve() },
          random: () => 0,
          bytes: (length) => new Uint8Array(length),
          emit: () => {},
        });
        await transport.publish(queue, [{ body, headers: { [VERSION]: version } }]);
        await transport.close();
      },
    };
  };
}

const FEATURES: SuiteFeatures = { clockMs: 20, quietMs: 20, leaseMs: 2_000 };
const LEASES = {
  "a handler that takes longer than the lease keeps its message": "tried on memory itself",
  "a message whose lease has ended goes to another worker; without leases it stays":
    "tried on memory itself",
};

testTransport(
  test,
  "memory as a broker with a gate and tiers",
  harness({
    capabilities: {
      versionGate: true,
      peek: false,
      publishDelay: { kind: "tiers", tiersMs: [50, 100] },
      order: "key",
      keys: true,
    },
    policy: artemisPolicy(),
  }),
  { ...FEATURES, versionGate: true, concurrency: 1, skip: LEASES },
);

testTransport(
  test,
  "memory as a broker with nothing but queues",
  harness({
    capabilities: {
      headers: false,
      publishDelay: { kind: "none" },
      order: "none",
      leases: false,
      peek: false,
      size: false,
    },
    policy: redisPolicy({ layout: "legacy" }),
    leaseMs: 3_600_000,
  }),
  { ...FEATURES, leaseMs: 50, binaryBodies: true },
);

testTransport(
  test,
  "memory as a broker without retries",
  harness({ capabilities: {}, policy: kafkaPolicy({ tiers: false }), leaseMs: 500 }),
  { ...FEATURES, skip: LEASES },
);
