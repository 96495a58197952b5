import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A port that is far away from another. */
export interface Far {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Puts a port 2 ms away: what goes through is held for 1 ms in each direction. That is done in a thread
 * of its own, or its work would be part of what is measured.
 */
export async function startFar(port: number): Promise<Far> {
  const thread = new Worker(new URL("./_far_thread.ts", import.meta.url), { workerData: port });
  const [far] = await once(thread, "message");
  return {
    port: far as number,
    async close() {
      await thread.terminate();
    },
  };
}
