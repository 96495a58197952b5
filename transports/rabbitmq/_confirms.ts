import { Buffer } from "node:buffer";
import { asError, type PublishOutcome } from "@bq/core/transport";
import { Batch, type Entry, failed, type Letter, uncertain } from "./_batch.ts";
import type { RabbitConfirmChannel, RabbitMessage } from "./client.ts";
import { connectionError, isClosedUse } from "./_errors.ts";
import type { Link } from "./_link.ts";
import type { Queues } from "./_queues.ts";
import { headerTrouble, lighterProperties } from "./_unwritable.ts";

/** Most bytes of bodies that are unconfirmed at a time. */
const LARGEST_WINDOW_BYTES = 16 * 1_048_576;

/** Entries of the line that have gone, after which it is shortened. */
const LONGEST_TRACE = 4_096;

/** Connections that may be lost while one letter's way is prepared, before that counts as its fault. */
const MOST_TRIES = 5;

const CLOSED = "the transport is closed";

/** What publishing works with. */
export interface ConfirmsSetup {
  readonly link: Link;
  readonly queues: Queues;
  /** Most letters that are unconfirmed at a time. */
  readonly window: number;
  /** Told when the native headers of a message could not be written and were left out. */
  headersLost(queue: string, error: Error): void;
}

/**
 * Publishes on one channel, in the order of the calls, with a bounded window of letters that the broker
 * has not confirmed. While it takes none (no connection, or short of memory) they wait in line, each as
 * long as its caller does. Contract: Q9.
 */
export class Confirms {
  readonly #setup: ConfirmsSetup;
  /** Not sent yet, the first one at `#next`. */
  #line: Entry[] = [];
  #next = 0;
  readonly #sent: Set<Entry> = new Set();
  #bytes = 0;
  #channel: RabbitConfirmChannel | undefined;
  /** Why the broker ended the channel, and the letter that was the only one it can have been about. */
  #channelError: Error | undefined;
  #blamed: Entry | undefined;
  #pumping = false;
  #wake: () => void = () => {};
  #closed = false;

