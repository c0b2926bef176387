/** The first message of a TLS handshake (RFC 8446, 4.1.2): which host and which session the client wants, before anything is decided. */

const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
const HANDSHAKE = 0x16;
const CLIENT_HELLO = 1;
/** Version and random. */
const FIXED = 34;
const EXTENSION_SERVER_NAME = 0;
const EXTENSION_PRE_SHARED_KEY = 41;
const HOST_NAME = 0;
/** A longer hello, or one in more records, nobody sends: the handshake may look at it, the search for a name costs no more. */
const MAX_HELLO = 16_384;
const MAX_RECORDS = 8;

/** What a client says of itself. */
export interface ClientHello {
  /** The host name (SNI, RFC 6066, 3), in lower case; empty: there is none. */
  readonly serverName: string;
  /** The session of TLS 1.3 that it offers first (RFC 8446, 4.2.11): bytes as a latin1 string; empty: none. */
  readonly session: string;
}

const SAYS_NOTHING: ClientHello = { serverName: '', session: '' };

/**
 * Reads the ClientHello at the start of `bytes`. One that cannot be read says nothing, which the handshake will tell. Undefined: more bytes
 * are needed.
 */
export function readClientHello(bytes: Buffer): ClientHello | undefined {
  const message = handshakeMessage(bytes);
  if (message === undefined || message === '') return message === '' ? SAYS_NOTHING : undefined;
  return helloIn(message);
}

/** The body of the first handshake message, put together from its records. */
function handshakeMessage(bytes: Buffer): Buffer | '' | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; parts.length < MAX_RECORDS;) {
    if (at + RECORD_HEAD > bytes.length) return undefined;
    if (bytes[at] !== HANDSHAKE) return '';
    const end = at + RECORD_HEAD + bytes.readUInt16BE(at + 3);
    parts.push(bytes.subarray(at + RECORD_HEAD, end));
    const message = wholeMessage(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    if (message !== undefined) return message;
    if (end > bytes.length) return undefined;
    at = end;
  }
  return '';
}

/** Undefined: more is needed. */
function wholeMessage(bytes: Buffer): Buffer | '' | undefined {
  if (bytes.length < MESSAGE_HEAD) return undefined;
  const length = MESSAGE_HEAD + bytes.readUIntBE(1, 3);
  if (bytes[0] !== CLIENT_HELLO || length > MAX_HELLO) return '';
  return bytes.length < length ? undefined : bytes.subarray(MESSAGE_HEAD, length);
}

function helloIn(hello: Buffer): ClientHello {
  let [serverName, session]: [string | undefined, string] = [undefined, ''];
  // Behind version and random: session id, cipher suites, compression methods.
  let at = skip(hello, FIXED, 1);
  at = skip(hello, at, 2);
  at = skip(hello, at, 1) + 2;
  while (at + 4 <= hello.length) {
    const end = at + 4 + hello.readUInt16BE(at + 2);
    const type = hello.readUInt16BE(at);
    if (type === EXTENSION_SERVER_NAME) serverName ??= hostName(hello.subarray(at + 4, end));
    else if (type === EXTENSION_PRE_SHARED_KEY) session = firstIdentity(hello.subarray(at + 4, end));
    at = end;
  }
  return { serverName: serverName ?? '', session };
}

/** The first of a list of identities, each with its length in front of it. */
function firstIdentity(list: Buffer): string {
  const end = skip(list, 2, 2);
  return list.latin1Slice(4, end);
}

/** Offset behind a vector whose length stands in `width` bytes before it. */
function skip(bytes: Buffer, at: number, width: 1 | 2): number {
  if (at + width > bytes.length) return bytes.length;
  return at + width + bytes.readUIntBE(at, width);
}

/** A list of names; the first one that is a host name counts. */
function hostName(list: Buffer): string {
  for (let at = 2; at + 3 <= list.length;) {
    const end = at + 3 + list.readUInt16BE(at + 1);
    if (list[at] === HOST_NAME && end <= list.length) return list.latin1Slice(at + 3, end).toLowerCase();
    at = end;
  }
  return '';
}
