/**
 * What an outgoing message takes along of the delivery that it continues.
 *
 * @module
 */

import type { HeaderCarrier } from "../core/headers.ts";
import type { Outgoing } from "./transport.ts";

/**
 * The foreign headers that go out with a message: its own over those of the delivery it continues, and
 * a verbatim one's exactly as they came. Contract: G9, G9a.
 *
 * @param message The message.
 * @returns The headers; undefined when it has none and continues nothing.
 */
export function outgoingHeaders(message: Outgoing): HeaderCarrier | undefined {
  const { from, headers, verbatim } = message;
  if (from === undefined) return headers;
  if (verbatim || headers === undefined) return from.headers;
  return Object.assign(Object.create(null), from.headers, headers);
}
