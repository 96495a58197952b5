/** The legacy layout as it is meant: lists and a map. Members are Latin-1 text. */

import assert from "node:assert/strict";
import { RETRY_AFTER } from "./_model.ts";
import type { KeyState, Scored } from "./lab.ts";

/** One queue. */
export class LegacyModel {
  readonly ready: string[] = [];
  readonly processing: string[] = [];
  /** By `token:raw`. */
  readonly deadlines: Map<string, number> = new Map();
  readonly dead: string[] = [];
  readonly #batch: number;

  constructor(migrationBatchSize: number) {
    this.#batch = migrationBatchSize;
  }

  push(body: string): void {
    this.ready.push(body);
  }

  sweep(now: number): void {
    const due = sorted(this.deadlines).filter(([, score]) => score <= Math.floor(now));
    for (const [member] of this.#batch < 0 ? due : due.slice(0, this.#batch)) {
      this.deadlines.delete(member);
      if (this.#end(member)) this.ready.push(rawOf(member));
    }
  }

  /** Whether a worker that looks now finds nothing. */
  idleAt(now: number): boolean {
    return this.ready.length === 0 && ![...this.deadlines.values()].some((score) => score <= now);
  }

  /** Takes one job with a token of another worker's; `member` is what it took, or null. */
  reserveForeign(now: number, member: string | null): void {
    const job = this.ready.shift();
    if (job === undefined || member === null) return assert.equal(member, job ?? null);
    assert.equal(rawOf(member), job);
    this.processing.push(job);
    this.deadlines.set(member, now + RETRY_AFTER);
  }

  /** Takes up to `max` jobs; the tokens are those of the members that are new, in their order. */
  reserve(
    max: number,
    now: number,
    actual: readonly Scored[],
  ): [job: string, member: string][] {
    const jobs = this.ready.splice(0, max);
    const members = actual.map(({ member }) => member)
      .filter((member) => !this.deadlines.has(member)).sort();
    assert.equal(members.length, jobs.length, "a new member for every job");
    return jobs.map((job, at) => {
      const member = members[at]!;
      assert.equal(rawOf(member), job, "the member of the job");
      this.processing.push(job);
      this.deadlines.set(member, Math.floor(now) + RETRY_AFTER);
      return [job, member];
    });
  }

  ack(member: string): boolean {
    if (!this.deadlines.delete(member)) return false;
    this.#end(member);
    return true;
  }

  release(member: string, payload: string): boolean {
    if (!this.ack(member)) return false;
    this.ready.push(payload);
    return true;
  }

  /** Every release of this layout is gated. */
  releaseForeign(member: string, payload: string): void {
    this.release(member, payload);
  }

  deadLetter(member: string, record: string): boolean {
    if (!this.ack(member)) return false;
    this.dead.push(record);
    return true;
  }

  extend(member: string, now: number): number | null {
    const score = this.deadlines.get(member);
    if (score === undefined) return null;
    const later = Math.max(score, Math.floor(now) + RETRY_AFTER);
    this.deadlines.set(member, later);
    return later;
  }

  /** Fails unless the keys are what they should be. */
  check(actual: Required<KeyState>, dead: readonly string[]): void {
    assert.deepEqual(
      {
        ready: actual.ready,
        processing: actual.processing,
        deadlines: actual.deadlines.map(({ member, score }) => [member, score]),
        dead,
      },
      {
        ready: this.ready,
        processing: this.processing,
        deadlines: sorted(this.deadlines),
        dead: this.dead,
      },
    );
  }

  #end(member: string): boolean {
    const at = this.processing.indexOf(rawOf(member));
    if (at >= 0) this.processing.splice(at, 1);
    return at >= 0;
  }
}

function rawOf(member: string): string {
  return member.slice(33);
}

function sorted(set: ReadonlyMap<string, number>): [string, number][] {
  return [...set].sort(([left, leftScore], [right, rightScore]) =>
    leftScore - rightScore || (left < right ? -1 : 1)
  );
}
