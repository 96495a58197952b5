/** The launcher of Artemis itself. */

import assert from "node:assert/strict";
import { Peer } from "../artemis/peer.ts";
import { test } from "../harness.ts";
import { absentArtemis, startArtemis } from "./mod.ts";

const ignore = await absentArtemis({ own: true });

test("Artemis keeps its port and its messages over a restart and a SIGKILL, and ends", async () => {
  const broker = await startArtemis({ own: true });
  try {
    const { port } = broker;
    const peer = await Peer.connect(port);
    for (const body of ["one", "two"]) await peer.send("kept", { body });
    await peer.close();
    await broker.restart();
    assert.equal(broker.port, port);
    await broker.kill();
    await assert.rejects(Peer.connect(port));
    await broker.restart();
    const again = await Peer.connect(port);
    const bodies = (await again.receive("kept", 2)).map(({ body }) => body);
    assert.deepEqual(bodies, ["one", "two"]);
    await again.close();
  } finally {
    await broker.stop();
  }
  await assert.rejects(Peer.connect(broker.port));
}, { ignore, timeoutMs: 120_000 });

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
