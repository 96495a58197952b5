/** The thread of `startFar`. */

import { parentPort, workerData } from "node:worker_threads";
import { startProxy } from "../tests/brokers/mod.ts";

const proxy = await startProxy(workerData as number);
proxy.delay(1, 1);
parentPort!.postMessage(proxy.port);