  /** @param setup What it works with. */
  constructor(setup: ConfirmsSetup) {
    this.#setup = setup;
    setup.link.watch(() => this.#changed());
  }

  /**
   * Publishes in order; behind one that was not confirmed nothing more of the same call is sent. It
   * never rejects.
   *
   * @param queue Where they go, for messages.
   * @param letters What is published.
   * @param signal Ends the wait.
   */
  async publish(
    queue: string,
    letters: readonly Letter[],
    signal?: AbortSignal,
  ): Promise<readonly PublishOutcome[]> {
    const batch = new Batch(queue, letters);
    const abort = (): void => {
      batch.callOff(this.#closed ? CLOSED : this.#late());
      this.#changed();
    };
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted || this.#closed) abort();
    // A call takes fewer arguments than a batch may have letters.
    for (const entry of batch.entries) this.#line.push(entry);
    void this.#pump();
    const outcomes = await batch.outcomes;
    signal?.removeEventListener("abort", abort);
    return outcomes;
  }

  /** Ends everything; does not wait for the broker. */
  close(): void {
    this.#closed = true;
    const batches = new Set([...this.#sent, ...this.#line].map(({ batch }) => batch));
    for (const batch of batches) batch.callOff(CLOSED);
    this.#changed();
    const channel = this.#channel;
    this.#channel = undefined;
    // The connection is closed next; a channel of one that was given would stay.
    channel?.close().catch(() => {});
  }

  #changed(): void {
    this.#wake();
  }

  /** Sends what is in line, as far as it can be sent; the first steps in the tick of the call. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    const { link, queues } = this.#setup;
    for (let entry = this.#head(); entry !== undefined; entry = this.#head()) {
      const { failure } = entry.batch;
      // What comes behind a message that is not there would overtake it.
      if (failure !== undefined && entry.state === "waiting") {
        entry.end({ status: "failed", error: failure });
      }
      if (entry.state === "ended") this.#next++;
      else if (link.blocked !== undefined || this.#isFull(entry)) await this.#waitForChange();
      else if (this.#channel === undefined || !queues.ready(entry.letter.place)) {
        await this.#prepare(entry);
      } else {
        this.#next++;
        this.#send(this.#channel, entry);
      }
    }
    this.#pumping = false;
  }

  /** Why a letter was not sent in its time. */
  #late(): string {
    const { link } = this.#setup;
    const late = "its time is over";
    if (link.blocked !== undefined) return `${late}: the broker takes none now, ${link.blocked}`;
    return link.connection === undefined ? `${late}: ${link.trouble.message}` : late;
  }

  #head(): Entry | undefined {
    const entry = this.#line[this.#next];
    if (entry === undefined || this.#next >= LONGEST_TRACE) {
      this.#line = this.#line.slice(this.#next);
      this.#next = 0;
    }
    return entry;
  }

  #isFull({ letter: { body } }: Entry): boolean {
    if (this.#sent.size === 0) return false;
    return this.#sent.size >= this.#setup.window ||
      this.#bytes + body.length > LARGEST_WINDOW_BYTES;
  }

  #waitForChange(): Promise<void> {
    return new Promise((resolve) => this.#wake = resolve);
  }

  /** Sees to the channel and the queue, or waits until there is a connection. */
  async #prepare(entry: Entry): Promise<void> {
    const { link, queues } = this.#setup;
    const { connection } = link;
    const { place } = entry.letter;
    try {
      if (connection === undefined) {
        if (link.lost) throw link.trouble;
        return await this.#waitForChange();
      }
      await queues.prepare(place);
      if (this.#channel === undefined) this.#adopt(await connection.createConfirmChannel());
    } catch (error) {
      const trouble = connectionError(`publish to '${place.queue}'`, link.explain(error));
      // A connection that was lost meanwhile is waited for; any other trouble is this letter's.
      const passed = connection !== link.connection && ++entry.tries < MOST_TRIES;
      if (trouble.fatal || link.lost || !passed) entry.end(failed(place.queue, trouble));
    }
  }

  #adopt(channel: RabbitConfirmChannel): void {
    this.#channelError = undefined;
    channel.on("error", (error: Error) => {
      this.#channelError = error;
      this.#blamed = this.#sent.size === 1 ? [...this.#sent][0] : undefined;
    });
    channel.on("return", (message: RabbitMessage) => this.#returned(message));
    channel.on("close", () => {
      if (this.#channel === channel) this.#channel = undefined;
      this.#changed();
    });
    if (this.#closed) void channel.close().catch(() => {});
    else this.#channel = channel;
  }

  #send(channel: RabbitConfirmChannel, entry: Entry): void {
    try {
      this.#write(channel, entry, entry.letter.properties);
    } catch (error) {
      if (isClosedUse(error)) return this.#refused(channel, entry);
      this.#withoutHeaders(channel, entry, asError(error));
    }
  }

  #write(channel: RabbitConfirmChannel, entry: Entry, properties: object): void {
    const { exchange, routingKey, body } = entry.letter;
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    // An exchange that delays finds no queue at once, whether there is one or not.
    const mandatory = exchange === "";
    channel.publish(
      exchange,
      routingKey,
      content,
      { ...properties, mandatory },
      (error) => this.#answered(entry, error),
    );
    entry.state = "sent";
    this.#sent.add(entry);
    this.#bytes += body.length;
  }

  /** The channel is closed and its event is on the way: the letter is the first of the next one. */
  #refused(channel: RabbitConfirmChannel, entry: Entry): void {
    if (this.#channel === channel) this.#channel = undefined;
    if (entry.again) return entry.end(failed(entry.letter.place.queue, new Error("no channel")));
    entry.again = true;
    this.#line[--this.#next] = entry;
  }

  /** What came with headers that this client cannot write again must not stay for ever because of them. */
  #withoutHeaders(channel: RabbitConfirmChannel, entry: Entry, problem: Error): void {
    const { properties, place, continues } = entry.letter;
    const why = headerTrouble(properties) ?? problem;
    let last = why;
    for (const lighter of continues ? lighterProperties(properties) : []) {
      try {
        this.#write(channel, entry, lighter);
        return this.#setup.headersLost(place.queue, why);
      } catch (error) {
        last = asError(error);
      }
    }
    entry.end(failed(place.queue, last));
  }

  /**
   * A message that no queue took comes back before its confirmation, without its number. Where it was
   * sent to and what is in it tell which one it is; of equal ones each is as good as the other.
   */
  #returned({ fields, content }: RabbitMessage): void {
    for (const entry of this.#sent) {
      const { letter, returned } = entry;
      if (returned !== undefined || letter.routingKey !== fields.routingKey) continue;
      if (Buffer.compare(letter.body, content) !== 0) continue;
      entry.returned = `no queue took it (${fields.replyCode} ${fields.replyText})`;
      return;
    }
  }

  #answered(entry: Entry, error: Error | null): void {
    const { letter, returned } = entry;
    const { queue } = letter.place;
    this.#sent.delete(entry);
    this.#bytes -= letter.body.length;
    if (returned !== undefined) this.#noRoute(entry, returned);
    else if (error === null) entry.end({ status: "confirmed" });
    else if (/nacked/.test(error.message)) {
      entry.end(failed(queue, new Error("the broker refused it, for instance for a full queue")));
    } else {
      const why = this.#channelError ?? this.#setup.link.trouble;
      // Of several the broker does not say which one it did not take.
      entry.end(this.#blamed === entry ? failed(queue, why) : uncertain(queue, why));
    }
    this.#changed();
  }

  /** The queue was deleted since it was seen to: once, it is seen to again. */
  #noRoute(entry: Entry, why: string): void {
    const { place, routingKey } = entry.letter;
    entry.returned = undefined;
    this.#setup.queues.forget(routingKey);
    this.#setup.queues.forget(place.queue);
    if (entry.again || entry.state === "ended") {
      return entry.end(failed(place.queue, new Error(why)));
    }
    entry.again = true;
    entry.state = "waiting";
    if (this.#next > 0) this.#line[--this.#next] = entry;
    else this.#line.unshift(entry);
    void this.#pump();
  }
}
