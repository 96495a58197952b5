/** Where a file stands in the house. */

/** A file of the repository, as the rules see it. */
export interface Place {
  /** Path from the repository's root. */
  readonly path: string;
  /** The room: the top folder, `transports/<broker>`, or `mod.ts` for a file at the root. */
  readonly room: string;
  /** The file's own name. */
  readonly name: string;
}

const root = new URL("../..", import.meta.url).pathname;

/** Rooms whose files are published. */
export const SHIPPED: readonly string[] = [
  "core",
  "runtime",
  "outbox",
  "otel",
  "gdpr",
  "idempotency",
  "schema",
  "redrive",
  "process",
  "testing",
  "cli",
  "transports",
  "mod.ts",
];

/** Rooms that run everywhere: web-standard globals only. */
export const WEB_ONLY: readonly string[] = [
  "core",
  "runtime",
  "outbox",
  "otel",
  "gdpr",
  "idempotency",
  "schema",
  "redrive",
  "testing",
  "transports/memory",
  "mod.ts",
];

/** Places a file by its absolute path, or by its path from the repository's root. */
export function place(file: string): Place {
  const path = file.startsWith(root) ? file.slice(root.length) : file.replace(/^\.?\//, "");
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  const top = parts[0] ?? "";
  if (parts.length === 1) return { path, room: "mod.ts", name };
  return { path, room: top === "transports" ? `${top}/${parts[1]}` : top, name };
}

/** Whether the room is one of the list; `transports` stands for every transport. */
export function within(room: string, rooms: readonly string[]): boolean {
  return rooms.includes(room) || (room.startsWith("transports/") && rooms.includes("transports"));
}
