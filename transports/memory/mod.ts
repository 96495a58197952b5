/**
 * The embedded transport: queues in this process.
 *
 * @module
 */

export { memory, type MemoryOptions, type MemoryTransport } from "./transport.ts";
export { MemoryStore } from "./store.ts";
export { memoryPolicy } from "./policy.ts";
