/** The zset layout as it is meant: lists and maps. Members are Latin-1 text. */

import assert from "node:assert/strict";
import { attemptsOf, identityOf, isPoison, RETRY_AFTER } from "./_model.ts";
import type { KeyState, Scored } from "./lab.ts";

/** One queue. */
export class ZsetModel {
  readonly ready: string[] = [];
  readonly delayed: Map<string, number> = new Map();
  readonly reserved: Map<string, number> = new Map();
  readonly dead: string[] = [];
  notify = 0;
  readonly #batch: number;

  constructor(migrationBatchSize: number) {
    this.#batch = migrationBatchSize;
  }

  push(body: string): void {
    this.ready.push(body);
    this.notify++;
  }

  delay(body: string, score: number): void {
    this.delayed.set(body, score);
  }

  migrate(now: number): void {
    for (const from of [this.delayed, this.reserved]) {
      const due = sorted(from).filter(([, score]) => score <= Math.floor(now));
      const moved = this.#batch < 0 ? due : due.slice(0, this.#batch);
      for (const [member] of moved) {
        from.delete(member);
        this.push(member);
      }
    }
  }

  /**
   * Takes up to `max` jobs. What a member looks like that cjson made is looked up among those that are
   * there now; it has to say the same as the job, counted once more.
   */
  reserve(
    max: number,
    now: number,
    actual: readonly Scored[],
  ): [job: string, member: string][] {
    const jobs = this.ready.splice(0, max);
    this.notify = Math.max(0, this.notify - jobs.length);
    return jobs.map((job) => {
      const deadline = Math.floor(now) + RETRY_AFTER;
      const member = this.#counted(job, actual, deadline);
      this.reserved.set(member, deadline);
      return [job, member];
    });
  }

  /** Whether a worker that looks now finds nothing. */
  idleAt(now: number): boolean {
    const due = [...this.delayed.values(), ...this.reserved.values()].some((score) => score <= now);
    return this.ready.length === 0 && !due;
  }

  /** Takes one job as a worker does whose members are all cjson's; `member` is what it took, or null. */
  reserveForeign(now: number, member: string | null): void {
    const job = this.ready.shift();
    if (job === undefined || member === null) return assert.equal(member, job ?? null);
    this.notify = Math.max(0, this.notify - 1);
    assert.equal(identityOf(member), identityOf(job));
    assert.equal(attemptsOf(member), attemptsOf(job) + 1);
    this.reserved.set(member, now + RETRY_AFTER);
  }

  ack(member: string): boolean {
    return this.reserved.delete(member);
  }

  release(member: string, payload: string, score: number): boolean {
    if (!this.reserved.delete(member)) return false;
    this.delayed.set(payload, score);
    return true;
  }

  /** A release of another worker is not gated: it is written even when somebody else has the message. */
  releaseForeign(member: string, payload: string, score: number): void {
    this.reserved.delete(member);
    this.delayed.set(payload, score);
  }

  deadLetter(member: string, record: string): boolean {
    if (!this.reserved.delete(member)) return false;
    this.dead.push(record);
    return true;
  }

  extend(member: string, now: number): number | null {
    const score = this.reserved.get(member);
    if (score === undefined) return null;
    const later = Math.max(score, Math.floor(now) + RETRY_AFTER);
    this.reserved.set(member, later);
    return later;
  }

  /** Fails unless the keys are what they should be. */
  check(actual: Required<KeyState>, dead: readonly string[]): void {
    assert.deepEqual(
      {
        ready: actual.ready,
        delayed: actual.delayed.map(({ member, score }) => [member, score]),
        reserved: actual.reserved.map(({ member, score }) => [member, score]),
        notify: actual.notify,
        dead,
      },
      {
        ready: this.ready,
        delayed: sorted(this.delayed),
        reserved: sorted(this.reserved),
        notify: this.notify,
        dead: this.dead,
      },
    );
  }

  #counted(job: string, actual: readonly Scored[], deadline: number): string {
    if (isPoison(job)) return job;
    const canonical = /^(.*,"attempts":)(0|[1-9][0-9]*)\}$/.exec(job);
    if (canonical) return `${canonical[1]}${Number(canonical[2]) + 1}}`;
    const counts = actual.filter(({ member }) =>
      !isPoison(member) && identityOf(member) === identityOf(job) &&
      attemptsOf(member) === attemptsOf(job) + 1
    );
    // Of duplicates, the one that was not there before; or it became one with one that was.
    const found = counts.find(({ member }) => !this.reserved.has(member)) ??
      counts.find(({ score }) => score === deadline);
    assert.ok(found !== undefined, `no member counts '${job}'`);
    return found.member;
  }
}

/** By score, equal scores by bytes, as a sorted set has them. */
function sorted(set: ReadonlyMap<string, number>): [string, number][] {
  return [...set].sort(([left, leftScore], [right, rightScore]) =>
    leftScore - rightScore || (left < right ? -1 : 1)
  );
}
