import { closedError } from "@bq/core/transport";
import { isUnknownTopic, NotYetError } from "../_errors.ts";
import type { KafkajsAdmin, KafkajsLike } from "./_kafkajs_like.ts";

/**
 * How the client itself asks again, under a second in all: it cannot get over a topic that is gone,
 * which a new one can.
 */
const RETRY = { initialRetryTime: 100, retries: 3 };

/**
 * Admin clients of `kafkajs`, each for one question at a time: whoever asks it at the same time is
 * answered out of what it has just loaded for another topic. One is kept for the next question, unless
 * it met an error: what it remembers of the cluster may be why, and it keeps that for minutes.
 */
export class Questions {
  readonly #kafka: KafkajsLike;
  readonly #busy: Set<KafkajsAdmin> = new Set();
  readonly #ending: Set<Promise<void>> = new Set();
  #idle: KafkajsAdmin | undefined;
  #closed = false;

  /** @param kafka What makes clients. */
  constructor(kafka: KafkajsLike) {
    this.#kafka = kafka;
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

  /** Disconnects; what is asked later is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#busy, ...(this.#idle === undefined ? [] : [this.#idle])];
    this.#busy.clear();
    this.#idle = undefined;
    for (const admin of all) this.#end(admin);
    await Promise.all(this.#ending);
  }

  async #ask<T>(
    idle: KafkajsAdmin | undefined,
    question: (admin: KafkajsAdmin) => Promise<T>,
  ): Promise<T> {
    const closed = closedError("ask Kafka", "the client is closed");
    if (this.#closed) throw closed;
    const admin = idle ?? this.#kafka.admin({ retry: RETRY });
    this.#busy.add(admin);
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
      const free = this.#busy.delete(admin) && answered && this.#idle === undefined;
      if (free) this.#idle = admin;
      else this.#end(admin);
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
