import { type Clock, closedError, systemClock, unlessAborted, within } from "@bq/core/transport";
import { isUnknownTopic, NotYetError } from "../_errors.ts";
import type { KafkajsAdmin, KafkajsLike } from "./_kafkajs_like.ts";

/**
 * How the client itself asks again, under a second in all: it cannot get over a topic that is gone,
 * which a new one can.
 */
const RETRY = { initialRetryTime: 100, retries: 3 };
/** Longest time that closing waits for the questions under way, in milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * Admin clients of `kafkajs`, each for one question at a time: whoever asks it at the same time is
 * answered out of what it has just loaded for another topic. One is kept for the next question, unless
 * it met an error: what it remembers of the cluster may be why, and it keeps that for minutes.
 */
export class Questions {
  readonly #kafka: KafkajsLike;
  readonly #clock: Clock;
  /** Those with a question, and when its end is dealt with. */
  readonly #busy: Map<KafkajsAdmin, Promise<void>> = new Map();
  readonly #ending: Set<Promise<void>> = new Set();
  #idle: KafkajsAdmin | undefined;
  #closed = false;

  /**
   * @param kafka What makes clients.
   * @param clock Time.
   */
  constructor(kafka: KafkajsLike, clock: Clock = systemClock) {
    this.#kafka = kafka;
    this.#clock = clock;
  }

  /** Asks. */
  ask<T>(question: (admin: KafkajsAdmin) => Promise<T>): Promise<T> {
    const idle = this.#idle;
    this.#idle = undefined;
    return this.#ask(idle, question);
  }

  /**
   * The same on a client that was asked nothing before: some questions look anew at every topic that
   * their client ever heard of, and fail with one that is gone.
   */
  askAnew<T>(question: (admin: KafkajsAdmin) => Promise<T>): Promise<T> {
    return this.#ask(undefined, question);
  }

  /** Questions are answered again. */
  open(): void {
    this.#closed = false;
  }

  /**
   * Disconnects once the questions under way have ended, which it waits for at most a second; what is
   * asked later is refused. A client that is disconnected amid a question connects anew for it, again
   * and again, and what it tries then outlives the closing.
   *
   * @param signal Waits no longer for them.
   */
  async close(signal?: AbortSignal): Promise<void> {
    this.#closed = true;
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle !== undefined) this.#end(idle);
    const underWay = new Map(this.#busy);
    const ended = Promise.all(underWay.values());
    const wait = (over: AbortSignal) => unlessAborted(ended, over, () => {});
    await within(PATIENCE_MS, this.#clock, signal, wait);
    for (const admin of underWay.keys()) if (this.#busy.delete(admin)) this.#end(admin);
    await Promise.all(this.#ending);
  }

  async #ask<T>(
    idle: KafkajsAdmin | undefined,
    question: (admin: KafkajsAdmin) => Promise<T>,
  ): Promise<T> {
    const closed = closedError("ask Kafka", "the client is closed");
    if (this.#closed) throw closed;
    const admin = idle ?? this.#kafka.admin({ retry: RETRY });
    const over = Promise.withResolvers<void>();
    this.#busy.set(admin, over.promise);
    let answered = false;
    try {
      await admin.connect();
      if (!this.#busy.has(admin)) throw closed;
      const answer = await question(admin);
      answered = true;
      return answer;
    } catch (error) {
      throw this.#busy.has(admin) ? error : closed;
    } finally {
      // One that was disconnected meanwhile may have connected again behind that.
      const free = this.#busy.delete(admin) && answered && !this.#closed;
      if (free && this.#idle === undefined) this.#idle = admin;
      else this.#end(admin);
      over.resolve();
    }
  }

  #end(admin: KafkajsAdmin): void {
    const ended = admin.disconnect().catch(() => {}).finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/**
 * Counts the partitions of a topic. All topics at once would be one request, but that fails with any
 * one of the cluster that has no leader.
 *
 * @returns Undefined when it does not exist.
 * @throws {NotYetError} when no broker has an answer.
 */
export async function partitionsOf(
  admin: KafkajsAdmin,
  topic: string,
): Promise<number | undefined> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    // One that is quite new has none yet.
    return topics.find(({ name }) => name === topic)?.partitions.length || undefined;
  } catch (error) {
    if (isUnknownTopic(error)) return undefined;
    // The client swallows what every broker said, and stumbles over the answer that it does not have.
    if (!(error instanceof TypeError)) throw error;
    throw new NotYetError(`Cannot look for the topic '${topic}': no broker answers`, {
      cause: error,
    });
  }
}
