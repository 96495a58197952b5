/** A look at RabbitMQ beside the transport, with bare amqplib. */

import amqp from "amqplib";
import type { Channel, ChannelModel, GetMessage } from "amqplib";
import { Buffer } from "node:buffer";
import { delayQueueOf, DELAYS_MS } from "@bq/rabbitmq";

/** A name that no other test uses. */
export function freshQueue(): string {
  return `q-${crypto.randomUUID()}`;
}

/** A connection, and a channel on it that is used for everything that cannot end one. */
interface Line {
  readonly connection: ChannelModel;
  readonly channel: Channel;
  dead: boolean;
}

/** What an admin does at its end. */
export interface AdminOptions {
  /**
   * Leaves the queues that it made where they are.
   *
   * @default {false}
   */
  readonly keep?: boolean;
}

/** One connection for looking and preparing; a lost one is opened again. */
export class Admin {
  readonly #url: string;
  readonly #keep: boolean;
  readonly #made: Set<string> = new Set();
  #line: Promise<Line>;

  private constructor(url: string, { keep = false }: AdminOptions) {
    this.#url = url;
    this.#keep = keep;
    this.#line = this.#connect();
  }

  /** Connects. */
  static async open(url: string, options: AdminOptions = {}): Promise<Admin> {
    const admin = new Admin(url, options);
    await admin.#line;
    return admin;
  }

  /** Opens a channel. */
  async channel(): Promise<Channel> {
    return await (await this.#open()).connection.createChannel();
  }

  async #connect(): Promise<Line> {
    const connection = await amqp.connect(this.#url, { noDelay: true });
    connection.on("error", () => {});
    const channel = await connection.createChannel();
    channel.on("error", () => {});
    const line: Line = { connection, channel, dead: false };
    channel.on("close", () => line.dead = true);
    return line;
  }

  async #open(): Promise<Line> {
    if ((await this.#line).dead) this.#line = this.#connect();
    return await this.#line;
  }

  /** A name for a queue that is deleted in the end, with its dead-letter queue and delay queues. */
  queue(): string {
    const queue = freshQueue();
    this.#made.add(queue);
    return queue;
  }

  /** Declares a queue. */
  async declare(queue: string, args: Record<string, unknown> = {}): Promise<void> {
    this.#made.add(queue);
    await (await this.#open()).channel.assertQueue(queue, { durable: true, arguments: args });
  }

  /** Deletes a queue. */
  async delete(queue: string): Promise<void> {
    await (await this.#open()).channel.deleteQueue(queue);
  }

  /** Publishes a body with any properties, and waits until the broker has it. */
  async put(queue: string, body: Uint8Array | string, properties: object = {}): Promise<void> {
    const channel = await (await this.#open()).connection.createConfirmChannel();
    channel.sendToQueue(queue, Buffer.from(body), properties);
    await channel.waitForConfirms();
    await channel.close();
  }

  /** Takes a message off a queue; fails when there is none. */
  async take(queue: string): Promise<GetMessage> {
    const message = await (await this.#open()).channel.get(queue, { noAck: true });
    if (message === false) throw new Error(`Cannot take a message from '${queue}': it is empty`);
    return message;
  }

  /** Messages that wait in a queue; null when there is no such queue. */
  async count(queue: string): Promise<number | null> {
    const channel = await this.channel();
    let dead = false;
    channel.on("error", () => dead = true);
    try {
      const { messageCount } = await channel.checkQueue(queue);
      return messageCount;
    } catch (error) {
      if ((error as { code?: number }).code !== 404) throw error;
      return null;
    } finally {
      if (!dead) await channel.close();
    }
  }

  /** Whether the broker takes this declaration of an existing queue as the same. */
  async matches(queue: string, options: object): Promise<boolean> {
    const channel = await this.channel();
    let dead = false;
    channel.on("error", () => dead = true);
    try {
      await channel.assertQueue(queue, options);
      return true;
    } catch {
      return false;
    } finally {
      if (!dead) await channel.close();
    }
  }

  /** Deletes what was made, and disconnects. */
  async close(): Promise<void> {
    for (const queue of this.#keep ? [] : this.#made) {
      await this.delete(queue);
      await this.delete(`${queue}.dlq`);
      for (const ms of DELAYS_MS) await this.delete(delayQueueOf(queue, ms));
    }
    await (await this.#open()).connection.close();
  }
}
