/**
 * Starts a Redis, prints what it got as one line of JSON, and stays until it is killed. What cannot be
 * had is printed as well.
 */

import { BrokerAbsentError, RespClient, startRedis } from "../mod.ts";

try {
  const { url, port, owned } = await startRedis();
  const client = await RespClient.connect(port);
  const pid = /process_id:(\d+)/.exec(await client.text("INFO", "server"))?.[1];
  const [, folder] = await client.list("CONFIG", "GET", "dir");
  console.log(JSON.stringify({ url, owned, pid: Number(pid), folder }));
  setInterval(() => {}, 1_000);
} catch (error) {
  if (!(error instanceof BrokerAbsentError)) throw error;
  console.log(JSON.stringify({ absent: error.message }));
}
