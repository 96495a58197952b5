/** Only imports, which must start nothing: no timer, no handle, no listener. */

import process from "node:process";
import "@bq/core";
import "@bq/core/process";
import "@bq/core/testing";

console.log(process.listenerCount("SIGTERM") === 0 ? "done" : "listens");
