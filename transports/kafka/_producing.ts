/**
 * Writes of one transport: one batch of a topic at a time, and everything that comes meanwhile is the
 * next batch. So the order is kept, and under load a request carries many records.
 */

import { closedError } from "@bq/core/transport";
import { isAboutARecord } from "./_errors.ts";
import type { KafkaClient, OutgoingRecord } from "./client.ts";

/** Most records of one batch. */
const LARGEST_BATCH = 500;
/** Most bytes of one batch; a broker refuses more than about a million for a partition. */
export const LARGEST_BATCH_BYTES: number = 900_000;
/** What a record costs beside its bytes. */
const RECORD_BYTES = 80;

/** Records that are written together. */
interface Waiting {
  readonly records: readonly OutgoingRecord[];
  readonly written: PromiseWithResolvers<void>;
  sent: boolean;
  /** Nobody waits for it any more. */
  over: boolean;
}

/** A write that was called off; `sent` says whether it was under way. */
export class CalledOffError extends Error {
  /** Whether it was under way. */
  readonly sent: boolean;

  /** @param sent Whether it was under way. */
  constructor(sent: boolean) {
    super(sent ? "no answer came in time" : "it was called off before it was sent");
    this.sent = sent;
  }
}

/** The writes of a transport. */
export class Producing {
  readonly #client: KafkaClient;
  readonly #topics: Map<string, Waiting[]> = new Map();
  readonly #running: Set<Promise<void>> = new Set();
  #ended: Error | undefined;

  /** @param client What writes. */
  constructor(client: KafkaClient) {
    this.#client = client;
  }

  /**
   * Writes records of one topic, in order.
   *
   * @param records The records.
   * @param signal Calls off what was not sent yet, and waits no longer for the rest.
   * @returns One promise a record.
   */
  write(records: readonly OutgoingRecord[], signal?: AbortSignal): Promise<void>[] {
    const all = records.map((record) => newWaiting([record]));
    const promises = all.map(({ written }) => written.promise);
    if (this.#ended !== undefined || signal?.aborted) {
      const error = this.#ended ?? new CalledOffError(false);
      for (const { written } of all) written.reject(error);
      return promises;
    }
    for (const waiting of all) this.#add(waiting);
    if (signal === undefined) return promises;
    const callOff = (): void => {
      for (const waiting of all) this.#callOff(waiting);
    };
    signal.addEventListener("abort", callOff, { once: true });
    let open = promises.length;
    const settled = (): void => {
      if (--open === 0) signal.removeEventListener("abort", callOff);
    };
    for (const promise of promises) promise.then(settled, settled);
    return promises;
  }

  /**
   * Writes records of one topic in one request, and never some of them alone: after a refusal, what
   * comes next is the caller's to say.
   *
   * @param records The records.
   */
  async writeTogether(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    const waiting = newWaiting(records);
    this.#add(waiting);
    await waiting.written.promise;
  }

  /** Waits for what is under way. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Refuses everything from now on, and what waits. */
  end(): void {
    this.#ended = closedError("write to Kafka", "the transport is closed");
    for (const waiting of this.#topics.values()) {
      for (const { written } of waiting.splice(0)) written.reject(this.#ended);
    }
  }

  #add(waiting: Waiting): void {
    const topic = topicOf(waiting);
    const queue = this.#topics.get(topic);
    if (queue !== undefined) return void queue.push(waiting);
    const started = [waiting];
    this.#topics.set(topic, started);
    const run = this.#run(topic, started).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  #callOff(waiting: Waiting): void {
    waiting.over = true;
    const queue = this.#topics.get(topicOf(waiting)) ?? [];
    if (queue.includes(waiting)) queue.splice(queue.indexOf(waiting), 1);
    waiting.written.reject(new CalledOffError(waiting.sent));
  }

  async #run(topic: string, queue: Waiting[]): Promise<void> {
    // What is written in the same turn goes out together.
    await Promise.resolve();
    while (queue.length > 0) await this.#send(nextBatch(queue));
    this.#topics.delete(topic);
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    if (this.#ended !== undefined) {
      for (const { written } of batch) written.reject(this.#ended);
      return;
    }
    for (const waiting of batch) waiting.sent = true;
    try {
      await this.#client.send(batch.flatMap(({ records }) => records));
      for (const { written } of batch) written.resolve();
    } catch (error) {
      // One record may be the reason that all were refused.
      if (batch.length > 1 && isAboutARecord(error)) {
        for (const one of batch) if (!one.over) await this.#send([one]);
      } else for (const { written } of batch) written.reject(error);
    }
  }
}

function newWaiting(records: readonly OutgoingRecord[]): Waiting {
  return { records, written: Promise.withResolvers(), sent: false, over: false };
}

function topicOf({ records }: Waiting): string {
  return records[0]!.topic;
}

function nextBatch(queue: Waiting[]): Waiting[] {
  let count = 0;
  let bytes = 0;
  let units = 0;
  for (const { records } of queue) {
    bytes += records.reduce((sum, record) => sum + sizeOf(record), 0);
    count += records.length;
    if (units > 0 && (bytes > LARGEST_BATCH_BYTES || count > LARGEST_BATCH)) break;
    units++;
  }
  return queue.splice(0, units);
}

/** About how many bytes a record takes on the way. */
export function sizeOf({ value, key, headers }: OutgoingRecord): number {
  const sides = headers.reduce(
    (sum, [name, text]) => sum + 2 * name.length + (text?.length ?? 0),
    0,
  );
  return RECORD_BYTES + (value?.length ?? 0) + (key?.length ?? 0) + sides;
}
