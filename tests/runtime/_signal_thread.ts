/**
 * A thread that asks for `shutdownSignal()` and tells its parent what came of it.
 *
 * @module
 */

import { parentPort } from "node:worker_threads";
import { shutdownSignal } from "@bq/core/process";

try {
  shutdownSignal().dispose();
  parentPort?.postMessage("listens");
} catch (error) {
  parentPort?.postMessage(String(error));
}
