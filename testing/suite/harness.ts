import type { Transport } from "../../runtime/transport.ts";

/** The runner's function that registers one test: `Deno.test`, `test` of `node:test` or `bun:test`, `it` of vitest. */
export type TestFunction = (name: string, fn: () => Promise<void>) => unknown;

/** What the suite asks of a transport it is about to open. */
export interface HarnessTransportOptions {
  /** How long a delivery is to be held, in milliseconds; as near to it as the broker can come, where it has leases. */
  readonly leaseMs?: number;
}

/** The broker under test, as one test sees it. Made anew for every test; the broker itself may live on. */
export interface TransportHarness {
  /** Makes another transport on that broker, not yet open. The suite closes it. */
  transport(options?: HarnessTransportOptions): Transport;
  /**
   * Names a queue that nothing was ever published to. Where the broker has to be told, it exists when
   * this resolves, its dead-letter queue too; it keeps what is published before the first worker
   * comes, and offers at least as many order units (partitions) as `concurrency` of the features.
   */
  queue(): string | Promise<string>;
  /** Puts a body on a queue with that value in the native schema-version slot. Needed for the feature `versionGate`. */
  publishVersion?(queue: string, body: Uint8Array, version: string): Promise<void>;
  /** Stops the broker and starts it again with what it had stored. Needed for the feature `restartBroker`. */
  restartBroker?(): Promise<void>;
  /** Makes the writes that come before an acknowledgement fail, or work again. Needed for the feature `failWrites`. */
  failWrites?(on: boolean): void | Promise<void>;
  /** Ends the lease of everything that is in flight on a queue, as if its time were over. Needed for the feature `expireLease`. */
  expireLease?(queue: string): void | Promise<void>;
  /** Clears away what this harness made. Called after every test. */
  close?(): void | Promise<void>;
}

/** What a harness can do, and what its broker cannot, beyond what `capabilities` and `policy` say. */
export interface SuiteFeatures {
  /**
   * Whether the harness can restart the broker; registers the tests that need it.
   *
   * @default {false}
   */
  readonly restartBroker?: boolean;
  /**
   * Whether the harness can make writes fail; registers the tests that need it.
   *
   * @default {false}
   */
  readonly failWrites?: boolean;
  /**
   * Whether the harness can end leases; registers the tests that need it.
   *
   * @default {false}
   */
  readonly expireLease?: boolean;
  /**
   * Whether the harness can publish with a native schema version; registers the tests that need it.
   * It has to, where `capabilities.versionGate` is set.
   *
   * @default {false}
   */
  readonly versionGate?: boolean;
  /**
   * Whether a body may be any bytes; a broker that takes text alone has to refuse others.
   *
   * @default {true}
   */
  readonly binaryBodies?: boolean;
  /**
   * Length of the largest body that is tried, in bytes.
   *
   * @default {1000000}
   */
  readonly bodyBytes?: number;
  /**
   * Handlers that one worker can have at work at a time on one queue; 1 where the order of the whole
   * queue forbids more.
   *
   * @default {3}
   */
  readonly concurrency?: number;
  /**
   * The lease that the lease tests ask for, in milliseconds: short, but the shortest the broker has.
   *
   * @default {1000}
   */
  readonly leaseMs?: number;
  /**
   * Whether a message whose lease has ended comes again with `attempts` in its body raised by one.
   * Elsewhere its body is untouched.
   *
   * @default {false}
   */
  readonly recoveryCounts?: boolean;
  /**
   * How coarse the broker's clock is, in milliseconds: delays may be over so much sooner, and the ones
   * that are tried are longer.
   *
   * @default {1000}
   */
  readonly clockMs?: number;
  /**
   * How long a queue is watched that has to stay empty, in milliseconds.
   *
   * @default {500}
   */
  readonly quietMs?: number;
  /**
   * Titles of tests that are not registered, each with the reason.
   *
   * @default {{}}
   */
  readonly skip?: Readonly<Record<string, string>>;
}

/** Features with every default filled in. */
export type ResolvedFeatures = Required<SuiteFeatures>;

/** Defaults of the features. */
export const FEATURES: ResolvedFeatures = {
  restartBroker: false,
  failWrites: false,
  expireLease: false,
  versionGate: false,
  binaryBodies: true,
  bodyBytes: 1_000_000,
  concurrency: 3,
  leaseMs: 1_000,
  recoveryCounts: false,
  clockMs: 1_000,
  quietMs: 500,
  skip: {},
};
