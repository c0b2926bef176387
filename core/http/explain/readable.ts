/** Text for people from what a request has: strings of bytes (latin1), or text of a message. */
export function readable(text: string): string {
  return /^[\0-\x7f]*$/.test(text) || /[^\0-\xff]/.test(text) ? text : Buffer.from(text, 'latin1').toString();
}
