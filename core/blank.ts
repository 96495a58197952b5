/** Whether `code` is one of the six characters that count as blank. */
function isBlankCode(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/**
 * Tells whether a string is empty or holds nothing but space, tab, line feed, vertical tab, form
 * feed and carriage return. Other Unicode spaces, a BOM included, are content.
 *
 * @param value The string to look at.
 * @returns True when nothing but blanks is in it.
 */
export function isBlank(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    if (!isBlankCode(value.charCodeAt(at))) return false;
  }
  return true;
}

/**
 * Removes the six ASCII blanks from both ends of a string, and nothing else. Contract: C90, C91.
 *
 * @param value The string to trim.
 * @returns The rest.
 */
export function trimAscii(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlankCode(value.charCodeAt(start))) start++;
  while (end > start && isBlankCode(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}
