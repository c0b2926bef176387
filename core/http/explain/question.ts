import { isIP } from 'node:net';
import { ExplainError, type ExplainQuestion } from '../../contract/explain.js';

/** A question in the form for the explainer. */
export interface ParsedQuestion {
  readonly method: string;
  readonly url: string;
  /** True if the client speaks TLS. Undefined: the URL is a path, and the listener decides. */
  readonly secure: boolean | undefined;
  /** Of the URL, or of the header: `a.org`, `10.0.0.1`, `::1`. */
  readonly hostName: string;
  /** Undefined: the URL names none. */
  readonly port: number | undefined;
  readonly client: string;
  /** The head of the request, in latin1. */
  readonly head: string;
}

const URL_FORM = /^(?:(https?):\/\/([^/?#\s]+))?(\/[^#]*|\?[^#]*)?(?:#.*)?$/is;
/** The target of CONNECT (RFC 9112, 3.2.3). */
const TUNNEL_FORM = /^[^/?#\s@]+:\d{1,5}$/;
const CONTROL = /[\0-\x1f\x7f]/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** @throws ExplainError */
export function parseQuestion(question: ExplainQuestion): ParsedQuestion {
  const { url, method = 'GET', headers = [], client = '127.0.0.1' } = question;
  if (!TOKEN.test(method)) throw new ExplainError(`invalid method "${method}": a word like GET`, 'method');
  if (isIP(client) === 0 && client !== 'unix:')
    throw new ExplainError(`invalid client address "${client}": an IP address, or "unix:" for a client of a unix socket`, 'client');
  for (const [name, value] of headers) assertHeader(name, value);
  const { scheme, authority, target } = method === 'CONNECT' ? parseTunnel(url) : parseUrl(url);
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? authority;
  if (host === undefined)
    throw new ExplainError(`"${url}" names no host: write a URL like http://a.org/path, or send the header "Host: a.org"`, 'url');
  const { name, port } = splitHost(authority ?? host);
  const lines = headers.filter(([field]) => field.toLowerCase() !== 'host').map(([field, value]) => `${field}: ${value}\r\n`);
  const text = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`;
  return {
    method,
    url,
    secure: scheme === undefined ? undefined : scheme === 'https',
    hostName: name,
    // Where a tunnel leads to says nothing of where the proxy is, nor does a Host.
    port: scheme === undefined ? undefined : port,
    client,
    head: Buffer.from(text).latin1Slice(),
  };
}

interface ParsedUrl {
  /** Undefined: it is a path, or the target of a tunnel. */
  readonly scheme: string | undefined;
  readonly authority: string | undefined;
  /** As it is in a request line. */
  readonly target: string;
}

/** @throws ExplainError */
function parseUrl(url: string): ParsedUrl {
  const match = url === '' ? null : URL_FORM.exec(url);
  if (CONTROL.test(url))
    throw new ExplainError('the URL has a line end or another control character: write it percent-encoded, a line feed as %0A', 'url');
  if (match === null) throw new ExplainError(`invalid URL "${url}": write it like http://a.org/path?args`, 'url');
  const [, scheme, authority, path = '/'] = match;
  if (authority?.includes('@') === true)
    throw new ExplainError('the URL holds a user: send the header "Authorization: Basic …" instead', 'url');
  return { scheme: scheme?.toLowerCase(), authority, target: encoded(path.startsWith('/') ? path : `/${path}`) };
}

/** @throws ExplainError */
function parseTunnel(url: string): ParsedUrl {
  if (!TUNNEL_FORM.test(url)) throw new ExplainError(`invalid target "${url}" of CONNECT: write it like a.org:443`, 'url');
  return { scheme: undefined, authority: url, target: url };
}

function assertHeader(name: string, value: string): void {
  if (!TOKEN.test(name)) throw new ExplainError(`invalid header name "${name}": write a header like "Accept: text/html"`, 'headers');
  if (/[\0\r\n]/.test(value)) throw new ExplainError(`the value of header "${name}" has a line end: leave it out`, 'headers');
}

/** @throws ExplainError */
function splitHost(text: string): { name: string; port: number | undefined } {
  const match = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text);
  const port = match?.[3] === undefined ? undefined : Number(match[3]);
  if (match === null || (port !== undefined && (port < 1 || port > 65_535)))
    throw new ExplainError(`invalid host "${text}" in the URL: write it like a.org, a.org:8080 or [::1]:8080`, 'url');
  return { name: match[1] ?? match[2] ?? '', port };
}

/** Characters that a client would not send unescaped. */
function encoded(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character));
}
