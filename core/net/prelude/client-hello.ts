/** The first message of a TLS handshake (RFC 8446, 4.1.2): which host the client wants, before anything is decided. */

const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
const HANDSHAKE = 0x16;
const CLIENT_HELLO = 1;
/** Version and random. */
const FIXED = 34;
const EXTENSION_SERVER_NAME = 0;
const HOST_NAME = 0;
/** A longer hello, or one in more records, nobody sends: the handshake may look at it, the search for a name costs no more. */
const MAX_HELLO = 16_384;
const MAX_RECORDS = 8;

/**
 * The host name in the ClientHello at the start of `bytes` (SNI, RFC 6066, 3), in lower case. An empty string: there is none, or this is no
 * hello that can be read, which the handshake will tell. Undefined: more bytes are needed.
 */
export function helloServerName(bytes: Buffer): string | undefined {
  const message = handshakeMessage(bytes);
  if (typeof message === 'string') return message;
  return message === undefined ? undefined : nameIn(message);
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

function nameIn(hello: Buffer): string {
  // Behind version and random: session id, cipher suites, compression methods.
  let at = skip(hello, FIXED, 1);
  at = skip(hello, at, 2);
  at = skip(hello, at, 1) + 2;
  while (at + 4 <= hello.length) {
    const end = at + 4 + hello.readUInt16BE(at + 2);
    if (hello.readUInt16BE(at) === EXTENSION_SERVER_NAME) return hostName(hello.subarray(at + 4, end));
    at = end;
  }
  return '';
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
