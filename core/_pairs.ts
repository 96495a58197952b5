/** Escapes of surrogates in a JSON text. */

/** What every escape of a surrogate has in it; an escaped backslash before it makes it a plain text. */
const PERHAPS = /\\u[dD][89a-fA-F]/;
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|[^])/g;

const SURROGATE = 0xfc00;
const HIGH = 0xd800;
const LOW = 0xdc00;
const ESCAPE_LENGTH = 6;

/** Whether a string of a JSON text escapes half a surrogate pair. */
export function splitsPair(text: string): boolean {
  if (!PERHAPS.test(text)) return false;
  for (const [string] of text.matchAll(STRING)) {
    if (isSplit(string)) return true;
  }
  return false;
}

function isSplit(string: string): boolean {
  let high = -1;
  for (const escape of string.matchAll(ESCAPE)) {
    const kind = escape[1] === undefined ? 0 : parseInt(escape[1], 16) & SURROGATE;
    const follows = high >= 0 && escape.index === high + ESCAPE_LENGTH;
    if (high >= 0 && !(follows && kind === LOW)) return true;
    if (kind === LOW && high < 0) return true;
    high = kind === HIGH ? escape.index : -1;
  }
  return high >= 0;
}
