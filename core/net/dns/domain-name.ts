/** Bytes of a name as text: the 255 of RFC 1035, 2.3.4, without the first length and the root. */
const LONGEST = 253;
const LABELS = /^[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/;

/** The one form in which a name is asked for and remembered: lower case, without the final dot. Undefined: DNS has no such names. */
export function domainName(text: string): string | undefined {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return name.length <= LONGEST && LABELS.test(name) ? name.toLowerCase() : undefined;
}
