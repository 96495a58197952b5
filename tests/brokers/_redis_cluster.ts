/** Makes a Redis Cluster of single servers. */

import { eventually } from "../harness.ts";
import { RespClient } from "./resp.ts";

const SLOTS = 16_384;

/**
 * Gives every node its share of the slots, introduces the nodes to each other, and resolves when each
 * of them sees the whole cluster at work. A cluster that was formed before only has to come together
 * again.
 *
 * @param ports The nodes' ports.
 * @param busOffset From a node's port to its port for the other nodes.
 */
export async function formCluster(ports: readonly number[], busOffset: number): Promise<void> {
  const nodes = await Promise.all(ports.map((port) => RespClient.connect(port)));
  try {
    const [first] = nodes;
    if (first === undefined) throw new Error("Cannot form a cluster of no nodes");
    if (!(await first.text("CLUSTER", "INFO")).includes(`cluster_known_nodes:${ports.length}`)) {
      await Promise.all(nodes.map((node, i) => assign(node, i, nodes.length)));
      for (const port of ports.slice(1)) {
        await first.call("CLUSTER", "MEET", "127.0.0.1", port, port + busOffset);
      }
    }
    await eventually(() => agree(nodes));
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
}

async function assign(node: RespClient, index: number, count: number): Promise<void> {
  const from = Math.floor(SLOTS * index / count);
  const to = Math.floor(SLOTS * (index + 1) / count);
  await node.call("CLUSTER", "ADDSLOTS", ...Array.from({ length: to - from }, (_, i) => from + i));
  // Distinct epochs from the start: nodes that share one would first have to find that out.
  await node.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
}

async function agree(nodes: readonly RespClient[]): Promise<boolean> {
  for (const node of nodes) {
    const info = await node.text("CLUSTER", "INFO");
    const whole = info.includes("cluster_state:ok") &&
      info.includes(`cluster_slots_ok:${SLOTS}`) &&
      info.includes(`cluster_known_nodes:${nodes.length}`);
    if (!whole) return false;
  }
  return true;
}
