import type { RedisArgument } from "./client.ts";

/** A Lua script as the server gets it. */
export interface Script {
  /** Name of its file, without ending. */
  readonly name: string;
  /** SHA-1 of the source, in hexadecimal. */
  readonly sha: string;
  /** The text. */
  readonly source: string;
}

/** One run of a script. */
export interface ScriptCall {
  /** What runs. */
  readonly script: Script;
  /** Every key it touches; the first one routes the call in a cluster. */
  readonly keys: readonly string[];
  /** Its arguments. */
  readonly args: readonly RedisArgument[];
}

/** The command that runs a script the server knows. */
export function commandOf({ script, keys, args }: ScriptCall): RedisArgument[] {
  return ["EVALSHA", script.sha, `${keys.length}`, ...keys, ...args];
}
