/**
 * Runs a decision table that is written down as a table. A column says which options are set, a row
 * what happened at which delivery of three (`1/3`), and a cell what `decide` must answer:
 *
 * | Cell                                  | Meaning                                             |
 * | ------------------------------------- | --------------------------------------------------- |
 * | `ack`, `drop`                         | acknowledged after success, or given up             |
 * | `retry n`                             | delivered again with n counted attempts             |
 * | `failed n`, `unknown_urn n`, `poison n` | a record with that reason and `dead_letter.attempts` |
 * | `raw`                                 | the body itself on the dead-letter queue            |
 * | `native`                              | the broker's own dead-letter place                  |
 * | `release`, `return`, `leave`          | as the verdicts                                     |
 * | `+1s`                                 | held in the worker first                            |
 *
 * A row with one cell says the same for all columns. Bodies, names and blocks are checked beside.
 *
 * @module
 */

import assert from "node:assert/strict";
import { NonRetriableError, UnknownUrnError } from "../../core/errors.ts";
import { decide, type DecideOptions, type Outcome, type Subject } from "../../runtime/decide.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import { test } from "../harness.ts";
import {
  bytes,
  NOW_MS,
  openEnvelope,
  options,
  RECEIVED_FROM,
  say,
  subject,
  text,
} from "./_decisions.ts";

const POISON = '{"x":1}';
const GATED = '{ "job": "urn:babel:shop:paid", "meta": { "schema_version": 2 } }\n';

/** What every record of a table must say. */
export interface RecordNames {
  /** The dead-letter queue of `shop-eu`. */
  readonly deadLetterQueue: string;
  /** `original_queue` of a readable message. */
  readonly originalQueue: string;
}

/** Registers one test for each row of a table. */
export function decisionTable(
  broker: string,
  policy: SettlementPolicy,
  names: RecordNames,
  table: string,
): void {
  const [header, ...rows] = table.trim().split("\n").map(cells);
  assert(header !== undefined && rows.length > 0);
  for (const [label = "", ...row] of rows) {
    test(`decide() on ${broker}: ${label}`, () => {
      const wanted = row.length === 1 ? header.slice(1).map(() => row[0]) : row;
      assert.equal(wanted.length, header.length - 1, "the row has a cell for each column");
      header.slice(1).forEach((column, index) => {
        const what = `${label}, ${column}`;
        const { outcome, delivery } = happening(label);
        const decision = decide(outcome, delivery, policy, columnOptions(column));
        assert.equal(say(outcome, decision), wanted[index], what);
        assert.equal(decision.requestedMs, undefined, what);
        checkBytes(what, outcome, delivery, decision.verdict, names);
      });
    });
  }
}

function cells(line: string): string[] {
  return line.split("|").slice(1, -1).map((cell) => cell.trim());
}

/** `delete on` = strategy delete, dead-lettering on; `null` = dead-lettering on, but opted out. */
function columnOptions(column: string): DecideOptions {
  const set: { -readonly [K in keyof DecideOptions]?: DecideOptions[K] } = {};
  for (const word of column.split(" ")) {
    if (word === "on" || word === "off") set.deadLetter = word === "on";
    else if (word === "null") Object.assign(set, { deadLetter: true, deadLetterQueue: null });
    else if (word === "delete" || word === "release" || word === "dead_letter") {
      set.onUnknownUrn = word;
    } else assert.fail(`unknown column '${column}'`);
  }
  return options(set);
}

function happening(label: string): { outcome: Outcome; delivery: Subject } {
  const [, what = "", at] = /^(.*?)(?: (\d)\/3)?$/.exec(label) ?? [];
  const reconciled = at === undefined ? 0 : Number(at) - 1;
  const readable = subject({ reconciled });
  switch (what) {
    case "ok":
      return { outcome: { kind: "handled" }, delivery: readable };
    case "fails":
      return { outcome: { kind: "failed", error: new TypeError("boom") }, delivery: readable };
    case "fails for good":
      return {
        outcome: { kind: "failed", error: new NonRetriableError("boom") },
        delivery: readable,
      };
    case "unknown URN": {
      const error = new UnknownUrnError("urn:babel:shop:paid", RECEIVED_FROM);
      return { outcome: { kind: "unknownUrn", error }, delivery: readable };
    }
    case "poison":
      return {
        outcome: { kind: "poison", cause: "no identity" },
        delivery: subject({ reconciled, body: bytes(POISON), metaQueue: null }),
      };
    case "gated":
      return {
        outcome: { kind: "gated", version: "2" },
        delivery: subject({ reconciled, body: bytes(GATED), metaQueue: null }),
      };
    case "write fails":
      return { outcome: { kind: "writeFailed" }, delivery: readable };
    case "shutdown":
      return { outcome: { kind: "shutdown" }, delivery: readable };
    default:
      return assert.fail(`unknown row '${label}'`);
  }
}

function checkBytes(
  what: string,
  outcome: Outcome,
  delivery: Subject,
  verdict: ReturnType<typeof decide>["verdict"],
  names: RecordNames,
): void {
  if (verdict.kind === "retry") {
    const wanted = outcome.kind === "poison" ? POISON : openEnvelope(verdict.attempts) + "}";
    assert.equal(text(verdict.body), wanted, what);
    assert.equal(verdict.delayMs, 0, what);
  }
  if (verdict.kind !== "deadLetter") return;
  assert.equal(verdict.queue, names.deadLetterQueue, what);
  const found = text(verdict.record);
  switch (verdict.reason) {
    case "gated":
      assert.equal(found, GATED, what);
      break;
    case "poison": {
      const error = /"error":"(Undecodable BabelQueue body: .*?)","exception"/.exec(found)?.[1];
      assert(error !== undefined, what);
      const block = { error, exception: "BabelQueueError" };
      const end = blockText("poison", block, RECEIVED_FROM, delivery.reconciled);
      assert.equal(found, `{"x":1,${end}}`, what);
      break;
    }
    default: {
      const counted = /"attempts":(\d+)/.exec(found)?.[1];
      const attempts = Number(counted);
      // Written on first sight by the strategy, or counted on the failure route.
      const direct = attempts === delivery.reconciled;
      assert(direct || attempts === delivery.reconciled + 1, what);
      const error = "error" in outcome && !direct
        ? { error: (outcome.error as Error).message, exception: (outcome.error as Error).name }
        : { error: null, exception: null };
      const end = blockText(verdict.reason, error, names.originalQueue, attempts);
      assert.equal(found, `${openEnvelope(attempts)},${end}}`, what);
    }
  }
}

function blockText(
  reason: string,
  error: { readonly error: string | null; readonly exception: string | null },
  originalQueue: string,
  attempts: number,
): string {
  const block = {
    reason,
    ...error,
    failed_at: NOW_MS,
    original_queue: originalQueue,
    attempts,
    lang: "node",
  };
  return `"dead_letter":${JSON.stringify(block)}`;
}
