/** The first message of a TLS handshake (RFC 8446, 4.1.2): what a client wants, before anything is decided, and without a key. */
import { VectorReader } from './vector-reader.js';

const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
const HANDSHAKE = 0x16;
const CLIENT_HELLO = 1;
/** First byte of the versions from SSL 3 to TLS 1.3. */
const MAJOR = 3;
const RANDOM = 32;
/** No client sends a longer one. */
const MAX_HELLO = 16_384;
/** A client may spread its hello over many small records (RFC 8446, 5.1), but records without bytes would have no end. */
const MAX_RECORDS = 512;

const EXTENSION_SERVER_NAME = 0;
const EXTENSION_GROUPS = 10;
const EXTENSION_SIGNATURES = 13;
const EXTENSION_ALPN = 16;
const EXTENSION_PRE_SHARED_KEY = 41;
const EXTENSION_SUPPORTED_VERSIONS = 43;
const HOST_NAME = 0;
const TLS_1_3 = 0x0304;

/** Content of a client's hello. Texts are strings of bytes (latin1). */
export interface ClientHello {
  /** The latest version that it supports: `0x0303` is TLS 1.2, `0x0304` TLS 1.3. */
  readonly version: number;
  /** The host name as it was sent (SNI, RFC 6066, 3); empty: there is none. */
  readonly serverName: string;
  /** The protocols of the application that it supports (ALPN, RFC 7301), the one it prefers first. */
  readonly protocols: readonly string[];
  /** The session of TLS 1.3 that it offers first (RFC 8446, 4.2.11); empty: none. */
  readonly session: string;
  /** Numbers of two bytes each, in its order: cipher suites (RFC 8446, 4.1.2), groups (4.2.7) and algorithms of signatures (4.2.3). */
  readonly ciphers: string;
  readonly groups: string;
  readonly signatures: string;
}

const NOTHING_SAID = { serverName: '', protocols: [], session: '', ciphers: '', groups: '', signatures: '' } as const;

/**
 * Reads the ClientHello at the start of `bytes`, which may be a part of it. Never throws.
 * @param longest bytes that the message may have
 * @returns undefined: more bytes are needed; null: this is none, or a malformed one
 */
export function readClientHello(bytes: Buffer, longest = MAX_HELLO): ClientHello | undefined | null {
  if (bytes.length < RECORD_HEAD) return bytes.length > 0 && !mayBegin(bytes[0] as number) ? null : undefined;
  if (isVersion2(bytes)) return { ...NOTHING_SAID, version: bytes.readUInt16BE(3) };
  const message = handshakeMessage(bytes, longest);
  return message ? helloIn(message) : message;
}

function mayBegin(first: number): boolean {
  return first === HANDSHAKE || (first & 0x80) !== 0;
}

/** The hello of SSL 2 (RFC 5246, E.2), by which old clients begin although they support later versions. It has no extensions. */
function isVersion2(bytes: Buffer): boolean {
  return ((bytes[0] as number) & 0x80) !== 0 && bytes[2] === CLIENT_HELLO && (bytes[3] === 0 || bytes[3] === MAJOR);
}

/** The body of the first handshake message, put together from its records. Undefined and null as in {@link readClientHello}. */
function handshakeMessage(bytes: Buffer, longest: number): Buffer | undefined | null {
  const parts: Buffer[] = [];
  let length = 0;
  /** Bytes of the message, once its head has arrived. */
  let whole: number | undefined;
  for (let at = 0; parts.length < MAX_RECORDS;) {
    if (at + RECORD_HEAD > bytes.length) return undefined;
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== MAJOR) return null;
    const end = at + RECORD_HEAD + bytes.readUInt16BE(at + 3);
    const part = bytes.subarray(at + RECORD_HEAD, end);
    parts.push(part);
    length += part.length;
    if (whole === undefined && length >= MESSAGE_HEAD) {
      whole = messageLength(joined(parts));
      if (whole === undefined || whole > longest) return null;
    }
    if (whole !== undefined && length >= whole) return joined(parts).subarray(MESSAGE_HEAD, whole);
    if (end > bytes.length) return undefined;
    at = end;
  }
  return null;
}

/** Bytes of a hello, its head included; undefined: it is another message. */
function messageLength(head: Buffer): number | undefined {
  return head[0] === CLIENT_HELLO ? MESSAGE_HEAD + head.readUIntBE(1, 3) : undefined;
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

/** Null: it is malformed. */
function helloIn(message: Buffer): ClientHello | null {
  const reader = new VectorReader(message);
  const version = reader.number(2);
  reader.skip(RANDOM);
  reader.vector(1); // session id
  const ciphers = reader.text(2);
  reader.vector(1); // compression methods
  const said: Said = {};
  // Versions before TLS 1.3 may go without extensions.
  if (!reader.isAtEnd) readExtensions(reader.vector(2), said);
  if (reader.isBroken) return null;
  const { supported = version, serverName = '', protocols = [], session = '', groups = '', signatures = '' } = said;
  return { version: supported, serverName, protocols, session, ciphers, groups, signatures };
}

/** Content of extensions. The first of a kind counts. */
interface Said {
  supported?: number | undefined;
  serverName?: string;
  protocols?: readonly string[];
  session?: string;
  groups?: string;
  signatures?: string;
}

function readExtensions(list: VectorReader, said: Said): void {
  while (!list.isAtEnd) {
    const type = list.number(2);
    const extension = list.vector(2);
    if (type === EXTENSION_SERVER_NAME) said.serverName ??= hostName(extension);
    else if (type === EXTENSION_ALPN) said.protocols ??= protocolNames(extension);
    else if (type === EXTENSION_SUPPORTED_VERSIONS) said.supported ??= latestVersion(extension);
    else if (type === EXTENSION_GROUPS) said.groups ??= extension.text(2);
    else if (type === EXTENSION_SIGNATURES) said.signatures ??= extension.text(2);
    else if (type === EXTENSION_PRE_SHARED_KEY) said.session ??= extension.vector(2).text(2);
  }
}

/** A list of names; the first one that is a host name counts. */
function hostName(extension: VectorReader): string {
  const names = extension.vector(2);
  let host: string | undefined;
  while (!names.isAtEnd) {
    const type = names.number(1);
    const name = names.text(2);
    if (type === HOST_NAME) host ??= name;
  }
  return host ?? '';
}

function protocolNames(extension: VectorReader): readonly string[] {
  const list = extension.vector(2);
  const names: string[] = [];
  while (!list.isAtEnd) names.push(list.text(1));
  return names;
}

/** The latest known version; others are drafts, or reserved to test implementations (RFC 8701). Undefined: there is none. */
function latestVersion(extension: VectorReader): number | undefined {
  const list = extension.vector(1);
  let latest: number | undefined;
  while (!list.isAtEnd) {
    const version = list.number(2);
    if (version <= TLS_1_3 && version > (latest ?? 0)) latest = version;
  }
  return latest;
}
