import {
  BabelQueueError,
  checkOptions,
  type Clock,
  type OptionCheck,
  refuseOption,
  systemClock,
  type TransportEvent,
} from "@bq/core/transport";
import { Producing } from "./_producing.ts";
import { Reinjection } from "./_reinjection.ts";
import { adapted } from "./clients/adapt.ts";
import { ownClient } from "./clients/own.ts";
import {
  BROKER_CHECKS,
  type BrokerOptions,
  resolveBroker,
  type ResolvedBroker,
} from "./options.ts";

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
  onEvent(name, value) {
    if (typeof value !== "function") refuseOption(name, value, "a function");
  },
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
    const { client: given, connection } = this.#broker;
    const client = given === undefined ? await ownClient(connection) : adapted(given);
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
      await reinjection.run(options.signal);
    } finally {
      this.#running = false;
      producing.end();
      await client.close();
    }
  }
}
