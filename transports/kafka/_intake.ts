/**
 * What a member of a group has taken of its partitions and not yet settled. A partition hands out one
 * record at a time, in order, and nothing behind a record before that one is done with.
 * Contract: K11, K14, K61.
 */

import { keyOf } from "./_partition.ts";
import type { IncomingRecord, PartitionOffset, TopicPartition } from "./client.ts";

/** Records of one partition that somebody works on; they are next to each other. */
export interface Held {
  /** Where they came from. */
  readonly partition: TopicPartition;
  /** The records, oldest first. */
  readonly records: readonly IncomingRecord[];
  /** Whether the partition is somebody else's by now. */
  readonly lost: boolean;
}

interface Holding extends Held {
  lost: boolean;
  readonly line: Line;
  readonly records: IncomingRecord[];
}

/** One partition. */
interface Line extends TopicPartition {
  /** Records that nobody works on yet. */
  readonly waiting: IncomingRecord[];
  /** Where the partition goes on behind them. */
  position: bigint | undefined;
  held: Holding | undefined;
  /** Whether what came last reached where the partition goes on; not yet when that is from before a join. */
  caughtUp: boolean;
  /** How many may wait before the partition is paused. */
  limit: number;
  room: PromiseWithResolvers<void> | undefined;
}

/** What an intake tells. */
export interface IntakeEvents {
  /** A partition has a record to hand out. */
  available(): void;
  /** Records that somebody works on went to another member. */
  lost(held: Held, cause: Error): void;
  /** A partition began anew, as that of a topic does that was made anew. */
  restarted?(partition: TopicPartition, message: string): void;
}

/** The partitions of one member. */
export class Intake {
  readonly #events: IntakeEvents;
  readonly #ahead: boolean;
  readonly #lines: Map<string, Line> = new Map();
  #memberId: string | undefined;
  #joined: PromiseWithResolvers<void> = Promise.withResolvers();
  #closed = false;

  /**
   * @param events What it tells.
   * @param ahead Whether a partition may be read on while somebody works on a record of it.
   */
  constructor(events: IntakeEvents, ahead: boolean) {
    this.#events = events;
    this.#ahead = ahead;
  }

  /** Resolves when the group has been joined the next time, or the membership has ended. */
  get joined(): Promise<void> {
    return this.#joined.promise;
  }

  /** How many records somebody works on. */
  get inHand(): number {
    return [...this.#lines.values()].reduce(
      (sum, { held }) => sum + (held?.records.length ?? 0),
      0,
    );
  }

