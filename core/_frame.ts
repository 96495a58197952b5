/**
 * The anchored reader: finds the routing fields of a canonical envelope at its head and its tail,
 * without looking at `data`. On a valid body the frame is exact but for members hidden between `data`
 * and `meta`; parsing `data` tells. Every other shape has no frame. Contract: C2, C3.
 *
 * @module
 */

import { isBlank } from "./blank.ts";
import type { Route } from "./_route.ts";
import { decodeWindow, ownText } from "./_text.ts";

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
const LANG_TO_CREATED = '","schema_version":1,"created_at":'.length;

/** From the head to the end of a body whose `data` is short. */
const NEAR = 384;

/** A text up to this length is kept whole rather than cut to its head and tail. */
const SHORT_TEXT = 4096;

/** Bytes up to this length are decoded as a whole. */
const SHORT_BYTES = 1024;

/** How many bytes of a longer body are looked at, at its head and at its tail. */
const HEAD_WINDOW = 512;
const TAIL_WINDOW = 768;

/** What stands around the `data` of a canonical envelope. The fields are cut out when they are read. */
export class Frame implements Route {
  /** Where `data` begins, counted from the start of the text. */
  readonly dataStart: number;
  /** Where `data` ends, counted back from the end of the text. */
  readonly dataTail: number;
  readonly #head: string;
  readonly #tail: string;

  constructor(head: string, dataStart: number, tail: string, dataTail: number) {
    this.dataStart = dataStart;
    this.dataTail = dataTail;
    this.#head = head;
    this.#tail = tail;
  }

  get urn(): string {
    return this.#head.slice(JOB_START, this.#head.indexOf('"', JOB_START));
  }

  get traceId(): string {
    const jobEnd = this.#head.indexOf('"', JOB_START);
    return this.#head.slice(jobEnd + JOB_TO_TRACE, this.dataStart - TRACE_TO_DATA);
  }

  get messageId(): string {
    const start = this.#idStart();
    return this.#tail.slice(start, this.#tail.indexOf('"', start));
  }

  get queue(): string {
    const start = this.#queueStart();
    return this.#tail.slice(start, this.#tail.indexOf('"', start));
  }

  get lang(): string {
    const start = this.#langStart();
    return this.#tail.slice(start, this.#tail.indexOf('"', start));
  }

  get createdAt(): number {
    const start = this.#tail.indexOf('"', this.#langStart()) + LANG_TO_CREATED;
    return Number(this.#tail.slice(start, this.#tail.indexOf("}", start)));
  }

  get metaQueue(): string | null {
    const { queue } = this;
    return isBlank(queue) ? null : queue;
  }

  /** `attempts` as in the body. */
  get envelopeAttempts(): number {
    return Number(this.#tail.slice(this.#tail.lastIndexOf(":") + 1, -1));
  }

  get attempts(): number {
    const { envelopeAttempts } = this;
    return envelopeAttempts > 0 ? envelopeAttempts : 0;
  }

  #idStart(): number {
    return this.#tail.length - this.dataTail + TAIL_MARK.length;
  }

  #queueStart(): number {
    return this.#tail.indexOf('"', this.#idStart()) + ID_TO_QUEUE;
  }

  #langStart(): number {
    return this.#tail.indexOf('"', this.#queueStart()) + QUEUE_TO_LANG;
  }
}

/** The frame of a text, or null. */
export function frameOfText(text: string): Frame | null {
  const dataStart = endOfHead(text);
  const tailStart = dataStart < 0 ? -1 : startOfTail(text, dataStart);
  if (tailStart < 0) return null;
  const dataTail = text.length - tailStart;
  if (text.length <= SHORT_TEXT) return new Frame(text, dataStart, text, dataTail);
  return new Frame(
    ownText(text.slice(0, dataStart)),
    dataStart,
    ownText(text.slice(tailStart)),
    dataTail,
  );
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
  // A replacement character may stand for a byte that is no UTF-8, or for half a character at a cut.
  if (head.includes("\uFFFD") && head.slice(0, dataStart).includes("\uFFFD")) return null;
  if (tail.includes("\uFFFD") && tail.slice(tailStart).includes("\uFFFD")) return null;
  return new Frame(head, dataStart, tail, tail.length - tailStart);
}

/** Where `data` begins in a text with a canonical head, or -1. */
function endOfHead(text: string): number {
  HEAD.lastIndex = 0;
  return HEAD.test(text) ? HEAD.lastIndex - 1 : -1;
}

/** Where the members after `data` begin, with the comma, in a text with a canonical tail; or -1. */
function startOfTail(text: string, from: number): number {
  // The mark is hardly ever inside `data` too, and where that is short, looking forwards is faster.
  if (text.length - from <= NEAR) {
    const first = text.indexOf(TAIL_MARK, from);
    if (first < 0 || isTail(text, first)) return first;
  }
  const last = text.lastIndexOf(TAIL_MARK);
  return last >= 0 && isTail(text, last) ? last : -1;
}

function isTail(text: string, at: number): boolean {
  TAIL.lastIndex = at;
  return TAIL.test(text);
}
