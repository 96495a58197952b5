import {
  BabelQueueError,
  cannotOpen,
  type Capabilities,
  type Delivery,
  notOpen,
  type Outgoing,
  outgoingHeaders,
  type PublishOutcome,
  refuseDelays,
  type SettlementPolicy,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type Transport,
  type TransportContext,
  unlessAborted,
} from "@bq/core/transport";
import type { Letter } from "./_batch.ts";
import type { RabbitMessage, RabbitProperties } from "./client.ts";
import { Confirms } from "./_confirms.ts";
import { delayFor, delayQueueOf } from "./delays.ts";
import { dial, userOf } from "./_dial.ts";
import { connectionError } from "./_errors.ts";
import { Link } from "./_link.ts";
import { nameTrouble } from "./_names.ts";
import { type RabbitmqOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { LONGEST_DELAY_MS, rabbitmqPolicy } from "./policy.ts";
import {
  continuedProperties,
  type KnownHeaders,
  newProperties,
  verbatimProperties,
} from "./project.ts";
import { type Bound, type Place, Queues } from "./_queues.ts";
import { RabbitmqSubscription } from "./subscription.ts";

/**
 * Makes a transport on RabbitMQ.
 *
 * @param options A URL, or {@linkcode RabbitmqOptions}.
 * @returns The transport, to be handed to {@linkcode BabelQueue}.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 *
 * @example A worker
 * ```ts ignore
 * import { BabelQueue } from "@bq/core";
 * import { rabbitmq } from "@bq/rabbitmq";
 *
 * const bq = new BabelQueue(rabbitmq("amqp://localhost"), { queue: "orders", deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order) => console.log(order.order_id));
 * await bq.run({ concurrency: 100 });
 * ```
 */
export function rabbitmq(options: string | RabbitmqOptions = {}): Transport {
  return new OnRabbitmq(resolveOptions(typeof options === "string" ? { url: options } : options));
}

/** What there is while the transport is open. */
interface Opened {
  readonly context: TransportContext;
  /** Publishes travel apart from deliveries: a broker that is short of memory stops reading the connections that publish, acknowledgements on them included. */
  readonly out: Link;
  readonly in: Link;
  readonly queuesOut: Queues;
  readonly queuesIn: Queues;
  readonly publishes: Confirms;
  /** Copies and records, which must not wait behind what is published. */
  readonly copies: Confirms;
}

class OnRabbitmq implements Transport {
  readonly name: string = "rabbitmq";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly #options: ResolvedOptions;
  readonly #user: string | undefined;
  readonly #subscriptions: Set<RabbitmqSubscription> = new Set();
  readonly #knownHeaders: KnownHeaders = new Map();
  /** Connections that were lost and are not back. */
  readonly #down: Set<Link> = new Set();
  #opened: Opened | undefined;
  #closed = false;

  constructor(options: ResolvedOptions) {
    const { delayExchange, delayQueues, declare } = options;
    this.#options = options;
    this.#user = userOf(options);
    const delays = delayExchange !== undefined || delayQueues;
    this.capabilities = {
      headers: true,
      publishDelay: delays ? { kind: "native", maxMs: LONGEST_DELAY_MS } : { kind: "none" },
      order: "queue",
      keys: false,
      nativeCount: false,
      versionGate: false,
      leases: false,
      peek: false,
      size: false,
    };
    this.policy = rabbitmqPolicy({
      brokerDelays: declare !== false || delayExchange !== undefined,
    });
  }

  async open(context: TransportContext, options: SignalOptions = {}): Promise<void> {
    if (this.#closed || this.#opened !== undefined) throw cannotOpen("RabbitMQ", this.#closed);
    options.signal?.throwIfAborted();
    const opened = this.#parts(context);
    this.#opened = opened;
    try {
      await unlessAborted(opened.out.open(), options.signal);
    } catch (error) {
      this.#opened = undefined;
      this.#down.clear();
      void opened.out.close(options.signal);
      throw connectionError("connect to RabbitMQ", error);
    }
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { publishes } = this.#parted(`publish to '${queue}'`);
    assertName(queue);
    refuseDelays(queue, messages, this.capabilities.publishDelay, noDelays);
    options.signal?.throwIfAborted();
    const letters = messages.map((message) => this.#letterOf(queue, message));
    return await publishes.publish(queue, letters, options.signal);
  }

  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const opened = this.#parted(`subscribe to '${queue}'`);
    assertName(queue);
    const { context, in: link, queuesIn: queues, copies: confirms } = opened;
    await link.open();
    const { receive, pollIntervalMs } = this.#options;
    const subscription = new RabbitmqSubscription({
      queue,
      link,
      queues,
      confirms,
      letter: (place, body, properties) => this.#letter(place, body, properties, true),
      context,
      options,
      receive,
      pollIntervalMs,
      user: this.#user,
      budget: options.snapshot ? await waiting(opened, queue) : Infinity,
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    try {
      await subscription.open();
    } catch (error) {
      await subscription.close();
      throw error;
    }
    return subscription;
  }

  async close(options: SignalOptions = {}): Promise<void> {
    await Promise.allSettled([...this.#subscriptions].map((one) => one.close(options)));
    this.#closed = true;
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    opened.publishes.close();
    opened.copies.close();
    await Promise.all([opened.out.close(options.signal), opened.in.close(options.signal)]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #parts(context: TransportContext): Opened {
    const { connection, maxUnconfirmed } = this.#options;
    const out = this.#link(context);
    const inward = connection === undefined ? this.#link(context) : out;
    const bound: Bound = new Map();
    const queuesOut = new Queues(out, this.#options, context.clock, bound);
    const queuesIn = inward === out
      ? queuesOut
      : new Queues(inward, this.#options, context.clock, bound);
    const setup = {
      link: out,
      queues: queuesOut,
      window: maxUnconfirmed,
      headersLost: (queue: string, { message: why }: Error): void => {
        const message =
          `a message for '${queue}' goes on without the headers that cannot be written: ${why}`;
        context.emit({ type: "warning", code: "headers_lost", message });
      },
    };
    const publishes = new Confirms(setup);
    const copies = new Confirms(setup);
    return { context, out, in: inward, queuesOut, queuesIn, publishes, copies };
  }

  #link({ clock, random, emit }: TransportContext): Link {
    const link: Link = new Link({
      dial: (signal) => dial(this.#options, signal),
      given: this.#options.connection,
      clock,
      random: () => random(),
      changed: (up, error) => {
        if (up) this.#down.delete(link);
        else this.#down.add(link);
        if (up && this.#down.size === 0) emit({ type: "connected" });
        else if (!up) emit({ type: "disconnected", ...(error ? { error } : {}) });
      },
      blocked: (reason) => {
        const message = `the broker takes no publishes at the moment: ${reason}`;
        emit({ type: "warning", code: "blocked", message });
      },
    });
    return link;
  }

  #parted(verb: string): Opened {
    if (this.#opened !== undefined) return this.#opened;
    throw notOpen(verb, "RabbitMQ", this.#closed);
  }

  #letterOf(queue: string, message: Outgoing): Letter {
    const { body, canonical, delayMs = 0, from, headers, verbatim } = message;
    const origin = from && this.#originOf(from);
    const properties = origin === undefined
      ? newProperties(body, outgoingHeaders(message), this.#knownHeaders, canonical)
      : verbatim
      ? verbatimProperties(origin, this.#user)
      : continuedProperties(origin, body, headers, this.#user);
    return this.#letter({ queue, delayMs }, body, properties, origin !== undefined);
  }

  /** What a delivery was made of, as long as it is not settled. */
  #originOf(delivery: Delivery): RabbitMessage | undefined {
    for (const subscription of this.#subscriptions) {
      const message = subscription.messageOf(delivery);
      if (message !== undefined) return message;
    }
    return undefined;
  }

  /** Addresses a message: straight to its queue, or to where it waits first. Contract: Q3, Q5, G47. */
  #letter(
    place: Place,
    body: Uint8Array,
    properties: RabbitProperties,
    continues: boolean,
  ): Letter {
    const { queue, delayMs = 0 } = place;
    const { delayExchange } = this.#options;
    const letter = { place, exchange: "", routingKey: queue, body, properties, continues };
    if (delayMs <= 0) return letter;
    if (delayExchange !== undefined) {
      const headers = { ...properties.headers, "x-delay": Math.ceil(delayMs) };
      return { ...letter, exchange: delayExchange, properties: { ...properties, headers } };
    }
    const waitsMs = delayFor(delayMs);
    const routingKey = delayQueueOf(queue, waitsMs);
    return { ...letter, place: { ...place, delayMs: waitsMs }, routingKey };
  }
}

/** How many messages can be received now. */
async function waiting({ in: link, queuesIn }: Opened, queue: string): Promise<number> {
  try {
    await queuesIn.prepare({ queue });
    return await queuesIn.count(queue);
  } catch (error) {
    throw connectionError(`count '${queue}'`, link.connection === undefined ? link.trouble : error);
  }
}

function assertName(queue: string): void {
  const trouble = nameTrouble(queue);
  if (trouble === undefined) return;
  throw new BabelQueueError("invalid_option", `Cannot use queue '${queue}': ${trouble}`);
}

/** Contract: Q5. */
function noDelays(delayMs: number): string {
  return `without 'delayQueues' or a 'delayExchange' no publish can be delayed, and the delay is ${delayMs} ms`;
}
