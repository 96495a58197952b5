import {
  BabelQueueError,
  closedError,
  type Delivery,
  messageOf,
  SettleWriteError,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type TransportContext,
  type Verdict,
} from "@bq/core/transport";
import { Bell } from "./_bell.ts";
import { Calls } from "./_calls.ts";
import { connectionError, isTransient } from "./_errors.ts";
import { Idle, type PollBackOff } from "./_idle.ts";
import {
  LARGEST_BATCH_BYTES,
  type PlainCommand,
  type QueueLayout,
  type Reserved,
} from "./_layout.ts";
import type { Link } from "./_link.ts";
import { replyText } from "./_reply.ts";
import type { ScriptCall } from "./_script.ts";
import { scoreOf } from "./scores.ts";
import { TokenPurse } from "./_tokens.ts";

/** Most receives at a time. */
const LARGEST_LANES = 64;
/** Fewest: while one call is on its way the next batch can be asked for. */
const SMALLEST_LANES = 2;
/** Length of a member from which it is acknowledged by a plain command, in bytes. */
const LARGE_BYTES = 16_384;
/** Batches over which the length of a body is averaged. */
const BODIES_REMEMBERED = 4;
/** Wait before a record is written again, in milliseconds. */
const AGAIN_MS = 50;

/** What a subscription works with. */
export interface SubscriptionSetup {
  /** Name of the queue. */
  readonly queue: string;
  /** How it lies in Redis. */
  readonly layout: QueueLayout;
  /** The connection. */
  readonly link: Link;
  /** Time. */
  readonly context: TransportContext;
  /** What `subscribe` was told. */
  readonly options: SubscribeOptions;
  /** Whether a reservation ends by itself. */
  readonly leases: boolean;
  /** Most jobs of one call. */
  readonly batchSize: number;
  /** The sleeps of consumers that poll this queue. */
  readonly poll: PollBackOff;
  /** Most deliveries; a snapshot's are counted. */
  readonly budget: number;
  /** Called when the subscription has ended. */
  onClose(subscription: RedisSubscription): void;
}

/** A message in the worker's hands. */
interface Held {
  readonly reserved: Reserved;
  /** When its reservation ends, by `Clock.elapsed`. */
  untilMs: number;
}

/** Receives from and settles with one queue. */
export class RedisSubscription implements Subscription {
  readonly extend?: (delivery: Delivery) => Promise<number | null>;
  readonly #setup: SubscriptionSetup;
  readonly #calls: Calls;
  readonly #idle: Idle<Reserved>;
  readonly #bell: Bell | undefined;
  readonly #held: Map<Delivery, Held> = new Map();
  readonly #ending: () => void;
  #left: number;
  /** How long a body is, as the last ones were. */
  #bodyBytes = 1;
  readonly #open: Set<Promise<unknown>> = new Set();
  #closing: Promise<void> | undefined;

