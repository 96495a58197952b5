import { Buffer } from "node:buffer";
import { ASSIGNORS, topicsOf } from "../_assign.ts";
import { decodeSubscription, encodeAssignment, encodeSubscription } from "../_group_format.ts";
import type { KafkajsAssigner, KafkajsCluster } from "./_kafkajs_like.ts";

/**
 * The assigners for `kafkajs`, whose own one is called otherwise than every other client's and assigns
 * only the leader's topics.
 */
export function kafkajsAssigners(): ((
  options: { cluster: KafkajsCluster },
) => KafkajsAssigner)[] {
  return [...ASSIGNORS].map(([name, share]) => ({ cluster }) => ({
    name,
    version: 0,
    async assign({ members }) {
      const wanted = members.map(({ memberId, memberMetadata }) => ({
        memberId,
        topics: decodeSubscription(memberMetadata),
      }));
      const counts = await countsOf(cluster, topicsOf(wanted));
      return [...share(wanted, counts)].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: Buffer.from(encodeAssignment(assignment)),
      }));
    },
    protocol({ topics }) {
      return { name, metadata: Buffer.from(encodeSubscription(topics)) };
    },
  }));
}

async function countsOf(
  cluster: KafkajsCluster,
  topics: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const topic of topics) {
    // One topic that is gone must not keep the whole group from being assigned.
    await cluster.addMultipleTargetTopics([topic]).catch(() => {});
    counts.set(topic, cluster.findTopicPartitionMetadata(topic).length);
  }
  return counts;
}
