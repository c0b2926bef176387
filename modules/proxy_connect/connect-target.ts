import { isIP } from 'node:net';

/** Target of a client: `example.com:443`, `[2001:db8::1]:443`. */
export interface ConnectTarget {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isAddress: boolean;
}

const FORM = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]{1,253})):(\d{1,5})$/;

/** Undefined: it is not the authority of a server (RFC 9112, 3.2.3), or its port is none. */
export function parseConnectTarget(text: string): ConnectTarget | undefined {
  const [, literal, name, digits] = FORM.exec(text) ?? [];
  const host = literal ?? name ?? '';
  const port = Number(digits);
  const version = isIP(host);
  if (port < 1 || port > 65_535 || (literal !== undefined && version !== 6)) return undefined;
  return host === '' ? undefined : { host, port, isAddress: version !== 0 };
}
