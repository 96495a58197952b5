import { asError } from "@bq/core/transport";
import { Acks } from "./_acks.ts";
import type { RabbitChannel, RabbitMessage } from "./client.ts";
import type { Link } from "./_link.ts";
import type { Queues } from "./_queues.ts";

/** Told of a channel that died, why, and whether its connection is still there. */
export type Died = (epoch: Epoch, cause: Error, alone: boolean) => void;

/**
 * The life of one channel that messages are received on. What came on it can be settled on it alone:
 * once it is dead the broker has taken everything back, and a settle would hit another message.
 */
export class Epoch {
  readonly channel: RabbitChannel;
  readonly #died: Died;
  readonly #acks: Acks;
  readonly #ended: AbortController = new AbortController();
  #error: Error | undefined;
  #dead = false;

  /**
   * @param channel The channel, just opened.
   * @param trouble Why its connection ended, for a channel that says nothing itself.
   * @param died Called once, unless the epoch was closed before.
   */
  constructor(channel: RabbitChannel, trouble: () => Error, died: Died) {
    this.channel = channel;
    this.#died = died;
    this.#acks = new Acks((message, upTo) => this.#try(() => channel.ack(message, upTo)));
    channel.on("error", (error: Error) => void (this.#error = asError(error)));
    channel.on("close", () => this.#end(this.#error ?? trouble(), this.#error !== undefined));
  }

  /** Whether nothing can be settled on it any more. */
  get dead(): boolean {
    return this.#dead;
  }

  /** Aborted when nothing that came on it needs to be settled any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Notes a message that came on it. */
  came(message: RabbitMessage): void {
    this.#acks.came(message);
  }

  /** Ends the waits for what is to be settled on it. */
  giveUp(): void {
    this.#ended.abort();
  }

  /** Acknowledges a message; false when it is too late. */
  ack(message: RabbitMessage): boolean {
    if (this.#dead) return false;
    this.#acks.add(message);
    return true;
  }

  /** Gives a message back; false when the broker has it already. */
  giveBack(message: RabbitMessage): boolean {
    this.#acks.settled(message);
    return this.#try(() => this.channel.nack(message, false, true));
  }

  /** Ends it because the broker does not serve it any more. */
  abandon(cause: Error): void {
    if (this.#dead) return;
    this.#acks.flush();
    this.#end(cause, true);
    void this.channel.close().catch(() => {});
  }

  /** Ends it in order: what was settled on it is, when this resolves; the rest goes back. */
  async close(): Promise<void> {
    if (this.#dead) return;
    this.#acks.flush();
    this.#dead = true;
    // The connection may be gone in this moment, which comes to the same.
    await this.channel.close().catch(() => {});
  }

  #try(use: () => void): boolean {
    if (this.#dead) return false;
    try {
      use();
      return true;
    } catch {
      // Closed, and its event is on the way.
      return false;
    }
  }

  #end(cause: Error, alone: boolean): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#ended.abort();
    this.#died(this, cause, alone);
  }
}

/** What an epoch is opened on. */
export interface EpochPlace {
  readonly link: Link;
  readonly queues: Queues;
  readonly queue: string;
}

/**
 * Opens a channel on a queue that was seen to.
 *
 * @throws what the client or the broker says, or why there is no connection.
 */
export async function openEpoch({ link, queues, queue }: EpochPlace, died: Died): Promise<Epoch> {
  const { connection } = link;
  if (connection === undefined) throw link.trouble;
  await queues.prepare({ queue });
  return new Epoch(await connection.createChannel(), () => link.trouble, died);
}
