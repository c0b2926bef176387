import { connect, Socket, type OnReadOpts } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Address } from '../../core/contract/address.js';
import type { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import { timedOut, type CheckFailure } from './probe.js';

/** How TLS is spoken with a member. */
export interface ProbeTls {
  readonly context: SecureContext;
  /** Sent by SNI, and what the certificate has to be for. */
  readonly name: string;
  readonly verifies: boolean;
}

/** Shared parts of the connections of all checks. */
export interface ConnectionMeans {
  /** Memory that reads go to. */
  readonly buffer: Buffer;
  readonly guard: ControlPlaneGuard;
}

/** Common parts of all connections of one kind of check. */
export interface ConnectionOptions {
  /** Undefined: no TLS. */
  readonly tls: ProbeTls | undefined;
  readonly means: ConnectionMeans;
}

/** Descriptors and ports that this server has not enough of. */
const OWN_ERRORS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

/** A connection for one check. */
export abstract class CheckConnection {
  protected step = 'connecting to upstream';
  readonly #socket: Socket;
  #isOver = false;

  constructor(
    address: Address,
    options: ConnectionOptions,
    private readonly done: (failure: CheckFailure | undefined) => void,
  ) {
    const { tls, means } = options;
    const { buffer } = means;
    const onread = {
      buffer,
      callback: (length: number): boolean => {
        this.#read(buffer.subarray(0, length));
        return true;
      },
    };
    this.#socket = openSocket(address, options, HTTP1, onread);
    this.#socket.on(tls === undefined ? 'connect' : 'secureConnect', () => this.#opened());
    if (tls !== undefined) {
      this.#socket.on('connect', () => (this.step = 'SSL handshaking to upstream'));
      this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    }
    this.#socket.on('end', () => this.#isOver || this.ended());
    this.#socket.on('error', (error) => this.finish(connectionFailure(error, this.step)));
    this.#socket.on('close', () => this.finish({ reason: 'connection closed', step: this.step }));
  }

  expire(): CheckFailure {
    this.cancel();
    return timedOut(this.step);
  }

  cancel(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  /** Both sides are connected. */
  protected abstract opened(): void;
  /** @param chunk its bytes are valid during the call */
  protected abstract read(chunk: Buffer): void;
  /** Nothing more will come. */
  protected abstract ended(): void;

  /** @param sent called when the bytes have left */
  protected write(bytes: string | Buffer, sent?: () => void): void {
    this.#socket.write(bytes, 'latin1', sent);
  }

  /** The check is over. */
  protected finish(failure: CheckFailure | undefined): void {
    if (this.#isOver) return;
    this.cancel();
    this.done(failure);
  }

  #opened(): void {
    if (!this.#isOver) this.opened();
  }

  #read(chunk: Buffer): void {
    if (!this.#isOver) this.read(chunk);
  }
}

const HTTP1 = ['http/1.1'];

/**
 * Opens the connection of a check.
 * @param protocols for ALPN
 * @param onread where reads go without TLS
 */
export function openSocket(
  address: Address,
  { tls, means: { guard } }: ConnectionOptions,
  protocols: string[],
  onread?: OnReadOpts,
): Socket {
  const rejection = guard.rejection(address);
  // The first flight leaves with the end of the handshake.
  if (rejection !== undefined) return new Socket().destroy(new RejectedAddress(rejection));
  return tls === undefined ? connect({ ...address, ...(onread && { onread }) }) : secured(address, tls, protocols);
}

/** Why a connection has failed. */
export function connectionFailure(error: NodeJS.ErrnoException, step: string): CheckFailure {
  const { code = '', syscall } = error;
  if (OWN_ERRORS.has(code)) return { reason: systemErrorText(error), step, isOwn: true };
  if (error instanceof RejectedAddress) return { reason: error.message, step };
  if (syscall === undefined) return { reason: tlsFailure(error), step };
  const call = syscall === 'connect' ? 'connect()' : 'recv()';
  return { reason: `${call} failed (${systemErrorText(error)})`, step };
}

/** A connection that must not be made (see {@link ControlPlaneGuard}). */
class RejectedAddress extends Error {}

function secured(address: Address, { context, name, verifies }: ProbeTls, protocols: string[]): Socket {
  const tls = process.getBuiltinModule('node:tls');
  return tls.connect({
    ...address,
    secureContext: context,
    ALPNProtocols: protocols,
    rejectUnauthorized: verifies,
    servername: process.getBuiltinModule('node:net').isIP(name) === 0 ? name : '',
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(name, certificate),
  });
}

/** Node's codes for what OpenSSL says about a certificate are OpenSSL's names. */
function tlsFailure({ code = 'ERR_', message }: NodeJS.ErrnoException): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'SSL certificate does not match the name';
  return code.startsWith('E') ? 'SSL handshake failed' : `SSL certificate verify error: (${message.split(';', 1)[0]})`;
}
