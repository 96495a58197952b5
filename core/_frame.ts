/**
 * The anchored reader: finds the routing fields of a canonical envelope at its head and its tail,
 * without looking at `data`. On a valid body the frame is exact but for members hidden between `data`
 * and `meta`; parsing `data` tells. Every other shape is no frame. Contract: C2, C3.
 *
 * @module
 */

import { isBlank } from "./blank.ts";
import { decodeWindow, ownText } from "./_text.ts";

/** What stands around the `data` of a canonical envelope. */
export interface Frame {
  readonly job: string;
  readonly traceId: string;
  readonly id: string;
  readonly queue: string;
  readonly lang: string;
  readonly createdAt: number;
  readonly attempts: number;
  /** Where `data` begins, counted from the start of the text. */
  readonly dataStart: number;
  /** Where `data` ends, counted back from the end of the text. */
  readonly dataTail: number;
}

// What stands for itself in a JSON string: neither quote, backslash nor control character.
const HEAD = /\{"job":"([ !#-[\]-\uffff]+)","trace_id":"([ !#-[\]-\uffff]+)","data":\{/y;
const TAIL_MARK = ',"meta":{"id":"';
// Fifteen digits are within the safe range.
const TAIL =
  /,"meta":\{"id":"([ !#-[\]-\uffff]*)","queue":"([ !#-[\]-\uffff]*)","lang":"([ !#-[\]-\uffff]*)","schema_version":1,"created_at":(0|[1-9][0-9]{0,14})\},"attempts":(0|-?[1-9][0-9]{0,14})\}$/y;

/** A body up to this length is looked at as a whole; slices of it are cheaper to keep than to copy. */
const SHORT = 1024;

/** How much of a long body is looked at, at its head and at its tail. */
const HEAD_WINDOW = 512;
const TAIL_WINDOW = 768;

/** The frame of a text, or null. */
export function frameOfText(text: string): Frame | null {
  if (text.length <= SHORT) return frameOf(text, text);
  return frameOf(ownText(text.slice(0, HEAD_WINDOW)), ownText(text.slice(-TAIL_WINDOW)));
}

/** The frame of bytes that may not be valid UTF-8, or null. Its offsets count characters. */
export function frameOfBytes(bytes: Uint8Array): Frame | null {
  if (bytes.length > SHORT) {
    return frameOf(
      decodeWindow(bytes.subarray(0, HEAD_WINDOW)),
      decodeWindow(bytes.subarray(-TAIL_WINDOW)),
      true,
    );
  }
  const text = decodeWindow(bytes);
  return frameOf(text, text, true);
}

function frameOf(head: string, tail: string, lossy = false): Frame | null {
  HEAD.lastIndex = 0;
  const first = HEAD.exec(head);
  if (first === null) return null;
  const dataStart = HEAD.lastIndex - 1;
  const tailStart = tail.lastIndexOf(TAIL_MARK);
  if (tailStart < 0) return null;
  TAIL.lastIndex = tailStart;
  const last = TAIL.exec(tail);
  if (last === null) return null;
  const [, job = "", traceId = ""] = first;
  const [, id = "", queue = "", lang = "", createdAt, attempts] = last;
  if (isBlank(job) || isBlank(traceId)) return null;
  if (lossy && (first[0].includes("\uFFFD") || last[0].includes("\uFFFD"))) return null;
  return {
    job,
    traceId,
    id,
    queue,
    lang,
    createdAt: Number(createdAt),
    attempts: Number(attempts),
    dataStart,
    dataTail: tail.length - tailStart,
  };
}
