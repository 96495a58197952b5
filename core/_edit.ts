import { saturate } from "./attempts.ts";
import { FORBIDDEN_META } from "./_contract.ts";
import { BabelQueueError } from "./errors.ts";
import { isIdentity } from "./_fold.ts";
import { lastMember, layoutOf, metaSpan, stringOf } from "./_layout.ts";
import type { Member, ObjectSpan } from "./_scan.ts";
import type { Edit } from "./splice.ts";

/** Edits the text of a body of any shape; null stands for a body that is no text. Contract: C61, C65. */
export function editText(text: string | null, edit: Edit): string {
  if (text === null) throw refused("the body is not valid UTF-8");
  const root = objectOf(text);
  const job = lastMember(root, "job");
  const urn = lastMember(root, "urn");
  const attempts = lastMember(root, "attempts");
  const deadLetter = lastMember(root, "dead_letter");
  const hasJob = isIdentity(stringOf(text, job));
  const hasIdentity = hasJob || isIdentity(stringOf(text, urn));
  const folded = !hasJob && hasIdentity && urn !== undefined ? valueOf(text, urn) : undefined;
  const block = edit.deadLetter ? JSON.stringify(edit.deadLetter) : undefined;
  const count = edit.attempts === undefined ? undefined : String(saturate(edit.attempts));
  const missing = count !== undefined && attempts === undefined ? `"attempts":${count}` : undefined;

  return rebuild(text, root, {
    first: folded !== undefined && job === undefined ? `"job":${folded}` : undefined,
    change(member) {
      switch (member.name) {
        case "urn":
          return hasIdentity ? null : undefined;
        case "timestamp":
          return null;
        case "job":
          return member === job && folded !== undefined ? renew(text, member, folded) : undefined;
        case "attempts":
          return member === attempts && count !== undefined
            ? renew(text, member, count)
            : undefined;
        case "meta":
          return withoutForbidden(text, member);
        case "dead_letter": {
          if (edit.deadLetter === null) return null;
          if (member !== deadLetter) return undefined;
          const own = renew(text, member, block ?? valueOf(text, member));
          return missing === undefined ? own : `${missing},${own}`;
        }
      }
    },
    last: [
      deadLetter === undefined || edit.deadLetter === null ? missing : undefined,
      deadLetter === undefined && block !== undefined ? `"dead_letter":${block}` : undefined,
    ],
  });
}

/** How an object is rebuilt: what stands first, what becomes of its known members, what stands last. */
interface Changes {
  readonly first?: string | undefined;
  /** The new text of a member; null drops it, undefined leaves it. */
  change(member: Member): string | null | undefined;
  readonly last?: readonly (string | undefined)[];
}

/** Puts an object together from runs of untouched members and from changed ones. */
function rebuild(text: string, span: ObjectSpan, changes: Changes): string {
  const units: string[] = [];
  if (changes.first !== undefined) units.push(changes.first);
  let done = 0;
  let from = firstStart(text, span);
  for (const member of span.members) {
    const changed = changes.change(member);
    if (changed === undefined) continue;
    if (member.index > done) units.push(text.slice(from, member.previousEnd));
    if (changed !== null) units.push(changed);
    done = member.index + 1;
    from = member.nextStart;
  }
  if (done < span.count) units.push(text.slice(from, span.membersEnd));
  for (const unit of changes.last ?? []) {
    if (unit !== undefined) units.push(unit);
  }
  return `{${units.join(",")}}`;
}

function firstStart(text: string, span: ObjectSpan): number {
  return span.count === 0 ? span.membersEnd : text.indexOf('"', span.start);
}

function withoutForbidden(text: string, meta: Member): string | undefined {
  const span = metaSpan(text, meta);
  if (!span?.members.some((member) => FORBIDDEN_META.includes(member.name))) return undefined;
  const change = (member: Member): null | undefined =>
    FORBIDDEN_META.includes(member.name) ? null : undefined;
  return renew(text, meta, rebuild(text, span, { change }));
}

function renew(text: string, member: Member, value: string): string {
  return text.slice(member.start, member.valueStart) + value;
}

function valueOf(text: string, member: Member): string {
  return text.slice(member.valueStart, member.valueEnd);
}

function objectOf(text: string): ObjectSpan {
  let cause: string | ObjectSpan = layoutOf(text);
  if (typeof cause !== "string") {
    try {
      JSON.parse(text);
      return cause;
    } catch {
      cause = "the body is no valid JSON";
    }
  }
  throw refused(cause);
}

function refused(cause: string): BabelQueueError {
  return new BabelQueueError("invalid_envelope", `Cannot re-emit a body: ${cause}`);
}
