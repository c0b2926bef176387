/** A name made of bytes of requests (latin1) as text. */
export function shownName(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}
