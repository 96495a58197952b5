/** What a program without this library does for each message: it makes the envelope, and reads it. */

/** A message as text, and what of it goes beside the body. */
export interface BareMessage {
  readonly id: string;
  readonly traceId: string;
  readonly createdAtMs: number;
  readonly text: string;
}

/** Makes an envelope with two identifiers and the time, as text. */
export function bareMessage(urn: string, data: object): BareMessage {
  const [id, traceId, createdAtMs] = [crypto.randomUUID(), crypto.randomUUID(), Date.now()];
  const text = JSON.stringify({
    job: urn,
    trace_id: traceId,
    data,
    meta: { id, queue: "bench", lang: "node", schema_version: 1, created_at: createdAtMs },
    attempts: 0,
  });
  return { id, traceId, createdAtMs, text };
}

/** Reads an envelope, and takes the data out of it. */
export function bareData(text: string): object {
  const { job, data } = JSON.parse(text);
  if (typeof job !== "string" || typeof data !== "object") throw new Error("not a message");
  return data;
}
