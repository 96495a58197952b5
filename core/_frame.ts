/**
 * The anchored reader: finds the routing fields of a canonical envelope at its head and its tail,
 * without looking at `data`. On a valid body the frame is exact but for members hidden between `data`
 * and `meta`; parsing `data` tells. Every other shape has no frame. Contract: C2, C3.
 *
 * @module
 */

import { isBlank } from "./blank.ts";
import type { Route } from "./_route.ts";
import { decodeWindow } from "./_text.ts";

// A string's characters that stand for themselves: neither quote, backslash nor control character.
// An identity and a trace id that may be blank are left to the long way.
const HEAD =
  /\{"job":"[!#-[\]-\uffff][ !#-[\]-\uffff]*","trace_id":"[!#-[\]-\uffff][ !#-[\]-\uffff]*","data":\{/y;
const TAIL_MARK = ',"meta":{"id":"';
// Fifteen digits are within the safe range.
const TAIL =
  /,"meta":\{"id":"[ !#-[\]-\uffff]*","queue":"[ !#-[\]-\uffff]*","lang":"[ !#-[\]-\uffff]*","schema_version":1,"created_at":(?:0|[1-9][0-9]{0,14})\},"attempts":(?:0|-?[1-9][0-9]{0,14})\}$/y;

const JOB_START = '{"job":"'.length;
const JOB_TO_TRACE = '","trace_id":"'.length;
const TRACE_TO_DATA = '","data":'.length;
const ID_TO_QUEUE = '","queue":"'.length;
const QUEUE_TO_LANG = '","lang":"'.length;
const COLON = 0x3a;
const LANG_TO_CREATED = '","schema_version":1,"created_at":'.length;

/** A tail with a UUID and a queue of up to 64 characters is no longer. */
const USUAL_TAIL = 240;

/** A text up to this length is kept whole rather than cut to its head and tail. */
const SHORT_TEXT = 4096;

/** Bytes up to this length are decoded as a whole. */
const SHORT_BYTES = 1024;

/** How many bytes of a longer body are looked at, at its head and at its tail. */
const HEAD_WINDOW = 512;
const TAIL_WINDOW = 768;

/**
 * What stands around the `data` of a canonical envelope. It keeps the head and the tail, and cuts a
 * field out when it is read.
 */
export class Frame implements Route {
  /** Where `data` begins, counted from the start of the text. */
  readonly dataStart: number;
  /** Where `data` ends, counted back from the end of the text. */
  readonly dataTail: number;
  /** `attempts` as in the body. */
  readonly envelopeAttempts: number;
  readonly #text: string;

  /**
   * @param text A text that begins with the head and ends with the tail.
   * @param dataStart Where `data` begins.
   * @param dataTail Where `data` ends, counted back from the end.
   */
  constructor(text: string, dataStart: number, dataTail: number) {
    this.#text = text;
    this.dataStart = dataStart;
    this.dataTail = dataTail;
    // Looking at the characters also makes a copy of a text put together from two parts of a body,
    // which would be kept whole by them.
    let start = text.length - 1;
    while (text.charCodeAt(start - 1) !== COLON) start--;
    this.envelopeAttempts = Number(text.slice(start, -1));
  }

  get urn(): string {
    return this.#text.slice(JOB_START, this.#text.indexOf('"', JOB_START));
  }

  get traceId(): string {
    const jobEnd = this.#text.indexOf('"', JOB_START);
    return this.#text.slice(jobEnd + JOB_TO_TRACE, this.dataStart - TRACE_TO_DATA);
  }

  get messageId(): string {
    return this.#until('"', this.#idStart());
  }

  get queue(): string {
    return this.#until('"', this.#queueStart());
  }

  get metaQueue(): string | null {
    const { queue } = this;
    return isBlank(queue) ? null : queue;
  }

  get lang(): string {
    return this.#until('"', this.#langStart());
  }

  get createdAt(): number {
    const langEnd = this.#text.indexOf('"', this.#langStart());
    return Number(this.#until("}", langEnd + LANG_TO_CREATED));
  }

  get attempts(): number {
    const { envelopeAttempts } = this;
    return envelopeAttempts > 0 ? envelopeAttempts : 0;
  }

  #until(mark: string, start: number): string {
    return this.#text.slice(start, this.#text.indexOf(mark, start));
  }

  #idStart(): number {
    return this.#text.length - this.dataTail + TAIL_MARK.length;
  }

  #queueStart(): number {
    return this.#text.indexOf('"', this.#idStart()) + ID_TO_QUEUE;
  }

  #langStart(): number {
    return this.#text.indexOf('"', this.#queueStart()) + QUEUE_TO_LANG;
  }
}

/** The frame of a text, or null. */
export function frameOfText(text: string): Frame | null {
  const dataStart = endOfHead(text);
  if (dataStart < 0) return null;
  const tailStart = startOfTail(text, dataStart);
  if (tailStart < 0) return null;
  const around = text.length <= SHORT_TEXT
    ? text
    : text.slice(0, dataStart) + text.slice(tailStart);
  return new Frame(around, dataStart, text.length - tailStart);
}

/** The frame of bytes that may not be valid UTF-8, or null. Its offsets count characters. */
export function frameOfBytes(bytes: Uint8Array): Frame | null {
  const isLong = bytes.length > SHORT_BYTES;
  const head = decodeWindow(isLong ? bytes.subarray(0, HEAD_WINDOW) : bytes);
  const dataStart = endOfHead(head);
  if (dataStart < 0) return null;
  const tail = isLong ? decodeWindow(bytes.subarray(-TAIL_WINDOW)) : head;
  const tailStart = startOfTail(tail, isLong ? 0 : dataStart);
  if (tailStart < 0) return null;
  const around = isLong ? head.slice(0, dataStart) + tail.slice(tailStart) : head;
  // It may stand for a byte that is no UTF-8.
  if (around.includes("\uFFFD")) return null;
  return new Frame(around, dataStart, tail.length - tailStart);
}

/** Where `data` begins in a text with a canonical head, or -1. */
function endOfHead(text: string): number {
  HEAD.lastIndex = 0;
  return HEAD.test(text) ? HEAD.lastIndex - 1 : -1;
}

/** Where the members after `data` begin, with the comma, in a text with a canonical tail; or -1. */
function startOfTail(text: string, from: number): number {
  // Where the tail is of usual length, looking forwards is the faster way.
  const near = text.indexOf(TAIL_MARK, Math.max(from, text.length - USUAL_TAIL));
  if (near >= 0 && isTail(text, near)) return near;
  const last = text.lastIndexOf(TAIL_MARK);
  return last >= 0 && isTail(text, last) ? last : -1;
}

function isTail(text: string, at: number): boolean {
  TAIL.lastIndex = at;
  return TAIL.test(text);
}
