/** The messages that both sides of an exchange write, and have to read the same. */

import type { JsonObject } from "@bq/core";

/** The URN that has a handler on both sides. */
export const URN = "urn:babel:shop:paid";

/** The trace of a message that is followed. */
export const TRACE = "4f9d0c1e-0000-4000-8000-00000000beef";

/** Data that every side has to carry unchanged: text beyond ASCII, a fraction, a null. */
export const DATA: JsonObject = {
  n: 7,
  text: "caf\u00e9 \u2615 </a>&\u2028",
  half: 0.5,
  list: [1, 2],
  none: null,
};

/** What our handler got. */
export interface Handled {
  readonly id: string;
  readonly data: unknown;
  readonly attempt: number;
  readonly traceId: string;
}
