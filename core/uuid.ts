/**
 * Makes a random UUID v4, lowercase with dashes. Contract: C10.
 *
 * @returns The UUID.
 */
export function uuid(): string {
  return crypto.randomUUID();
}