  /** @param setup What it works with. */
  constructor(setup: SubscriptionSetup) {
    const { queue, layout, link, context, options } = setup;
    const { clock } = context;
    this.#setup = setup;
    this.#left = setup.budget;
    if (setup.leases) this.extend = (delivery) => this.#extend(delivery);
    this.#calls = new Calls({ queue, layout, link, clock });
    const { client } = link;
    const { wakeKey: key } = layout;
    if (key !== undefined && client.duplicate !== undefined) {
      const [token] = new TokenPurse(context.bytes).take(1);
      this.#bell = new Bell({
        link,
        duplicate: () => client.duplicate!(),
        key,
        ringKey: `${key}:${token}`,
        reserve: setup.leases
          ? (max, withinMs) => layout.work(max, [], clock.now(), withinMs)
          : undefined,
        giveBack: (jobs) => this.#awaited(this.#calls.giveBack(jobs)),
        clock,
      });
    }
    this.#idle = new Idle((ms, max, signal) => this.#pause(ms, max, signal), clock);
    this.#ending = (): void => {
      this.#idle.end();
      this.#bell?.ring();
    };
    options.intake.addEventListener("abort", this.#ending, { once: true });
    if (options.intake.aborted) this.#ending();
  }

  /** The fewer messages one call brings, the more calls are under way; large messages come few at a time. */
  get lanes(): number {
    const { options: { prefetch }, batchSize } = this.#setup;
    const batch = Math.min(batchSize, Math.max(1, LARGEST_BATCH_BYTES / this.#bodyBytes));
    return Math.max(SMALLEST_LANES, Math.min(LARGEST_LANES, Math.ceil(prefetch / batch)));
  }

  receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    return this.#awaited(this.#receive(max, waitMs));
  }

  async settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    this.#assertOpen("settle");
    const { layout, context: { clock } } = this.#setup;
    const held = this.#held.get(delivery);
    if (held === undefined) return "expired";
    if (verdict.kind === "deadLetterNatively") {
      throw new BabelQueueError(
        "unsupported",
        `Cannot dead-letter a message of '${delivery.queue}' natively: Redis has no dead-letter place of its own`,
      );
    }
    this.#held.delete(delivery);
    if (verdict.kind === "leave") return "settled";
    try {
      if (verdict.kind === "deadLetter") return await this.#deadLetter(held, verdict);
      if (verdict.kind === "ack" && held.reserved.memberLength >= LARGE_BYTES) {
        const command = layout.acknowledge?.(held.reserved);
        if (command !== undefined) return await this.#acknowledge(command, held);
      }
      return await this.#calls.settle(
        layout.settle(held.reserved, verdict, clock.now()),
        held.untilMs,
      );
    } catch (error) {
      // Nothing was settled, so that the worker can settle it in another way.
      if (error instanceof SettleWriteError) this.#held.set(delivery, held);
      throw error;
    }
  }

  close(options: SignalOptions = {}): Promise<void> {
    return this.#closing ??= this.#close(options.signal);
  }

  get #over(): boolean {
    return this.#closing !== undefined;
  }

  async #close(signal: AbortSignal | undefined): Promise<void> {
    const { queue, options, onClose } = this.#setup;
    this.#ending();
    options.intake.removeEventListener("abort", this.#ending);
    const abort = (): void => {
      this.#calls.end(closedError(`settle a message of '${queue}'`, "the subscription is closed"));
      void this.#bell?.close();
    };
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      await this.#calls.drained();
      await Promise.all([...this.#open]);
      if (!this.#calls.ended.aborted) await this.#giveBackAll();
      await this.#bell?.close();
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#calls.end(closedError(`use the subscription to '${queue}'`, "it is closed"));
      onClose(this);
    }
  }

  /** Nobody can settle these any more: another worker gets them now, not when the lease ends. */
  async #giveBackAll(): Promise<void> {
    const { layout, context: { clock } } = this.#setup;
    const left = [...this.#held.values()].filter(({ reserved }) => !reserved.delivery.undecodable);
    this.#held.clear();
    await Promise.allSettled(
      left.map(({ reserved, untilMs }) =>
        this.#calls.settle(layout.settle(reserved, { kind: "return" }, clock.now()), untilMs)
      ),
    );
  }

  async #receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    this.#assertOpen("receive");
    const { context: { clock }, options, batchSize, poll, link, queue } = this.#setup;
    const endMs = clock.elapsed() + waitMs;
    for (;;) {
      if (this.#over || options.intake.aborted) return [];
      const wanted = Math.min(max, batchSize, this.#left);
      if (wanted <= 0) return [];
      if (!link.up) throw connectionError(`receive from '${queue}'`, link.unsent());
      let jobs = await this.#reserve(wanted);
      if (jobs.length === 0) {
        if (options.snapshot || clock.elapsed() >= endMs) return [];
        jobs = await this.#idle.wait(endMs, wanted);
      }
      if (jobs.length === 0) continue;
      poll.reset();
      if (jobs.length === wanted) this.#idle.knock();
      return this.#handOut(jobs);
    }
  }

  async #reserve(wanted: number): Promise<readonly Reserved[]> {
    this.#left -= wanted;
    let got = 0;
    try {
      const jobs = await this.#calls.reserve(wanted);
      got = jobs.length;
      return jobs;
    } finally {
      this.#left += wanted - got;
    }
  }

  #handOut(jobs: readonly Reserved[]): readonly Delivery[] {
    const { clock } = this.#setup.context;
    let bytes = 0;
    for (const reserved of jobs) {
      bytes += reserved.memberLength;
      const untilMs = reserved.endsAtMs - clock.now() + clock.elapsed();
      this.#held.set(reserved.delivery, { reserved, untilMs });
    }
    this.#bodyBytes += (bytes / jobs.length - this.#bodyBytes) / BODIES_REMEMBERED;
    // Too late for whoever waited: closing gives back what is held.
    return this.#over ? [] : jobs.map(({ delivery }) => delivery);
  }

  async #pause(ms: number, max: number, signal: AbortSignal): Promise<readonly Reserved[]> {
    const { poll, context: { clock } } = this.#setup;
    if (this.#bell !== undefined) return await this.#bell.wait(ms, max, signal);
    await clock.sleep(Math.min(ms, poll.next()), signal);
    return [];
  }

  async #deadLetter(
    held: Held,
    verdict: Extract<Verdict, { kind: "deadLetter" }>,
  ): Promise<"settled" | "expired"> {
    const { layout } = this.#setup;
    try {
      return await this.#awaited(this.#insist(layout.deadLetter(held.reserved, verdict), held));
    } catch (error) {
      throw new SettleWriteError(
        `Cannot write a record to '${verdict.queue}': ${messageOf(error)}${hintFor(error)}`,
        { cause: error },
      );
    }
  }

  async #acknowledge(command: PlainCommand, held: Held): Promise<"settled" | "expired"> {
    try {
      return await this.#awaited(this.#insist(command, held));
    } catch (error) {
      throw connectionError(`acknowledge a message of '${this.#setup.queue}'`, error);
    }
  }

  /** Closing waits for it. */
  async #awaited<T>(work: Promise<T>): Promise<T> {
    const quiet = work.catch(() => {});
    this.#open.add(quiet);
    try {
      return await work;
    } finally {
      this.#open.delete(quiet);
    }
  }

  /** A gated write may be tried again until its reservation ends. */
  async #insist(what: ScriptCall | PlainCommand, held: Held): Promise<"settled" | "expired"> {
    const { link, context: { clock } } = this.#setup;
    let uncertain = false;
    for (;;) {
      try {
        return await link.send(what) === 1 || uncertain ? "settled" : "expired";
      } catch (error) {
        if (!isTransient(error) || this.#calls.ended.aborted) throw error;
        uncertain = true;
        await clock.sleep(AGAIN_MS, this.#calls.ended);
        await link.ready(this.#calls.ended);
        if (this.#calls.ended.aborted || clock.elapsed() >= held.untilMs) throw error;
      }
    }
  }

  async #extend(delivery: Delivery): Promise<number | null> {
    this.#assertOpen("extend");
    const { layout, link, queue, context: { clock } } = this.#setup;
    const held = this.#held.get(delivery);
    if (held === undefined) return null;
    try {
      const reply = await link.run(layout.extend(held.reserved, clock.now()));
      if (reply === 0) return null;
      const endsAtMs = scoreOf(replyText(reply)) * 1_000;
      held.untilMs = endsAtMs - clock.now() + clock.elapsed();
      return endsAtMs;
    } catch (error) {
      throw connectionError(`extend the lease of a message of '${queue}'`, error);
    }
  }

  #assertOpen(verb: string): void {
    if (!this.#over) return;
    throw closedError(`${verb} on '${this.#setup.queue}'`, "the subscription is closed");
  }
}

/** What to do about an answer that does not say it. */
function hintFor(error: unknown): string {
  return messageOf(error).startsWith("CROSSSLOT")
    ? "; in a Redis Cluster the dead-letter queue needs the hash tag of its queue in its name"
    : "";
}
