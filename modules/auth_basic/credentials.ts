/** Credentials of a client with Basic authentication (RFC 7617, 2). Bytes as latin1 strings. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/** Undefined: the field is missing, or is something else. */
export function parseCredentials(authorization: string | undefined): Credentials | undefined {
  const encoded = authorization && BASIC.exec(authorization)?.[1];
  if (encoded === undefined || encoded === '' || encoded.replace(/=+$/, '').length % 4 === 1) return undefined;
  const text = Buffer.from(encoded, 'base64').latin1Slice();
  const colon = text.indexOf(':');
  return colon > 0 ? { user: text.slice(0, colon), password: text.slice(colon + 1) } : undefined;
}

/** The field WWW-Authenticate; the realm is a string of bytes. */
export function challenge(realm: string): string {
  return `Basic realm="${realm.replace(/["\\]/g, String.raw`\$&`)}", charset="UTF-8"`;
}
