import type { TunnelHead } from '../../core/contract/tunnel.js';

const HEAD = /^HTTP\/1\.[01] (2\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*)\r\n$/;

/** Parses the response of `proxy_connect_response`. Undefined: it is not the head of a 2xx response. */
export function parseConnectResponse(text: string): TunnelHead | undefined {
  const [, status, reason = '', lines] = HEAD.exec(text) ?? [];
  if (lines === undefined) return undefined;
  const fields = lines
    .split('\r\n')
    .slice(0, -1)
    .map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
  return { status: Number(status), reason, fields };
}
