/**
 * A bench to try one queue on: the transport with a clock that stands where it is put, and the keys as
 * they are on the server.
 *
 * @module
 */

import { type Delivery, type Subscription, systemClock, type Transport } from "@bq/core";
import { legacyKeys, redis, type RedisOptions, type RedisTransport, zsetKeys } from "@bq/redis";
import { RespClient } from "../brokers/mod.ts";

/** A name that no other test uses. */
export function freshQueue(): string {
  return `q-${crypto.randomUUID()}`;
}

/** Random bytes, as the App gives them to a transport. */
export function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** A member of a sorted set. */
export interface Scored {
  readonly member: string;
  readonly score: number;
}

/** The keys of a queue; bodies as Latin-1 text, so that no byte is lost. */
export interface KeyState {
  readonly ready?: readonly string[];
  readonly processing?: readonly string[];
  readonly delayed?: readonly Scored[];
  readonly reserved?: readonly Scored[];
  readonly deadlines?: readonly Scored[];
  readonly notify?: number;
}

/** What a lab is set up with. */
export interface LabOptions extends RedisOptions {
  readonly layout: "legacy" | "zset";
  /** Random bytes for tokens. */
  readonly bytes?: (length: number) => Uint8Array;
  /** Name of the queue; a fresh one by default. */
  readonly queue?: string;
}

/** One queue under the magnifying glass. */
export class Lab {
  readonly queue: string;
  readonly server: RespClient;
  readonly transport: RedisTransport;
  readonly options: LabOptions;
  /** Where the clock stands, in seconds. */
  now = 1_760_000_000;
  readonly #client: RespClient;
  readonly #intake: AbortController = new AbortController();
  #subscription: Subscription | undefined;

  private constructor(server: RespClient, client: RespClient, options: LabOptions) {
    const { bytes: _, queue = freshQueue(), ...rest } = options;
    this.queue = queue;
    this.server = server;
    this.#client = client;
    this.options = options;
    this.transport = redis({
      ...rest,
      client: { call: (args) => client.call(...args) as never },
    });
  }

  /** Sets one up on a server. */
  static async open(port: number, options: LabOptions): Promise<Lab> {
    const server = await RespClient.connect(port);
    const lab = new Lab(server, await RespClient.connect(port), options);
    await lab.transport.open({
      clock: lab.clock,
      random: () => 0,
      bytes: options.bytes ?? randomBytes,
      emit: () => {},
    });
    return lab;
  }

  /** The clock that the transport sees. */
  get clock(): Parameters<Transport["open"]>[0]["clock"] {
    return { ...systemClock, now: () => this.now * 1_000 };
  }

  /** Names of the keys. */
  get keys(): Readonly<Record<string, string>> {
    return this.options.layout === "zset"
      ? { ...zsetKeys(this.queue, this.options.prefix) }
      : { ...legacyKeys(this.queue, this.options.processingSuffix) };
  }

  /** The dead-letter list. */
  get deadLetterKey(): string {
    const name = `${this.queue}.dlq`;
    return this.options.layout === "zset" ? zsetKeys(name, this.options.prefix).ready : name;
  }

  /** The subscription, made when it is first used. */
  async subscription(): Promise<Subscription> {
    return this.#subscription ??= await this.transport.subscribe(this.queue, {
      prefetch: 10,
      intake: this.#intake.signal,
      lost: () => {},
    });
  }

  /** Reserves what is there. */
  async reserve(max = 1): Promise<readonly Delivery[]> {
    return await (await this.subscription()).receive(max, 0);
  }

  /** Reserves one message, which has to be there. */
  async reserveOne(): Promise<Delivery> {
    const [delivery] = await this.reserve();
    if (delivery === undefined) throw new Error(`Cannot reserve from '${this.queue}': it is empty`);
    return delivery;
  }

  /** Brings back what is due, and reserves nothing. */
  async migrate(): Promise<void> {
    const { signal } = new AbortController();
    const options = { prefetch: 1, intake: signal, lost: () => {}, snapshot: true };
    await (await this.transport.subscribe(this.queue, options)).close();
  }

  /** Makes the keys what they are to be. */
  async put(state: KeyState): Promise<void> {
    const { server, keys } = this;
    await server.call("DEL", ...Object.values(keys));
    for (const place of ["ready", "processing"] as const) {
      for (const member of state[place] ?? []) {
        await server.call("RPUSH", keys[place]!, latin(member));
      }
    }
    for (const place of ["delayed", "reserved", "deadlines"] as const) {
      for (const { member, score } of state[place] ?? []) {
        await server.call("ZADD", keys[place]!, scoreText(score), latin(member));
      }
    }
    for (let n = 0; n < (state.notify ?? 0); n++) await server.call("RPUSH", keys["notify"]!, "1");
  }

  /** The keys as they are. */
  async look(): Promise<Required<KeyState>> {
    const { keys } = this;
    return {
      ready: await this.list(keys["ready"]),
      processing: await this.list(keys["processing"]),
      delayed: await this.#scored(keys["delayed"]),
      reserved: await this.#scored(keys["reserved"]),
      deadlines: await this.#scored(keys["deadlines"]),
      notify: keys["notify"] === undefined
        ? 0
        : await this.server.call("LLEN", keys["notify"]) as number,
    };
  }

  /** A list, as Latin-1 text. */
  async list(key: string | undefined): Promise<string[]> {
    if (key === undefined) return [];
    return (await this.server.call("LRANGE", key, 0, -1) as Uint8Array[]).map(text);
  }

  /** The records on the dead-letter list. */
  records(): Promise<string[]> {
    return this.list(this.deadLetterKey);
  }

  /** Clears everything away. */
  async close(): Promise<void> {
    await this.transport.close();
    await this.server.call("DEL", ...Object.values(this.keys), this.deadLetterKey);
    await this.server.call("DEL", `${this.deadLetterKey}:notify`);
    await this.#client.close();
    await this.server.close();
  }

  async #scored(key: string | undefined): Promise<Scored[]> {
    if (key === undefined) return [];
    const answer = await this.server.call("ZRANGE", key, 0, -1, "WITHSCORES") as Uint8Array[];
    return Array.from({ length: answer.length / 2 }, (_, at) => ({
      member: text(answer[2 * at]!),
      score: scoreOf(text(answer[2 * at + 1]!)),
    }));
  }
}

/** The bytes of a Latin-1 text. */
export function latin(value: string): Uint8Array {
  return Uint8Array.from(value, (character) => character.charCodeAt(0));
}

/** Bytes as Latin-1 text. */
export function text(bytes: Uint8Array): string {
  let value = "";
  for (const byte of bytes) value += String.fromCharCode(byte);
  return value;
}

/** UTF-8 text as Latin-1 text, as the lab shows it. */
export function utf8(value: string): string {
  return text(new TextEncoder().encode(value));
}

function scoreText(score: number): string {
  return score === Infinity ? "+inf" : String(score);
}

function scoreOf(value: string): number {
  return value === "inf" ? Infinity : Number(value);
}
