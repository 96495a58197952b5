/** The launcher of Artemis itself. */

import assert from "node:assert/strict";
import { Peer } from "../artemis/peer.ts";
import { test } from "../harness.ts";
import { absentArtemis, startArtemis } from "./mod.ts";

const ignore = await absentArtemis({ own: true });

test("a frozen Artemis answers nobody until it may go on", async () => {
  const broker = await startArtemis({ own: true });
  try {
    await broker.pause();
    let connected = false;
    const connecting = Peer.connect(broker.port).then((peer) => {
      connected = true;
      return peer;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(connected, false);
    await broker.resume();
    await (await connecting).close();
  } finally {
    await broker.stop();
  }
}, { ignore, timeoutMs: 120_000 });
