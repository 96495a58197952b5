/**
 * Another implementation of the contract, as a child process that answers one line for each line.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { childEnvironment } from "../brokers/_shell.ts";

/** A message that a peer's handler got. */
export interface PeerHandled {
  /** `meta.id`. */
  readonly id: string | null;
  readonly urn: string;
  readonly data: { readonly [name: string]: unknown };
  /** What the peer tells its handler: Laravel counts from 1, the Python SDK shows the body's count. */
  readonly attempts: number;
  readonly traceId: string | null;
  /** Foreign headers; only where the layout carries them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a peer's worker did. */
export interface PeerWork {
  /** Deliveries in all. */
  readonly taken: number;
  /** Deliveries that its handler failed. */
  readonly failed: number;
  readonly handled: readonly PeerHandled[];
}

/** What a peer took from a queue and has not settled. */
export interface PeerReservation {
  /** Number for `ack` and `release`; null when there was nothing to take. */
  readonly reservation: number | null;
  /** The raw body, in base64. */
  readonly body: string;
  /** What is stored of the reservation, in base64. */
  readonly reserved?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a peer publishes. Times are seconds. */
export interface PeerPublish {
  readonly queue: string;
  readonly job: string;
  readonly data: object;
  readonly traceId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delay?: number;
}

/** How long a peer's own worker works, and how its handler behaves. Times are seconds. */
export interface PeerWorkOptions {
  readonly queue: string;
  /** URNs that have a handler. */
  readonly urns: readonly string[];
  /** Deliveries after which it ends. */
  readonly count?: number;
  /** Time without a delivery after which it ends. */
  readonly idle?: number;
  /** URN of the message that ends it. */
  readonly stop?: string;
  /** The first so many handler calls throw. */
  readonly fail?: number;
  /** First deliveries whose `n` is a multiple of it throw. */
  readonly failEvery?: number;
  readonly tries?: number;
  readonly retryAfter?: number;
}

/** A running peer. */
export class Peer {
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #waiting: { resolve(answer: unknown): void; reject(error: Error): void }[] = [];
  #errors = "";

  private constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    const [program = "", ...args] = command;
    this.#child = spawn(program, args, { env: childEnvironment(env), stdio: "pipe" });
    const fail = (): void => {
      for (const { reject } of this.#waiting.splice(0)) {
        reject(new Error(`Cannot ask '${program}': it ended and wrote ${this.#errors}`));
      }
    };
    this.#closed = new Promise((resolve) => {
      this.#child.on("error", (error) => (this.#errors += error.message, fail(), resolve()));
      this.#child.on("close", () => (fail(), resolve()));
    });
    this.#child.stdin?.on("error", () => {}); // its end is reported by "close"
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#errors += text);
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#waiting.shift()?.resolve(JSON.parse(line));
    });
  }

  /** Starts a peer and waits until it is ready. */
  static async start(
    command: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Peer> {
    const peer = new Peer(command, env);
    await peer.#answer();
    return peer;
  }

  /** Publishes through the peer's own publisher; gives `meta.id`. */
  async publish(message: PeerPublish): Promise<string> {
    return (await this.#ask<{ id: string }>("publish", message)).id;
  }

  /** Publishes bytes as they are. */
  async publishRaw(queue: string, body: Uint8Array): Promise<void> {
    await this.#ask("publishRaw", { queue, body: Buffer.from(body).toString("base64") });
  }

  /** Takes one message and leaves it unsettled. */
  async pop(queue: string, retryAfter: number = 90): Promise<PeerReservation> {
    return await this.#ask("pop", { queue, retryAfter });
  }

  /** Acknowledges what `pop` took. */
  async ack({ reservation }: PeerReservation): Promise<void> {
    await this.#ask("ack", { reservation });
  }

  /**
   * Acknowledges a reservation that somebody else made.
   *
   * @param queue The queue.
   * @param body The raw body.
   * @param stored What is stored of the reservation.
   */
  async ackStored(queue: string, body: Uint8Array, stored: string): Promise<void> {
    await this.#ask("ackStored", {
      queue,
      body: Buffer.from(body).toString("base64"),
      stored: Buffer.from(stored).toString("base64"),
    });
  }

  /** Puts back what `pop` took, as after a failure; the delay is in seconds. */
  async release({ reservation }: PeerReservation, delay: number = 0): Promise<void> {
    await this.#ask("release", { reservation, delay });
  }

  /** Runs the peer's own worker. */
  async work(options: PeerWorkOptions): Promise<PeerWork> {
    return await this.#ask("work", options);
  }

  /** Runs the peer's re-injector for a queue on Kafka until it has forwarded so many records. */
  async reinject(queue: string, group: string, count: number): Promise<number> {
    return (await this.#ask<{ done: number }>("reinject", { queue, group, count })).done;
  }

  /** Ends it and waits for its end. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#closed;
  }

  /** Kills it and waits for its end. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }

  async #ask<Answer>(op: string, request: object): Promise<Answer> {
    this.#child.stdin?.write(`${JSON.stringify({ op, ...request })}\n`);
    const answer = await this.#answer() as Answer & { error?: string };
    if (answer.error !== undefined) throw new Error(`Cannot '${op}' in the peer: ${answer.error}`);
    return answer;
  }

  #answer(): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}
