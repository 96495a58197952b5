/** Fails a test of the suite. The suite has assertions of its own so that it runs where `node:assert` is absent. */
export class SuiteError extends Error {
  override readonly name: string = "SuiteError";
}

/** Fails unless the condition holds. */
export function check(condition: unknown, expectation: string): asserts condition {
  if (!condition) throw new SuiteError(`Expected that ${expectation}`);
}

/** Fails unless both are the same: bytes by their bytes, arrays and objects by their members. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  if (same(actual, expected)) return;
  throw new SuiteError(`Expected ${what} to be ${show(expected)}, but it is ${show(actual)}`);
}

/** Fails unless the promise rejects with an error; gives that error. */
export async function rejects(promise: Promise<unknown>, what: string): Promise<Error> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    check(error instanceof Error, `${what} rejects with an Error`);
    return error;
  }
  throw new SuiteError(`Expected ${what} to reject, but it gave ${show(value)}`);
}

function same(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return left.length === right.length && left.every((byte, index) => byte === right[index]);
  }
  if (typeof left !== "object" || typeof right !== "object" || !left || !right) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Object.keys(left);
  return names.length === Object.keys(right).length &&
    names.every((name) =>
      Object.hasOwn(right, name) &&
      same((left as Record<string, unknown>)[name], (right as Record<string, unknown>)[name])
    );
}

function show(value: unknown): string {
  if (value instanceof Uint8Array) {
    return `${value.length} bytes '${new TextDecoder().decode(value.subarray(0, 500))}'`;
  }
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, 2_000);
  } catch {
    return String(value);
  }
}
