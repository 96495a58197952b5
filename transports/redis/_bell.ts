import type { Clock } from "@bq/core/transport";
import type { RedisClient, RedisReply } from "./client.ts";
import type { Reserved, WorkCall } from "./_layout.ts";
import { asked, type Link } from "./_link.ts";
import { readWork } from "./_reply.ts";
import { commandOf } from "./_script.ts";
import { Watch } from "./_watch.ts";

/** Longest time that one blocking command may take, in milliseconds. Contract: R19. */
const SLICE_MS = 1_000;
/** Wait after a connection that failed, in milliseconds. */
const TROUBLE_MS = 100;
/** How long a wait that was rung may take before its connection is dropped, in milliseconds. */
const RUNG_MS = 2 * SLICE_MS;
/** How long a ring is kept for a wait that is just beginning, in seconds. */
const RING_SECONDS = "10";

/** What a bell works with. */
export interface BellSetup {
  /** The connection that commands are sent on while this one blocks. */
  readonly link: Link;
  /** Makes the connection that blocks. */
  duplicate(): RedisClient;
  /** The list of wake-up tokens. */
  readonly key: string;
  /** A list of this bell's own, that ends its wait. */
  readonly ringKey: string;
  /**
   * Reserves up to `max` jobs within `withinMs` milliseconds from now; absent where a reservation that is
   * lost with the connection would never end.
   */
  readonly reserve: ((max: number, withinMs: number) => WorkCall) | undefined;
  /** Gives back what came when nobody waited any more. */
  giveBack(jobs: readonly Reserved[]): unknown;
  readonly clock: Clock;
}

/**
 * Waits on a list of wake-up tokens, on a connection of its own: a blocking command keeps every other
 * one waiting. The reserve is sent right behind it, and the server runs it the moment the wait is over,
 * so that a message comes with the answer and not a round trip later. A token is a hint, so that
 * losing one costs a second at most. Contract: R19, R91.
 */
export class Bell {
  readonly #setup: BellSetup;
  readonly #watch: Watch;
  #client: RedisClient | undefined;
  #waiting = false;
  /** There once it was rung, which is done once; aborted when its wait is over. */
  #rung: AbortController | undefined;
  /** Ends the wait that is under way, with nothing; there is never more than one. */
  #wake: () => void = () => {};
  #closing: Promise<void> = Promise.resolve();

  /** @param setup What it works with. */
  constructor(setup: BellSetup) {
    this.#setup = setup;
    // Dropping the connection ends the wait, and the next one connects again.
    this.#watch = new Watch(setup.clock, () => void this.#drop());
  }

  /**
   * Waits for a token, at most `ms` milliseconds and at most a slice. It never rejects.
   *
   * @param signal Ends only what is waited behind a failure: a wait ends by its time, a token or a ring.
   * @returns Up to `max` jobs, where any came.
   */
  async wait(ms: number, max: number, signal: AbortSignal): Promise<readonly Reserved[]> {
    const { clock } = this.#setup;
    const sliceMs = Math.min(ms, SLICE_MS);
    const { promise: dropped, resolve } = Promise.withResolvers<readonly Reserved[]>();
    this.#wake = () => resolve([]);
    this.#waiting = true;
    this.#watch.sent();
    try {
      return await Promise.race([this.#answer(sliceMs, max), dropped]);
    } catch {
      await this.#drop();
      await clock.sleep(Math.min(sliceMs, TROUBLE_MS), signal);
      return [];
    } finally {
      this.#waiting = false;
      this.#watch.answered();
      this.#rung?.abort();
    }
  }

  /** Ends the wait that is under way; what came by then is still handed over. */
  ring(): void {
    if (!this.#waiting || this.#rung !== undefined) return;
    this.#rung = new AbortController();
    void this.#ring(this.#rung.signal);
  }

  /** Disconnects; what a wait under way would reserve may be lost until its reservation ends. */
  close(): Promise<void> {
    this.#watch.end();
    return this.#drop();
  }

  async #answer(sliceMs: number, max: number): Promise<readonly Reserved[]> {
    const { key, ringKey, reserve, duplicate, giveBack } = this.#setup;
    let client = this.#client;
    if (client === undefined) {
      client = this.#client = duplicate();
      // The time within which a job is reserved begins when there is a connection.
      await client.connect?.();
      if (this.#client !== client) return [];
    }
    // No time at all would be without end to the server.
    const seconds = (Math.max(1, Math.ceil(sliceMs)) / 1_000).toString();
    const woken = asked(client, ["BLPOP", key, ringKey, seconds], key);
    if (reserve === undefined) {
      await woken;
      return [];
    }
    const call = reserve(max, sliceMs);
    const replied = asked(client, commandOf(call), key);
    // A wait that fails does not keep the server from running what is behind it.
    const [waited, reserved] = await Promise.allSettled([woken, replied]);
    const jobs = reserved.status === "fulfilled" ? jobsOf(call, reserved.value) : [];
    if (this.#client !== client) {
      // Dropped meanwhile, so that nobody waits for these any more.
      if (jobs.length > 0) giveBack(jobs);
      return [];
    }
    if (jobs.length === 0 && waited.status === "rejected") throw waited.reason;
    return jobs;
  }

  /** The connection is not just dropped, since jobs may be on their way on it. */
  async #ring(over: AbortSignal): Promise<void> {
    const { link, key, ringKey, reserve, clock } = this.#setup;
    if (reserve !== undefined) {
      const rung = link.call(["RPUSH", ringKey, "1"], key);
      void link.call(["EXPIRE", ringKey, RING_SECONDS], key).catch(() => {});
      const sent = await Promise.race([
        rung.then(() => true, () => false),
        clock.sleep(RUNG_MS, over).then(() => false),
      ]);
      if (sent) await clock.sleep(RUNG_MS, over);
    }
    if (!over.aborted) await this.#drop();
  }

  #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#wake();
    // One that cannot even be closed is left to itself.
    this.#closing = this.#closing.then(() => client?.close?.()).catch(() => {});
    return this.#closing;
  }
}

/** What was reserved; why nothing could be, the next look says. */
function jobsOf(call: WorkCall, answer: RedisReply): readonly Reserved[] {
  const { bodies, kinds } = readWork(answer);
  return call.reserved(bodies, kinds);
}
