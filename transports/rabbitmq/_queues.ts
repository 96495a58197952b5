import { type Clock, ConnectionError } from "@bq/core/transport";
import type { RabbitChannel } from "./client.ts";
import { delayArguments, delayQueueOf, RENEW_MS } from "./delays.ts";
import { codeOf, connectionError } from "./_errors.ts";
import type { Link } from "./_link.ts";
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
  readonly #underWay: Map<string, Promise<void>> = new Map();
  /** Why the exchange cannot be had; the broker ends the connection of whoever asks for a type that it lacks. */
  #noExchange: ConnectionError | undefined;

  /**
   * @param link The connection.
   * @param options What `declare` says.
   * @param clock Time.
   */
  constructor(link: Link, options: ResolvedOptions, clock: Clock) {
    this.#link = link;
    this.#options = options;
    this.#clock = clock;
    link.watch(() => {
      if (link.connection === undefined) this.#seen.clear();
    });
  }

  /** Whether the place was seen to. */
  ready(place: Place): boolean {
    const seenMs = this.#seen.get(this.#nameOf(place));
    if (seenMs === undefined) return this.#options.declare === false && !this.#isDelayed(place);
    return !this.#isDelayed(place) || this.#clock.elapsed() - seenMs < RENEW_MS;
  }

  /** Forgets a queue that turned out not to be there. */
  forget(queue: string): void {
    this.#seen.delete(queue);
    // What was bound to the exchange is not any more.
    this.#seen.delete(`${this.#options.delayExchange}/${queue}`);
  }

  /**
   * Sees to a place.
   *
   * @throws {ConnectionError} when it cannot be had; fatal when trying again cannot help.
   */
  async prepare(place: Place): Promise<void> {
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
    const { messageCount } = await this.#on((channel) => channel.checkQueue(queue));
    return messageCount;
  }

  async #prepare(place: Place, name: string): Promise<void> {
    const { queue } = place;
    const startedMs = this.#clock.elapsed();
    try {
      if (!this.#seen.has(queue) && this.#options.declare !== false) await this.#work(place);
      this.#seen.set(queue, startedMs);
      if (!this.#isDelayed(place)) return;
      if (this.#options.delayExchange === undefined) await this.#delayQueue(place);
      else await this.#exchange(queue, this.#options.delayExchange);
      this.#seen.set(name, startedMs);
    } catch (error) {
      throw connectionError(`use queue '${queue}'`, this.#link.explain(error));
    }
  }

  async #work({ queue, deadLetters = false }: Place): Promise<void> {
    const { declare } = this.#options;
    if (typeof declare === "object") {
      return await this.#declare(queue, this.#arguments(deadLetters));
    }
    try {
      await this.#on((channel) => channel.checkQueue(queue));
    } catch (error) {
      if (codeOf(error) !== 404) throw error;
      if (declare === "passive") {
        throw new ConnectionError(
          `Cannot use queue '${queue}': it does not exist, and 'declare' is 'passive'`,
          { cause: error },
        );
      }
      await this.#declare(queue, {});
    }
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
    const quorum = this.#arguments(true)["x-queue-type"] === "quorum";
    await this.#declare(delayQueueOf(queue, delayMs), delayArguments(queue, delayMs, quorum));
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
    channel.on("error", () => {});
    channel.on("close", () => dead = true);
    const result = await use(channel);
    if (!dead) await channel.close();
    return result;
  }

  #isDelayed({ delayMs = 0 }: Place): boolean {
    return delayMs > 0;
  }

  #nameOf(place: Place): string {
    const { queue, delayMs = 0 } = place;
    if (!this.#isDelayed(place)) return queue;
    const { delayExchange } = this.#options;
    return delayExchange === undefined ? delayQueueOf(queue, delayMs) : `${delayExchange}/${queue}`;
  }
}