  /** The partitions of this member, each with where it goes on behind what waits. */
  get positions(): readonly (TopicPartition & { readonly position: bigint | undefined })[] {
    return [...this.#lines.values()];
  }

  /** The partitions of this member, anew. */
  assigned(memberId: string, partitions: readonly TopicPartition[]): readonly PartitionOffset[] {
    const before = new Map(this.#lines);
    // A member that got a new id was out of the group: others may have gone on from its last commit.
    const stayed = this.#memberId === memberId;
    this.#memberId = memberId;
    this.#lines.clear();
    const goOn: PartitionOffset[] = [];
    for (const { topic, partition } of partitions) {
      const key = keyOf({ topic, partition });
      const line = stayed ? before.get(key) : undefined;
      this.#lines.set(key, line ?? newLine(topic, partition));
      if (line === undefined) continue;
      before.delete(key);
      // A fetch that was under way may still bring what was taken before.
      line.caughtUp = false;
      if (line.position !== undefined) goOn.push({ topic, partition, offset: line.position });
    }
    this.#lose(before.values(), "it was assigned to another member of the group");
    this.#hasJoined();
    return goOn;
  }

  /** Takes records in; gives a promise when the partition is to be paused until it resolves. */
  records(
    place: TopicPartition,
    records: readonly IncomingRecord[],
    nextOffset: bigint,
  ): Promise<void> | undefined {
    const line = this.#lines.get(keyOf(place));
    if (line === undefined || this.#closed) return undefined;
    if (line.caughtUp) this.#restart(line, records);
    line.caughtUp = true;
    const known = line.position;
    const fresh = known === undefined ? records : records.filter(({ offset }) => offset >= known);
    if (known === undefined || nextOffset > known) line.position = nextOffset;
    for (const record of fresh) line.waiting.push(record);
    line.limit = fresh.length >> 1;
    if (fresh.length > 0 && line.held === undefined) this.#events.available();
    if (this.#hasRoom(line)) return undefined;
    return (line.room ??= Promise.withResolvers()).promise;
  }

  /** Hands out one record of up to that many partitions. */
  take(max: number): Held[] {
    const taken: Held[] = [];
    for (const [key, line] of [...this.#lines]) {
      if (taken.length >= max) break;
      const record = line.held === undefined ? line.waiting.shift() : undefined;
      if (record === undefined) continue;
      const { topic, partition } = line;
      const held = { partition: { topic, partition }, records: [record], lost: false, line };
      line.held = held;
      taken.push(held);
      // Behind the others, so that no partition waits for ever.
      this.#lines.delete(key);
      this.#lines.set(key, line);
      this.#makeRoom(line);
    }
    return taken;
  }

  /** Adds the next records of the partition, as long as they are wanted. */
  extend(held: Held, max: number, wanted: (record: IncomingRecord) => boolean): void {
    const { line, records } = held as Holding;
    if (line.held !== held) return;
    while (records.length < max && line.waiting[0] !== undefined && wanted(line.waiting[0])) {
      records.push(line.waiting.shift()!);
    }
    this.#makeRoom(line);
  }

  /** Done with: the partition goes on behind it. */
  done(held: Held): void {
    this.#release(held, []);
  }

  /** Back to where it was: it is handed out again. Contract: K14. */
  rewind(held: Held): void {
    this.#release(held, held.records);
  }

  /** Whether anything could be handed out. */
  get hasAvailable(): boolean {
    for (const line of this.#lines.values()) {
      if (line.held === undefined && line.waiting.length > 0) return true;
    }
    return false;
  }

  /** The member is out of the group: nothing of this is its own any more. */
  end(reason: string): void {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    this.#memberId = undefined;
    this.#lose(lines, reason);
    this.#hasJoined();
  }

  /** Takes nothing in any more, and forgets what waits. What somebody works on can still be settled. */
  close(): void {
    this.#closed = true;
    for (const line of this.#lines.values()) line.waiting.length = 0;
  }

  /**
   * Records below where the partition goes on are of another log: what was taken of the old one is
   * nobody's any more, and a commit of it would go over the new one.
   */
  #restart(line: Line, records: readonly IncomingRecord[]): void {
    const { topic, partition, position } = line;
    const first = records[0];
    if (position === undefined || first === undefined || first.offset >= position) return;
    const place = `partition ${partition} of '${topic}'`;
    this.#lose([line], `it begins anew at offset ${first.offset}`);
    line.position = undefined;
    line.room = undefined;
    this.#events.restarted?.(
      { topic, partition },
      `${place} begins anew at offset ${first.offset}, below ${position}: everything in it is taken`,
    );
  }

  #release(held: Held, again: readonly IncomingRecord[]): void {
    const { line } = held as Holding;
    if (line.held !== held) return;
    line.held = undefined;
    if (!this.#closed) line.waiting.unshift(...again);
    this.#makeRoom(line);
    if (line.waiting.length > 0) this.#events.available();
  }

  #lose(lines: Iterable<Line>, reason: string): void {
    for (const line of lines) {
      line.room?.resolve();
      const { held } = line;
      line.held = undefined;
      line.waiting.length = 0;
      if (held === undefined) continue;
      held.lost = true;
      const place = `partition ${line.partition} of '${line.topic}'`;
      this.#events.lost(held, new Error(`Lost ${place}: ${reason}`));
    }
  }

  #hasJoined(): void {
    this.#joined.resolve();
    this.#joined = Promise.withResolvers();
  }

  #hasRoom(line: Line): boolean {
    if (!this.#ahead && line.held !== undefined) return false;
    return line.waiting.length <= (this.#ahead ? line.limit : 0);
  }

  #makeRoom(line: Line): void {
    if (line.room === undefined || !this.#hasRoom(line)) return;
    line.room.resolve();
    line.room = undefined;
  }
}

function newLine(topic: string, partition: number): Line {
  const waiting: IncomingRecord[] = [];
  return {
    topic,
    partition,
    waiting,
    position: undefined,
    caughtUp: true,
    held: undefined,
    limit: 0,
    room: undefined,
  };
}
