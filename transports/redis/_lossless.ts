/** What the client does about a member whose attempts were raised by a splice: it puts the job together again. */

import { Buffer } from "node:buffer";
import type { Delivery } from "@bq/core/transport";
import type { Reserved } from "./_layout.ts";

const ZERO = 0x30;
const NINE = 0x39;

/** A reservation whose member is the body with its attempts raised by one. */
export class SplicedReservation implements Reserved {
  readonly delivery: Delivery;
  readonly endsAtMs: number;
  readonly memberLength: number;

  /**
   * @param delivery Its body ends in `"attempts":N}`, as {@linkcode lowered} gave it.
   * @param endsAtMs When it ends.
   */
  constructor(delivery: Delivery, endsAtMs: number) {
    this.delivery = delivery;
    this.endsAtMs = endsAtMs;
    const { body } = delivery;
    this.memberLength = body.length + (allNines(body) ? 1 : 0);
  }

  member(): Uint8Array {
    const { body } = this.delivery;
    // From a pool, every byte of it written: a buffer of its own costs more than all of the rest here.
    const member = Buffer.allocUnsafe(this.memberLength);
    member.set(body);
    let digit = body.length - 2;
    if (this.memberLength === body.length) {
      for (; member[digit] === NINE; digit--) member[digit] = ZERO;
      member[digit]!++;
      return member;
    }
    // All nines: a one, and as many zeros.
    member[digit + 2] = member[digit + 1]!;
    member[digit + 1] = ZERO;
    for (; member[digit] === NINE; digit--) member[digit] = ZERO;
    member[digit + 1] = ZERO + 1;
    return member;
  }
}

function allNines(body: Uint8Array): boolean {
  let at = body.length - 2;
  while (body[at] === NINE) at--;
  return !isDigit(body[at]);
}

/**
 * Lowers the attempts at the end of a member by one, in its own bytes where it stays as long as it is.
 *
 * @param member It ends in `"attempts":N}` with N of at least 1. The bytes are not shared with anybody.
 * @returns The job.
 */
export function lowered(member: Uint8Array): Uint8Array {
  let digit = member.length - 2;
  for (; member[digit] === ZERO; digit--) member[digit] = NINE;
  member[digit]!--;
  // What was a power of ten has one digit less.
  const first = member[digit] === ZERO && digit < member.length - 2 && !isDigit(member[digit - 1]);
  if (!first) return member;
  const job = new Uint8Array(member.length - 1);
  job.set(member.subarray(0, digit));
  job.set(member.subarray(digit + 1), digit);
  return job;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
