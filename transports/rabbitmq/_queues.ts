import { type Clock, ConnectionError } from "@bq/core/transport";
import type { RabbitChannel } from "./client.ts";
import { delayArguments, delayQueueOf, RENEW_MS } from "./delays.ts";
import { codeOf, connectionError } from "./_errors.ts";
import type { Link } from "./_link.ts";
import { nameTrouble } from "./_names.ts";
import type { ResolvedOptions } from "./options.ts";

/** A place that has to be there before something is sent to it or received from it. */
export interface Place {
  /** The queue. */
  readonly queue: string;
  /** Whether dead-letter records go there, for which the arguments of work queues are not meant. */
  readonly deadLetters?: boolean;
  /** How long messages wait before they come to it; 0 = not at all. */
  readonly delayMs?: number;
}

/** When each queue was bound to the exchange, by its name; every connection has to know of a queue that went. */
export type Bound = Map<string, number>;

/** Why a delay queue cannot be used, by the broker's code. */
const NO_DELAY: ReadonlyMap<number | undefined, string> = /* @__PURE__ */ new Map([
  [403, "this user may not declare it"],
  [404, "it does not exist, and is not declared: 'declare' is 'passive', or this user may not"],
]);

/** A message cannot wait on the broker, so that whoever has it has to hold it. */
export class NoDelayError extends ConnectionError {}

/**
 * Sees to it that queues are there, once each as long as the connection lasts. Every look is taken on a
 * channel of its own, since one at a queue that is not there costs the channel. Contract: Q3, Q15.
 */
export class Queues {
  readonly #link: Link;
  readonly #options: ResolvedOptions;
  readonly #clock: Clock;
  /** When each was seen to, by `Clock.elapsed`. */
  readonly #seen: Map<string, number> = new Map();
  readonly #bound: Bound;
  readonly #underWay: Map<string, Promise<void>> = new Map();
  /** Why the exchange cannot be had; the broker ends the connection of whoever asks for a type that it lacks. */
  #noExchange: ConnectionError | undefined;

  /**
   * @param link The connection.
   * @param options What `declare` says.
   * @param clock Time.
   * @param bound What is bound, shared by the connections of a transport.
   */
  constructor(link: Link, options: ResolvedOptions, clock: Clock, bound: Bound) {
    this.#link = link;
    this.#options = options;
    this.#clock = clock;
    this.#bound = bound;
    link.watch(() => {
      if (link.connection !== undefined) return;
      this.#seen.clear();
      this.#bound.clear();
    });
  }

  /** Whether the place was seen to. */
  ready(place: Place): boolean {
    const seenMs = this.#isBound(place)
      ? this.#bound.get(place.queue)
      : this.#seen.get(this.#nameOf(place));
    if (seenMs === undefined) return this.#options.declare === false && !this.#isDelayed(place);
    return !this.#isDelayed(place) || this.#clock.elapsed() - seenMs < RENEW_MS;
  }

  /** Forgets a queue that turned out not to be there. */
  forget(queue: string): void {
    this.#seen.delete(queue);
    // Declared again, it is not bound to the exchange any more.
    this.#bound.delete(queue);
  }

  /**
   * Sees to a place, unless it was seen to.
   *
   * @throws {ConnectionError} when it cannot be had; fatal when trying again cannot help.
   */
  async prepare(place: Place): Promise<void> {
    if (this.ready(place)) return;
    const name = this.#nameOf(place);
    let underWay = this.#underWay.get(name);
    if (underWay === undefined) {
      underWay = this.#prepare(place, name).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, underWay);
    }
    await underWay;
  }

  /** How many messages of a queue wait. */
  async count(queue: string): Promise<number> {
    return await this.#look(queue);
  }

