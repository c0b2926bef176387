/** Value of the first cookie of that name, in any case, in a Cookie field (RFC 6265, 4.2); undefined if there is none. */
export function cookieValue(pairs: string | undefined, name: string): string | undefined {
  if (pairs === undefined) return undefined;
  const wanted = name.toLowerCase();
  for (const pair of pairs.split(/;\s*/)) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim().toLowerCase() === wanted) return pair.slice(equals + 1).trim();
  }
  return undefined;
}
