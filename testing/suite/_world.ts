import { systemClock, systemRandom } from "../../core/clock.ts";
import { BabelQueue, type RunOptions } from "../../runtime/mod.ts";
import type { BabelQueueOptions } from "../../runtime/options.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import type {
  Capabilities,
  Delivery,
  SubscribeOptions,
  Subscription,
  Transport,
} from "../../runtime/transport.ts";
import { type Recorder, recorder } from "../recorder.ts";
import { check, equal } from "./_assert.ts";
import type { HarnessTransportOptions, ResolvedFeatures, TransportHarness } from "./harness.ts";

/** Longest wait for what has to happen; nothing here measures speed. */
export const PATIENCE_MS = 30_000;

/** An App, and what it told. */
export interface App {
  readonly bq: BabelQueue;
  readonly seen: Recorder;
}

/** A worker at work. */
export interface Work {
  /** Ends it and waits for its end. */
  stop(): Promise<void>;
  /** Its end. */
  readonly ended: Promise<void>;
}

/** A subscription without an App. */
export interface Reader {
  readonly subscription: Subscription;
  readonly intake: AbortController;
  /** Receives that many messages, and fails when they do not come. */
  take(count: number): Promise<Delivery[]>;
}

/** Everything that one test uses; whatever is made here is closed at its end. */
export class World {
  readonly harness: TransportHarness;
  readonly features: ResolvedFeatures;
  readonly queue: string;
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly #closing: (() => unknown)[] = [];

  constructor(harness: TransportHarness, features: ResolvedFeatures, queue: string) {
    this.harness = harness;
    this.features = features;
    this.queue = queue;
    const probe = this.transport();
    this.capabilities = probe.capabilities;
    this.policy = probe.policy;
  }

  /** The dead-letter queue of the test's queue. */
  get deadLetterQueue(): string {
    return this.policy.deadLetterQueue(this.queue);
  }

  /** Deliveries that a failing message gets; one where the broker cannot retry at all. */
  attempts(wanted: number): number {
    return this.policy.retry === "possible" ? wanted : 1;
  }

  /** A delay that the broker's clock does not round away, in milliseconds. */
  get delayMs(): number {
    return Math.ceil(2.5 * this.features.clockMs);
  }

  /** A transport, not yet open. */
  transport(options?: HarnessTransportOptions): Transport {
    const transport = this.harness.transport(options);
    this.#closing.push(() => transport.close());
    return transport;
  }

  /** An open transport. */
  async open(options?: HarnessTransportOptions): Promise<Transport> {
    const transport = this.transport(options);
    await transport.open({
      clock: systemClock,
      random: systemRandom,
      bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
      emit: () => {},
    });
    return transport;
  }

  /** An App on a transport of its own; the test's queue is its default one. */
  app(options: BabelQueueOptions = {}, transport: Transport = this.transport()): App {
    const seen = recorder();
    const bq = new BabelQueue(transport, {
      queue: this.queue,
      pollTimeoutMs: 200,
      onEvent: seen,
      ...options,
    });
    this.#closing.push(() => bq.close());
    return { bq, seen };
  }

  /** Lets an App work until it is stopped. */
  work({ bq }: App, options: RunOptions = {}): Work {
    const stopping = new AbortController();
    const ended = bq.run({ signal: stopping.signal, ...options });
    // The rejection is for whoever waits for the end; until then it must not end the process.
    ended.catch(() => {});
    const stop = (): Promise<void> => {
      stopping.abort();
      return ended;
    };
    this.#closing.push(stop);
    return { stop, ended };
  }

  /** A subscription without an App. */
  async read(
    queue: string = this.queue,
    options: Partial<SubscribeOptions> & { readonly transport?: Transport } = {},
  ): Promise<Reader> {
    const { transport = await this.open(), ...rest } = options;
    const intake = new AbortController();
    const subscription = await transport.subscribe(queue, {
      prefetch: 10,
      intake: intake.signal,
      lost: () => {},
      ...rest,
    });
    this.#closing.push(() => subscription.close(), () => intake.abort());
    const take = async (count: number): Promise<Delivery[]> => {
      const taken: Delivery[] = [];
      const endMs = systemClock.elapsed() + PATIENCE_MS;
      while (taken.length < count) {
        taken.push(...await subscription.receive(count - taken.length, 500));
        check(
          taken.length >= count || systemClock.elapsed() < endMs,
          `${count} messages come from '${queue}' within ${PATIENCE_MS} ms; ${taken.length} came`,
        );
      }
      return taken;
    };
    return { subscription, intake, take };
  }

  /** Takes that many messages off a queue, as they stand there. */
  async takeOff(queue: string, count: number): Promise<Delivery[]> {
    const { subscription, take } = await this.read(queue);
    const taken: Delivery[] = [];
    while (taken.length < count) {
      const [delivery] = await take(1);
      // As they come: where order is kept, the next one of an order unit comes only then.
      await subscription.settle(delivery!, { kind: "ack" });
      taken.push(delivery!);
    }
    await subscription.close();
    return taken;
  }

  /** Fails when a message comes from the queue. */
  async expectEmpty(queue: string = this.queue): Promise<void> {
    const { subscription } = await this.read(queue);
    const came = await subscription.receive(1, this.features.quietMs);
    equal(came.map(({ body }) => new TextDecoder().decode(body)), [], `what is on '${queue}'`);
    await subscription.close();
  }

  /** Closes everything that was made here, the last first. */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    const attempt = async (close: () => unknown): Promise<void> => {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    };
    for (const close of this.#closing.reverse()) await attempt(close);
    await attempt(() => this.harness.close?.());
    if (errors.length > 0) throw errors[0];
  }
}

/** Waits until the check holds. */
export async function eventually(
  expectation: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const endMs = systemClock.elapsed() + PATIENCE_MS;
  for (let waitMs = 5; !await holds(); waitMs = Math.min(2 * waitMs, 200)) {
    check(systemClock.elapsed() < endMs, `${expectation} within ${PATIENCE_MS} ms`);
    await systemClock.sleep(waitMs);
  }
}

/** Waits for a promise, but not for ever. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const done = new AbortController();
  const late = systemClock.sleep(PATIENCE_MS, done.signal).then(() => {
    check(done.signal.aborted, `${what} ends within ${PATIENCE_MS} ms`);
  });
  try {
    await Promise.race([promise, late]);
    return await promise;
  } finally {
    done.abort();
  }
}