  async #prepare(place: Place, name: string): Promise<void> {
    const { queue } = place;
    const trouble = nameTrouble(queue);
    if (trouble !== undefined) throw new ConnectionError(`Cannot use queue '${queue}': ${trouble}`);
    const startedMs = this.#clock.elapsed();
    try {
      if (!this.#seen.has(queue) && this.#options.declare !== false) await this.#work(place);
      this.#seen.set(queue, startedMs);
      if (!this.#isDelayed(place)) return;
      if (this.#options.delayExchange === undefined) {
        await this.#delayQueue(place);
        this.#seen.set(name, startedMs);
      } else {
        await this.#exchange(queue, this.#options.delayExchange);
        this.#bound.set(queue, startedMs);
      }
    } catch (error) {
      // A queue that cannot be bound may have gone.
      if (this.#isBound(place)) this.forget(queue);
      throw connectionError(`use queue '${queue}'`, this.#link.explain(error));
    }
  }

  async #work({ queue, deadLetters = false }: Place): Promise<void> {
    const { declare } = this.#options;
    const args = this.#arguments(deadLetters);
    // Records outlive what is said about work, so that theirs is used as it is.
    if (typeof declare === "object" && !deadLetters) return await this.#declare(queue, args);
    try {
      await this.#look(queue);
    } catch (error) {
      if (codeOf(error) !== 404) throw error;
      if (declare === "passive") {
        throw new ConnectionError(
          `Cannot use queue '${queue}': it does not exist, and 'declare' is 'passive'`,
          { cause: error },
        );
      }
      await this.#declare(queue, args);
    }
  }

  async #look(queue: string): Promise<number> {
    const { messageCount } = await this.#on((channel) => channel.checkQueue(queue));
    return messageCount;
  }

  async #declare(queue: string, args: Readonly<Record<string, unknown>>): Promise<void> {
    const options = { durable: true, exclusive: false, autoDelete: false, arguments: args };
    await this.#on((channel) => channel.assertQueue(queue, options));
  }

  /** What a dead-letter queue takes over of a work queue: how it is stored, and no limit or expiry. */
  #arguments(deadLetters: boolean): Readonly<Record<string, unknown>> {
    const { declare } = this.#options;
    const args = typeof declare === "object" ? declare.arguments ?? {} : {};
    if (!deadLetters) return args;
    const type = args["x-queue-type"];
    return type === undefined ? {} : { "x-queue-type": type };
  }

  async #delayQueue({ queue, delayMs = 0 }: Place): Promise<void> {
    const name = delayQueueOf(queue, delayMs);
    try {
      await this.#delayQueueNamed(name, queue, delayMs);
    } catch (error) {
      const why = NO_DELAY.get(codeOf(error)) ?? nameTrouble(name);
      if (why === undefined) throw error;
      throw new NoDelayError(`Cannot delay by queue '${name}': ${why}`, { cause: error });
    }
  }

  async #delayQueueNamed(name: string, queue: string, delayMs: number): Promise<void> {
    const quorum = this.#arguments(true)["x-queue-type"] === "quorum";
    try {
      if (this.#options.declare !== "passive" && nameTrouble(name) === undefined) {
        return await this.#declare(name, delayArguments(queue, delayMs, quorum));
      }
    } catch (error) {
      // One of other arguments, or of an operator, waits as long: its name says so.
      if (codeOf(error) !== 406 && codeOf(error) !== 403) throw error;
    }
    await this.#look(name);
  }

  async #exchange(queue: string, exchange: string): Promise<void> {
    const { declare } = this.#options;
    if (declare === false) return;
    if (this.#noExchange !== undefined) throw this.#noExchange;
    try {
      await this.#on(async (channel) => {
        if (declare === "passive") return await channel.checkExchange(exchange);
        const args = {
          durable: true,
          autoDelete: false,
          arguments: { "x-delayed-type": "direct" },
        };
        await channel.assertExchange(exchange, "x-delayed-message", args);
        return await channel.bindQueue(queue, exchange, queue);
      });
    } catch (error) {
      const trouble = connectionError(`use exchange '${exchange}'`, this.#link.explain(error));
      if (trouble.fatal) this.#noExchange = trouble;
      throw trouble;
    }
  }

  async #on<T>(use: (channel: RabbitChannel) => Promise<T>): Promise<T> {
    const { connection } = this.#link;
    if (connection === undefined) throw this.#link.trouble;
    const channel = await connection.createChannel();
    let dead = false;
    // What it is about is what the call rejects with.
    channel.on("error", () => dead = true);
    channel.on("close", () => dead = true);
    try {
      return await use(channel);
    } finally {
      // It may have gone with its connection, and what it was for has its answer.
      if (!dead) await channel.close().catch(() => {});
    }
  }

  #isDelayed({ delayMs = 0 }: Place): boolean {
    return delayMs > 0;
  }

  #nameOf(place: Place): string {
    const { queue, delayMs = 0 } = place;
    if (!this.#isDelayed(place)) return queue;
    return this.#isBound(place) ? `exchange ${queue}` : delayQueueOf(queue, delayMs);
  }

  #isBound(place: Place): boolean {
    return this.#isDelayed(place) && this.#options.delayExchange !== undefined;
  }
}
