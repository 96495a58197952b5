/**
 * What a message is to a worker. `foreign` is a good one of another SDK, with a count of its own;
 * `bare` is one without a count, which some policies and `strict` take for poison.
 */
export type MessageKind = "good" | "foreign" | "bare" | "unknown" | "poison" | "gated";

/** The URNs that workers have handlers for. */
export const KNOWN_URNS: readonly string[] = ["urn:sim:plain", "urn:sim:patient"];
/** The URN that only the last worker has a handler for. */
export const UNKNOWN_URN = "urn:sim:unknown";

/** What the world knows about one published message. */
export interface Message {
  readonly serial: number;
  readonly kind: MessageKind;
  readonly queue: string;
  /** `refused`: the publisher was told that it is not there. */
  published: "pending" | "confirmed" | "uncertain" | "refused";
  /** Times a handler returned for it in time or not. */
  handled: number;
  /** Records of it on a dead-letter queue. */
  records: number;
  /** Times it was acknowledged unhandled, as policy and options allow. */
  dropped: number;
  /** Copies that the broker made of it by mistake. */
  twins: number;
}

/** Every message of a history, by its serial number. */
export class Messages {
  readonly #all: Message[] = [];

  /** A new one; its number is in every form of its body. */
  make(kind: MessageKind, queue: string): Message {
    const message: Message = {
      serial: this.#all.length,
      kind,
      queue,
      published: "pending",
      handled: 0,
      records: 0,
      dropped: 0,
      twins: 0,
    };
    this.#all.push(message);
    return message;
  }

  get(serial: number): Message | undefined {
    return this.#all[serial];
  }

  get all(): readonly Message[] {
    return this.#all;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The serial number in a body, or in a record made of it; -1 when there is none. */
export function serialOf(body: Uint8Array): number {
  const text = decoder.decode(body);
  const found = /serial\W*(\d+)/.exec(text) ?? /serial\W*(\d+)/.exec(unwrapped(text));
  return found ? Number(found[1]) : -1;
}

/** Bytes that are no text stand in a record as base64. */
function unwrapped(text: string): string {
  const raw = /^\{"raw":"([A-Za-z0-9+/=]*)","raw_encoding":"base64"/.exec(text);
  return raw ? atob(raw[1]!) : "";
}

/** The count in a body that can be read; null otherwise. */
export function attemptsOf(body: Uint8Array): number | null {
  try {
    const { attempts } = JSON.parse(decoder.decode(body)) as { attempts?: unknown };
    return typeof attempts === "number" ? attempts : null;
  } catch {
    return null;
  }
}

/** `attempts` in the `dead_letter` block of a record; null when there is none. */
export function recordedAttemptsOf(record: Uint8Array): number | null {
  try {
    const { dead_letter } = JSON.parse(decoder.decode(record)) as {
      dead_letter?: { attempts?: number };
    };
    return dead_letter?.attempts ?? null;
  } catch {
    return null;
  }
}

/** A body that no publisher of this library would write. `form` chooses among those of a kind. */
export function foreignBody(message: Message, form: number, queue: string): Uint8Array {
  const { serial, kind } = message;
  const whole = {
    job: kind === "unknown" ? UNKNOWN_URN : KNOWN_URNS[form % KNOWN_URNS.length],
    trace_id: `trace-${serial}`,
    data: { serial },
    meta: { id: `id-${serial}`, queue, lang: "php", schema_version: 1, created_at: 1 },
    attempts: kind === "foreign" || kind === "unknown" ? form % 3 : 0,
  };
  if (kind === "bare") return encoder.encode(JSON.stringify({ ...whole, attempts: undefined }));
  if (kind !== "poison") return encoder.encode(JSON.stringify(whole));
  switch (form % 5) {
    case 0:
      return encoder.encode(`serial ${serial}, no JSON`);
    case 1:
      return new Uint8Array([0xff, 0xfe, ...encoder.encode(`serial ${serial}`)]);
    case 2:
      return encoder.encode(JSON.stringify({ ...whole, job: " " }));
    case 3:
      return encoder.encode(JSON.stringify({ ...whole, data: [serial], serial }));
    default:
      return encoder.encode(
        JSON.stringify({ ...whole, meta: { ...whole.meta, schema_version: 2 } }),
      );
  }
}
