/** Both sides of an exchange: ours on the transport, and a look at the server between them. */

import assert from "node:assert/strict";
import {
  BabelQueue,
  type BabelQueueOptions,
  type Delivery,
  type Transport,
  type Verdict,
} from "@bq/core";
import { legacyKeys, redis, zsetKeys } from "@bq/redis";
import { LEGACY_WORK } from "../../transports/redis/_lua_legacy.ts";
import { ZSET_WORK } from "../../transports/redis/_lua_zset.ts";
import { context } from "../_context.ts";
import { RespClient } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { type Handled, URN } from "./_messages.ts";

/** How messages lie in Redis. */
export type Layout = "legacy" | "zset";

/** What our handler got, and when. */
export interface HandledAt extends Handled {
  readonly headers: Readonly<Record<string, string>>;
  /** When, in Unix milliseconds. */
  readonly at: number;
}

/** What our worker did. */
export interface Worked {
  readonly handled: readonly HandledAt[];
  readonly failed: number;
}

/** What our worker is to do. */
export interface WorkOptions extends BabelQueueOptions {
  /** Deliveries after which it ends. */
  readonly count?: number;
  /** The first so many handler calls throw. */
  readonly fail?: number;
  /** URNs with a handler, beside {@linkcode URN}. */
  readonly urns?: readonly string[];
}

/** A delivery that we took and have not settled. Its lease is not extended. */
export interface Held {
  readonly delivery: Delivery;
  settle(verdict: Verdict): Promise<"settled" | "expired">;
  close(): Promise<void>;
}

/** Our side on one server, in one layout. */
export class Ours {
  readonly #port: number;
  readonly layout: Layout;

  constructor(port: number, layout: Layout) {
    this.#port = port;
    this.layout = layout;
  }

  /** A transport; reservations end after `retryAfter` seconds. */
  transport(retryAfter: number = 90): Transport {
    const query = new URLSearchParams({ retry_after: `${retryAfter}` });
    if (this.layout === "zset") query.set("laravel", "1");
    return redis(`redis://127.0.0.1:${this.#port}/0?${query}`);
  }

  /** Uses an App and closes it. */
  async withApp<T>(use: (bq: BabelQueue) => Promise<T>, options: BabelQueueOptions): Promise<T> {
    const bq = new BabelQueue(this.transport(), { onEvent: () => {}, ...options });
    try {
      return await use(bq);
    } finally {
      await bq.close();
    }
  }

  /** Handles `count` deliveries. */
  async work(queue: string, options: WorkOptions = {}): Promise<Worked> {
    const { count = 1, fail = 0, urns = [], ...rest } = options;
    const handled: HandledAt[] = [];
    let failed = 0;
    let taken = 0;
    await this.withApp(async (bq) => {
      for (const urn of [URN, ...urns]) {
        bq.handle(urn, (data, { messageId: id, attempt, traceId, headers }) => {
          taken++;
          if (failed < fail) {
            failed++;
            throw new Error("asked to fail");
          }
          handled.push({ id, data, attempt, traceId, headers, at: Date.now() });
        });
      }
      await eventually(async () => {
        await bq.consume({ maxMessages: count - taken, waitMs: 1_000 });
        return taken >= count;
      });
    }, { queue, deadLetter: true, ...rest });
    return { handled, failed };
  }

  /** Takes one message and holds it. */
  async hold(queue: string, retryAfter: number): Promise<Held> {
    const transport = this.transport(retryAfter);
    await transport.open(context());
    const intake = new AbortController();
    const subscription = await transport.subscribe(queue, {
      prefetch: 1,
      intake: intake.signal,
      lost: () => {},
    });
    const [delivery] = await subscription.receive(1, 5_000);
    assert.ok(delivery, `nothing to take from '${queue}'`);
    return {
      delivery,
      settle: (verdict) => subscription.settle(delivery, verdict),
      async close() {
        intake.abort();
        await subscription.close();
        await transport.close();
      },
    };
  }

  /**
   * Runs our script with what is stored of a reservation that somebody else made.
   *
   * @returns `1` when it was acknowledged, `0` when there was no such reservation.
   */
  async settleStored(queue: string, stored: Uint8Array): Promise<string> {
    const zset = this.layout === "zset";
    const { source } = zset ? ZSET_WORK : LEGACY_WORK;
    const { ready, ...rest } = zset ? zsetKeys(queue) : legacyKeys(queue);
    const keys = "reserved" in rest
      ? [ready, rest.reserved, rest.notify, rest.delayed]
      : [ready, rest.processing, rest.deadlines];
    const now = String(Math.floor(Date.now() / 1_000));
    const options = zset ? ["-1", "1", "0", "splice"] : ["-1", "0", ""];
    const client = await RespClient.connect(this.#port);
    try {
      // Reserves nothing; the plan "a" acknowledges the one member behind it.
      const args = ["-1", now, now, ...options, "a", stored];
      const reply = await client.call("EVAL", source, keys.length, ...keys, ...args);
      return new TextDecoder().decode((reply as readonly Uint8Array[])[0]);
    } finally {
      await client.close();
    }
  }

  /** What lies in a queue: bodies that are ready, delayed, and in flight as they are kept there. */
  async state(queue: string): Promise<{ ready: string[]; delayed: string[]; inFlight: string[] }> {
    const client = await RespClient.connect(this.#port);
    try {
      if (this.layout === "legacy") {
        const ready = await client.list("LRANGE", queue, 0, -1);
        const deadlines = `${queue}:processing:deadlines`;
        const inFlight = await client.list("ZRANGE", deadlines, 0, -1);
        const processing = await client.list("LRANGE", `${queue}:processing`, 0, -1);
        assert.equal(processing.length, inFlight.length, "a reservation without its deadline");
        return { ready, delayed: [], inFlight };
      }
      const key = `queues:${queue}`;
      return {
        ready: await client.list("LRANGE", key, 0, -1),
        delayed: await client.list("ZRANGE", `${key}:delayed`, 0, -1),
        inFlight: await client.list("ZRANGE", `${key}:reserved`, 0, -1),
      };
    } finally {
      await client.close();
    }
  }

  /** Fails unless a queue is empty. */
  async assertEmpty(queue: string): Promise<void> {
    assert.deepEqual(await this.state(queue), { ready: [], delayed: [], inFlight: [] });
  }
}
