interface Attachment<K, V> {
  readonly owner: K;
  value: V;
}

/**
 * What objects carry for one party alone, with the meaning of a weak map: a copy of an object is
 * without. The map itself would cost a message more than its decoding, since the collector looks at
 * every entry.
 *
 * @example Remember what a delivery was made of
 * ```ts
 * import { Attached, type Delivery } from "@bq/core/transport";
 * import assert from "node:assert/strict";
 *
 * const offsets = new Attached<object, bigint>();
 * const delivery: Partial<Delivery> = { queue: "orders" };
 * offsets.set(delivery, 7n);
 * assert.equal(offsets.get(delivery), 7n);
 * assert.equal(offsets.get({ ...delivery }), undefined);
 * ```
 */
export class Attached<K extends object, V> {
  readonly #key: symbol = Symbol("attached");
  /** Those of objects that take no member. */
  readonly #rigid: WeakMap<K, V> = new WeakMap();

  /**
   * Gives what was attached.
   *
   * @param owner The object.
   * @returns The value; undefined without one.
   */
  get(owner: K): V | undefined {
    const own = this.#own(owner);
    if (own !== undefined) return own.value;
    return Object.isExtensible(owner) ? undefined : this.#rigid.get(owner);
  }

  /**
   * Attaches a value, in place of an earlier one.
   *
   * @param owner The object.
   * @param value The value.
   */
  set(owner: K, value: V): void {
    const own = this.#own(owner);
    if (own !== undefined) own.value = value;
    else if (!Object.isExtensible(owner)) this.#rigid.set(owner, value);
    else (owner as Record<symbol, Attachment<K, V>>)[this.#key] = { owner, value };
  }

  /** The members of an object are copied with it, so the attachment says whose it is. */
  #own(owner: K): Attachment<K, V> | undefined {
    const attachment = (owner as Record<symbol, Attachment<K, V> | undefined>)[this.#key];
    return attachment?.owner === owner ? attachment : undefined;
  }
}
