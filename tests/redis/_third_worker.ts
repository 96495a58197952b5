/** A worker that is not ours: one that does what Laravel's scripts do, or a real one. */

import type { Peer, PeerReservation } from "../interop/peer.ts";
import { type Lab, text } from "./lab.ts";

/** What it took. */
export interface Taken {
  /** What stands for its reservation. */
  readonly member: string;
  /** The body. */
  readonly job: string;
  /** In which second. */
  readonly now: number;
}

/** What it put back. */
export interface Released {
  readonly member: string;
  readonly payload: string;
  readonly now: number;
}

/** A third worker of a history. */
export interface ThirdWorker {
  /** The second that its clock shows. */
  now(): number;
  /** Takes the first job; null when there is none. */
  pop(): Promise<Taken | null>;
  /** Acknowledges one of those that it holds; null when it holds none. */
  ack(which: number): Promise<string | null>;
  /** Puts one back. */
  release(which: number): Promise<Released | null>;
}

/** A second passed while a real worker looked at its clock, so nobody knows which one it saw. */
export class SecondPassedError extends Error {}

/** Laravel or the Python SDK, in a process of its own, with the clock of the machine. */
export class PeerWorker implements ThirdWorker {
  readonly #peer: Peer;
  readonly #lab: Lab;
  readonly #retryAfter: number;
  /** Whether a release counts the delivery in the raw body, instead of putting the member back. */
  readonly #recounts: boolean;
  readonly #held: { readonly reservation: PeerReservation; readonly taken: Taken }[] = [];

  /**
   * @param peer The process.
   * @param lab The queue.
   * @param retryAfter How long its reservations last, in seconds.
   * @param recounts As the Python SDK does, and Laravel does not.
   */
  constructor(peer: Peer, lab: Lab, retryAfter: number, recounts: boolean) {
    this.#peer = peer;
    this.#lab = lab;
    this.#retryAfter = retryAfter;
    this.#recounts = recounts;
  }

  now(): number {
    return Math.floor(Date.now() / 1_000);
  }

  async pop(): Promise<Taken | null> {
    const { result: reservation, now } = await this.#inOneSecond(() =>
      this.#peer.pop(this.#lab.queue, this.#retryAfter)
    );
    if (reservation.reservation === null) return null;
    const taken = {
      member: decoded(reservation.reserved ?? ""),
      job: decoded(reservation.body),
      now,
    };
    this.#held.push({ reservation, taken });
    return taken;
  }

  async ack(which: number): Promise<string | null> {
    const [held] = this.#held.splice(which, 1);
    if (held === undefined) return null;
    await this.#peer.ack(held.reservation);
    return held.taken.member;
  }

  async release(which: number): Promise<Released | null> {
    const [held] = this.#held.splice(which, 1);
    if (held === undefined) return null;
    const { now } = await this.#inOneSecond(() => this.#peer.release(held.reservation));
    const { member, job } = held.taken;
    const payload = this.#recounts
      ? job.replace(/"attempts":(\d+)/, (_, count) => `"attempts":${Number(count) + 1}`)
      : member;
    return { member, payload, now };
  }

  async #inOneSecond<T>(work: () => Promise<T>): Promise<{ result: T; now: number }> {
    const now = this.now();
    const result = await work();
    if (this.now() !== now) throw new SecondPassedError("a second passed");
    return { result, now };
  }
}

/** Bytes in base64 as Latin-1 text. */
function decoded(value: string): string {
  return text(Buffer.from(value, "base64"));
}
