/**
 * One queue of one test, seen from both sides: transports and Apps of ours, and another client.
 *
 * @module
 */

import { BabelQueue, type BabelQueueOptions, type Delivery } from "@bq/core";
import { artemis, type ArtemisOptions, type ArtemisTransport } from "@bq/artemis";
import { type Recorder, recorder } from "@bq/core/testing";
import type { Subscription, TransportContext } from "@bq/core/transport";
import { freshQueue, opened } from "./harness.ts";
import { type NativeMessage, Peer } from "./peer.ts";

/** An App, and what it told. */
export interface LabApp {
  readonly bq: BabelQueue;
  readonly seen: Recorder;
}

/** The text of a body. */
export function text(body: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
}

/** The bytes of a body. */
export function bytes(body: string): Uint8Array {
  return new TextEncoder().encode(body);
}

/** The body of a native message as text. */
export function nativeText({ body }: NativeMessage): string {
  if (typeof body === "string") return body;
  const { content } = body as { content: Uint8Array };
  return Buffer.from(content).toString("latin1");
}

/** Everything that one test uses; whatever is made here is closed at its end. */
export class Lab {
  readonly url: string;
  readonly peer: Peer;
  /** A queue that nothing was ever sent to. */
  readonly queue: string = freshQueue();
  readonly #closing: (() => Promise<unknown>)[] = [];

  private constructor(url: string, peer: Peer) {
    this.url = url;
    this.peer = peer;
  }

  /** Opens one on a broker that wants no password. */
  static async open(url: string): Promise<Lab> {
    return new Lab(url, await Peer.connect(Number(new URL(url.replace(/^artemis/, "http")).port)));
  }

  /** The dead-letter queue of its queue. */
  get dead(): string {
    return `${this.queue}.dlq`;
  }

  /** An open transport. */
  async transport(
    options: ArtemisOptions = {},
    context: Partial<TransportContext> = {},
  ): Promise<ArtemisTransport> {
    const transport = await opened({
      ...(options.connection === undefined ? { url: this.url } : {}),
      ...options,
    }, context);
    this.#closing.push(() => transport.close());
    return transport;
  }

  /** A subscription to its queue. */
  async subscribe(
    transport: ArtemisTransport,
    lost: (delivery: Delivery, cause: Error) => void = () => {},
  ): Promise<Subscription> {
    const { signal } = new AbortController();
    return await transport.subscribe(this.queue, { prefetch: 10, intake: signal, lost });
  }

  /** An App on its queue. */
  app(options: BabelQueueOptions = {}, transport: ArtemisTransport = artemis(this.url)): LabApp {
    const seen = recorder();
    const bq = new BabelQueue(transport, { queue: this.queue, onEvent: seen, ...options });
    this.#closing.push(() => bq.close());
    return { bq, seen };
  }

  /** Ends the session of the one consumer of its queue, or that consumer's whole connection. */
  async cutConsumer(what: "session" | "connection"): Promise<void> {
    const answer = await this.peer.manage(`queue.${this.queue}`, "listConsumersAsJSON");
    const [{ connectionID, sessionID }] = JSON.parse(JSON.parse(String(answer))[0]);
    await (what === "session"
      ? this.peer.manage("broker", "closeSessionWithID", connectionID, sessionID, true)
      : this.peer.manage("broker", "closeConnectionWithID", connectionID));
  }

  /** Makes writes to the dead-letter queue fail: the broker may not create it. */
  async forbidDead(): Promise<void> {
    const settings = JSON.stringify({ autoCreateQueues: false, autoCreateAddresses: false });
    await this.peer.manage("broker", "addAddressSettings", this.dead, settings);
  }

  /** Makes writes to its queue fail, and nothing else: everybody may only receive from it. */
  async forbidSending(): Promise<void> {
    const [nobody, everybody] = ["nobody", "amq"];
    const others = Array.from({ length: 6 }, () => everybody);
    await this.peer.manage("broker", "addSecuritySettings", this.queue, nobody, ...others);
  }

  /** Closes everything, the last first. */
  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    await this.peer.close();
  }
}

/** Runs a test in a lab of its own. */
export async function inLab(url: string, work: (lab: Lab) => Promise<void>): Promise<void> {
  const lab = await Lab.open(url);
  try {
    await work(lab);
  } finally {
    await lab.close();
  }
}
