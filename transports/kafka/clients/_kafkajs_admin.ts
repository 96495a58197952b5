import { closedError } from "@bq/core/transport";
import { isUnknownTopic, NotYetError } from "../_errors.ts";
import type { KafkajsAdmin, KafkajsLike } from "./_kafkajs_like.ts";

/**
 * How the client itself asks again, under a second in all: it cannot get over a topic that is gone,
 * which a new one can.
 */
const RETRY = { initialRetryTime: 100, retries: 3 };

/**
 * The admin client of `kafkajs`, for one question at a time: whoever asks at the same time is answered
 * out of what it has just loaded for another topic. After an error a new one is made, because what it
 * remembers of the cluster may be why, and it keeps that for minutes.
 */
export class Questions {
  readonly #kafka: KafkajsLike;
  #turn: Promise<unknown> = Promise.resolve();
  #admin: KafkajsAdmin | undefined;
  #closed = false;

  /** @param kafka What makes clients. */
  constructor(kafka: KafkajsLike) {
    this.#kafka = kafka;
  }

  /** Asks, when those before have their answer. */
  ask<T>(question: (admin: KafkajsAdmin) => Promise<T>): Promise<T> {
    return this.#next(() => this.#ask(question));
  }

  /**
   * The same on a client that was asked nothing before: some questions look anew at every topic that
   * their client ever heard of, and fail with one that is gone.
   */
  askAnew<T>(question: (admin: KafkajsAdmin) => Promise<T>): Promise<T> {
    return this.#next(async () => {
      await this.#forget();
      return await this.#ask(question);
    });
  }

  #next<T>(ask: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(ask);
    this.#turn = answer.catch(() => {});
    return answer;
  }

  /** Questions are answered again. */
  open(): void {
    this.#closed = false;
  }

  /** Disconnects; what is asked later is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#forget();
  }

  async #ask<T>(question: (admin: KafkajsAdmin) => Promise<T>): Promise<T> {
    const closed = closedError("ask Kafka", "the client is closed");
    if (this.#closed) throw closed;
    const admin = this.#admin ??= this.#kafka.admin({ retry: RETRY });
    try {
      await admin.connect();
      // One that was disconnected while it connected is connected all the same.
      if (this.#closed) throw closed;
      return await question(admin);
    } catch (error) {
      if (this.#admin === admin) this.#admin = undefined;
      await admin.disconnect().catch(() => {});
      throw error;
    }
  }

  async #forget(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    await admin?.disconnect().catch(() => {});
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
