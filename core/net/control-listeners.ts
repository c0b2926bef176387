import { statSync } from 'node:fs';
import type { Address } from '../contract/address.js';
import { plainBytes } from '../contract/binary-address.js';
import { ControlPlaneGuard } from '../contract/control-plane-guard.js';
import { isLocalAddress } from './local-address.js';
import type { Target } from './transport/transport.js';

/** A socket that a process of the control plane listens on. The API is not served over UDP. */
export interface ControlListener {
  readonly host: string;
  readonly port: number;
  /** Path of a unix socket, or undefined. */
  readonly path: string | undefined;
  readonly ipv6Only: boolean;
}

/** Words of the shared memory: the version, which is odd while the text changes, bytes of the text, unix sockets, a bit for each TCP port. */
const enum Word {
  Version,
  Length,
  Paths,
  Ports,
}
const PORT_WORDS = 65_536 / 32;
const TEXT_AT = (Word.Ports + PORT_WORDS) * 4;
const TEXT_BYTES = 65_536;
/** The listeners do not fit into the text: every address of this machine counts at their ports. */
const TOO_LONG = -1;

const REJECTION = 'connect() rejected: the control plane of this server listens there, "api_from_data_plane on" would allow it';

const ANY_V4 = '\0'.repeat(4);
const ANY_V6 = '\0'.repeat(16);

/**
 * Where the control plane listens, in memory that all threads of the data plane share: a connection to a member is never one to the API, which
 * everyone who may send requests could use then. Written by the master before a socket is opened.
 */
export class ControlListeners extends ControlPlaneGuard {
  readonly #words: Int32Array;
  readonly #text: Uint8Array;
  /** The version that was read last. */
  #version = 0;
  #listeners: readonly ControlListener[] = [];

  constructor(readonly memory = new SharedArrayBuffer(TEXT_AT + TEXT_BYTES)) {
    super();
    this.#words = new Int32Array(memory, 0, Word.Ports + PORT_WORDS);
    this.#text = new Uint8Array(memory, TEXT_AT);
  }

  /** Another number after each change. */
  get version(): number {
    return Atomics.load(this.#words, Word.Version);
  }

  /** Replaces all listeners. */
  publish(listeners: readonly ControlListener[]): void {
    const words = this.#words;
    const ports = new Int32Array(PORT_WORDS);
    for (const { port, path } of listeners) if (path === undefined) ports[port >>> 5]! |= 1 << (port & 31);
    const text = new TextEncoder().encode(JSON.stringify(listeners));
    Atomics.add(words, Word.Version, 1);
    if (text.length <= TEXT_BYTES) this.#text.set(text);
    words[Word.Length] = text.length <= TEXT_BYTES ? text.length : TOO_LONG;
    Atomics.store(words, Word.Paths, listeners.filter(({ path }) => path !== undefined).length);
    for (let at = 0; at < PORT_WORDS; at++) Atomics.store(words, Word.Ports + at, ports[at]!);
    Atomics.add(words, Word.Version, 1);
  }

  rejection(address: Address): string | undefined {
    return this.isReachedBy(address) ? REJECTION : undefined;
  }

  /** True if a connection to this address would reach the control plane. For almost all of them this is one look at a bit. */
  isReachedBy(target: Target): boolean {
    if ('path' in target)
      return Atomics.load(this.#words, Word.Paths) > 0 && this.#current().some(({ path }) => isSameFile(path, target.path));
    const { host, port, localAddress } = target;
    if ((Atomics.load(this.#words, Word.Ports + (port >>> 5)) & (1 << (port & 31))) === 0) return false;
    const listeners = this.#current();
    if (this.#words[Word.Length] === TOO_LONG) return isLocal(plainBytes(host), host);
    const bytes = plainBytes(host);
    const same = listeners.filter((listener) => listener.path === undefined && listener.port === port);
    // Linux connects to the address that the socket is bound to then, or to loopback.
    if (bytes !== ANY_V4 && bytes !== ANY_V6) return same.some((listener) => accepts(listener, bytes, host));
    const meant = [bytes === ANY_V4 ? '127.0.0.1' : '::1', ...(localAddress === undefined ? [] : [localAddress])];
    return same.some((listener) => meant.some((one) => accepts(listener, plainBytes(one), one)));
  }

  #current(): readonly ControlListener[] {
    const words = this.#words;
    for (;;) {
      const version = Atomics.load(words, Word.Version);
      if (version === this.#version) return this.#listeners;
      const text = Buffer.from(this.#text.slice(0, Math.max(words[Word.Length]!, 0))).toString();
      if (version % 2 !== 0 || Atomics.load(words, Word.Version) !== version) continue;
      this.#listeners = text === '' ? [] : (JSON.parse(text) as ControlListener[]);
      this.#version = version;
    }
  }
}

/** @param host what the bytes were read from */
function accepts(listener: ControlListener, bytes: string, host: string): boolean {
  const own = plainBytes(listener.host);
  if (own === bytes) return true;
  const isAny = own === ANY_V4 ? bytes.length === 4 : own === ANY_V6 && (bytes.length === 16 || !listener.ipv6Only);
  return isAny && isLocal(bytes, host);
}

const isLocal = (bytes: string, host: string): boolean => bytes === ANY_V4 || bytes === ANY_V6 || isLocalAddress(host);

/** Whatever the path is called: through links, relative, with dots. */
function isSameFile(listening: string | undefined, target: string): boolean {
  if (listening === undefined) return false;
  if (listening === target) return true;
  const [a, b] = [fileAt(listening), fileAt(target)];
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function fileAt(path: string): { readonly ino: number; readonly dev: number } | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is a file: nothing can be reached there.
    return undefined;
  }
}
