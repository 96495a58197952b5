import {
  BabelQueueError,
  callable,
  checkOptions,
  type Clock,
  type OptionCheck,
  refuseOption,
  systemClock,
  type TransportEvent,
  unlessAborted,
  within,
} from "@bq/core/transport";
import { Producing } from "./_producing.ts";
import { Reinjection } from "./_reinjection.ts";
import { acquire, adapted, release } from "./clients/adapt.ts";
import type { KafkaClient } from "./client.ts";
import { ownClient } from "./clients/own.ts";
import { retryTopic, topicOf } from "./tiers.ts";
import {
  BROKER_CHECKS,
  type BrokerOptions,
  resolveBroker,
  type ResolvedBroker,
} from "./options.ts";

/** Longest time for disconnecting, in milliseconds. */
const CLOSE_MS = 5_000;

/** Options of a {@linkcode RetryReinjector}: `retryTiersMs` is needed. */
export interface ReinjectorOptions extends BrokerOptions {
  /** Names of the queues whose tiers are served. */
  readonly queues: readonly string[];
  /**
   * Told about the connection, and about every record that cannot be forwarded.
   *
   * @default {undefined}
   */
  readonly onEvent?: (event: TransportEvent) => void;
  /**
   * Time.
   *
   * @default {systemClock}
   */
  readonly clock?: Clock;
}

const CHECKS: { readonly [K in keyof Required<ReinjectorOptions>]: OptionCheck } = {
  ...BROKER_CHECKS,
  queues(name, value) {
    const names = Array.isArray(value) ? value : [];
    if (names.length === 0 || names.some((one) => typeof one !== "string" || one === "")) {
      refuseOption(name, value, "a list of names of queues, not empty");
    }
  },
  onEvent: callable,
  clock(name, value) {
    if (typeof value !== "object" || value === null) refuseOption(name, value, "a clock");
  },
};

/**
 * Ends the waits on retry tiers: what was long enough on `<topic>.retry.<n>` goes back to its work
 * topic, byte for byte. Without one running somewhere, a retried or delayed record waits for ever. Any
 * number of them share the work, with those of the other SDKs, as long as their group is the same.
 * Contract: K40–K46.
 *
 * @example A process of its own
 * ```ts ignore
 * const reinjector = new RetryReinjector({
 *   url: "kafka://localhost:9092",
 *   queues: ["orders"],
 *   retryTiersMs: DEFAULT_RETRY_TIERS_MS,
 * });
 * const { stop } = shutdownSignal();
 * await reinjector.run({ signal: stop });
 * ```
 */
export class RetryReinjector {
  readonly #options: ReinjectorOptions;
  readonly #broker: ResolvedBroker;
  #running = false;

  /**
   * Checks the options; connects to nothing yet.
   *
   * @param options Where, and which queues.
   * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
   */
  constructor(options: ReinjectorOptions) {
    this.#options = checkOptions(options, CHECKS);
    this.#broker = resolveBroker(this.#options);
    const { client, prefix, tiersMs } = this.#broker;
    if (client !== undefined) adapted(client);
    for (const queue of this.#options.queues) {
      topicOf("", retryTopic(topicOf(prefix, queue), tiersMs.length));
    }
    if (this.#broker.tiersMs.length === 0) {
      refuseOption("retryTiersMs", options.retryTiersMs, "a list of at least one tier");
    }
  }

  /**
   * Serves the tiers until stopped. Trouble with the connection is told and tried again.
   *
   * @param options `signal`: ends it.
   * @throws {ConnectionError} with `fatal: true` when trying again cannot help.
   */
  async run(options: { readonly signal: AbortSignal }): Promise<void> {
    if (this.#running) {
      throw new BabelQueueError("invalid_option", "Cannot run the re-injector: it runs already");
    }
    this.#running = true;
    try {
      await this.#run(options.signal);
    } finally {
      this.#running = false;
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { client: given, connection } = this.#broker;
    const client = acquire(given === undefined ? await ownClient(connection) : adapted(given));
    // A client that was closed before works again; trouble is met, and told, by what comes next.
    client.connect().catch(() => {});
    const producing = new Producing(client);
    const { queues, clock = systemClock, onEvent = () => {} } = this.#options;
    const reinjection = new Reinjection({
      broker: this.#broker,
      queues,
      client,
      producing,
      clock,
      emit: onEvent,
    });
    try {
      await reinjection.run(signal);
    } finally {
      producing.end();
      await closed(client, clock);
    }
  }
}

/** A broker that does not answer may not keep it from ending. */
async function closed(client: KafkaClient, clock: Clock): Promise<void> {
  const close = (over: AbortSignal) =>
    unlessAborted(release(client, { signal: over }), over, () => {});
  await within(CLOSE_MS, clock, undefined, close);
}
