import type { StapledStatus } from '../../../../contract/tls-library.js';
import type { TlsContextOptions } from '../../tls.js';
import { Control, NONE, type Handle, type OpenSsl } from './library.js';
import { TicketKeys } from './ticket-keys.js';

/** `SSL_TLSEXT_ERR_…`. */
const OK = 0;
const FATAL_ALERT = 2;
const NO_ACKNOWLEDGEMENT = 3;
/** Of a ticket. */
const FAILED = -1;
/** `X509_V_ERR_CERT_CHAIN_TOO_LONG`. */
const CHAIN_TOO_LONG = 22;
/** `SSL_VERIFY_PEER`. */
const VERIFY_PEER = 1;
/** `SSL_VERIFY_NONE`: of a client, the handshake goes on with a certificate that is not valid. */
const VERIFY_NONE = 0;

/** The connection that a call of OpenSSL is about, as far as it is asked for something. */
export interface TlsSubject {
  readonly options: TlsContextOptions;
  /** Protocols to choose from by ALPN, in the form of the wire, the preferred one first. */
  readonly protocols: Buffer;
  /** Of the certificate that the other side has shown. */
  isChainTooLong: boolean;
  /** @returns true: the session is used, and freed by the subject */
  onSession(session: Handle): boolean;
}

/**
 * Functions that OpenSSL calls in handshakes. It does so within a call of ours, in the same thread; an exception there would end the process, and so
 * nothing here leaves a function.
 */
export class Callbacks {
  /** The connection whose call is under way. */
  current: TlsSubject | undefined = undefined;
  readonly #chooseProtocol: Handle;
  readonly #acceptName: Handle;
  readonly #acceptCertificate: Handle;
  readonly #logKey: Handle;
  readonly #newSession: Handle;
  readonly #findSession: Handle;
  readonly #ticketKey: Handle;
  readonly #staple: Handle;
  /** By the certificates of each context. */
  readonly #statuses = new WeakMap<TlsContextOptions, ReadonlyMap<Handle, StapledStatus>>();

  constructor(private readonly ssl: OpenSsl) {
    const { ffi } = ssl;
    const tickets = new TicketKeys(ssl);
    this.#ticketKey = ssl.callback(
      ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'i32'],
      'i32',
      (_ssl, name, vector, cipher, mac, seals) =>
        guarded(() => {
          const options = this.current?.options;
          if (options === undefined) return FAILED;
          return seals === 1 ? tickets.seal(options, name, vector, cipher, mac) : tickets.open(options, name, vector, cipher, mac);
        }, FAILED),
    );
    this.#staple = ssl.callback(['pointer', 'pointer'], 'i32', (connection) =>
      guarded(() => this.#addStatus(connection), NO_ACKNOWLEDGEMENT),
    );
    this.#chooseProtocol = ssl.callback(
      ['pointer', 'pointer', 'pointer', 'pointer', 'u32', 'pointer'],
      'i32',
      (_ssl, result, length, offered, size) => guarded(() => this.#choose(result, length, offered, size), FATAL_ALERT),
    );
    // RFC 6066, 3: the server confirms that it has used the name.
    this.#acceptName = ssl.callback(['pointer', 'pointer', 'pointer'], 'i32', () => OK);
    this.#acceptCertificate = ssl.callback(['i32', 'pointer'], 'i32', (isValid, verification) => {
      if (isValid === 0) guarded(() => this.#keepLength(verification), OK);
      // The result is looked at after the handshake.
      return 1;
    });
    this.#logKey = ssl.callback(['pointer', 'pointer'], 'void', (_ssl, line) => {
      guarded(() => {
        this.current?.options.keyLog?.write(ffi.toString(line) ?? '');
        return OK;
      }, OK);
    });
    this.#newSession = ssl.callback(['pointer', 'pointer'], 'i32', (_ssl, session) =>
      guarded(() => (this.current?.onSession(session) === true ? 1 : 0), 0),
    );
    this.#findSession = ssl.callback(['pointer', 'pointer', 'i32', 'pointer'], 'pointer', (_ssl, id, length, copies) => {
      ffi.setInt32(copies, 0, 0);
      try {
        const found = this.current?.options.sessions?.find(ssl.bytes(id, length).latin1Slice());
        return found === undefined ? NONE : ssl.session(found);
      } catch {
        return NONE;
      }
    });
  }

  /** Clients that ask for it get the status of the certificate that was chosen. @param statuses by the certificates of the context */
  addStatuses(context: Handle, options: TlsContextOptions, statuses: ReadonlyMap<Handle, StapledStatus>): void {
    this.#statuses.set(options, statuses);
    this.ssl.c.SSL_CTX_callback_ctrl(context, Control.SetStatusCallback, this.#staple);
  }

  /** @throws Error of OpenSSL */
  addTo(context: Handle, options: TlsContextOptions): void {
    const { c } = this.ssl;
    c.SSL_CTX_set_alpn_select_cb(context, this.#chooseProtocol, NONE);
    c.SSL_CTX_callback_ctrl(context, Control.SetServerNameCallback, this.#acceptName);
    if (options.clientAuthority !== undefined) c.SSL_CTX_set_verify(context, VERIFY_PEER, this.#acceptCertificate);
    if (options.client?.verifies === true) c.SSL_CTX_set_verify(context, VERIFY_NONE, this.#acceptCertificate);
    if (options.keyLog !== undefined) c.SSL_CTX_set_keylog_callback(context, this.#logKey);
    if (options.sessions !== undefined || options.client?.keepsSessions === true) c.SSL_CTX_sess_set_new_cb(context, this.#newSession);
    if (options.sessions !== undefined) c.SSL_CTX_sess_set_get_cb(context, this.#findSession);
    if (options.ticketKeys !== undefined) c.SSL_CTX_set_tlsext_ticket_key_evp_cb(context, this.#ticketKey);
  }

  /** Keeps the error about the length of a chain: later ones follow from it, because the rest of the chain was not looked for. */
  #keepLength(verification: Handle): number {
    const { c } = this.ssl;
    const subject = this.current;
    if (subject === undefined) return OK;
    if (c.X509_STORE_CTX_get_error(verification) === CHAIN_TOO_LONG) subject.isChainTooLong = true;
    else if (subject.isChainTooLong) c.X509_STORE_CTX_set_error(verification, CHAIN_TOO_LONG);
    return OK;
  }

  /** RFC 6066, 8. OpenSSL frees the copy. */
  #addStatus(connection: Handle): number {
    const { c } = this.ssl;
    const options = this.current?.options;
    const status = options && this.#statuses.get(options)?.get(c.SSL_get_certificate(connection));
    const response = status?.response();
    if (response === undefined) return NO_ACKNOWLEDGEMENT;
    const copy = c.CRYPTO_memdup(response, BigInt(response.length), NONE, 0);
    if (copy === NONE) return NO_ACKNOWLEDGEMENT;
    c.SSL_ctrl(connection, Control.SetStatusResponse, BigInt(response.length), copy);
    return OK;
  }

  /** RFC 7301, 3.2. */
  #choose(result: Handle, length: Handle, offered: Handle, size: number): number {
    const own = this.current?.protocols;
    if (own === undefined || own.length === 0) return NO_ACKNOWLEDGEMENT;
    const { ffi } = this.ssl;
    const theirs = this.ssl.bytes(offered, size);
    for (let at = 0; at < own.length; at += 1 + (own[at] as number)) {
      const found = positionIn(theirs, own.subarray(at, at + 1 + (own[at] as number)));
      if (found < 0) continue;
      ffi.setUint64(result, 0, offered + BigInt(found + 1));
      ffi.setUint8(length, 0, own[at] as number);
      return OK;
    }
    return FATAL_ALERT;
  }
}

/** Where an entry is in a list of protocols, or -1. OpenSSL has checked the form of the list. */
function positionIn(list: Buffer, entry: Buffer): number {
  for (let at = 0; at < list.length; at += 1 + (list[at] as number)) {
    if (list.subarray(at, at + 1 + (list[at] as number)).equals(entry)) return at;
  }
  return -1;
}

/** @param failure result where the call throws */
function guarded(call: () => number, failure: number): number {
  try {
    return call();
  } catch {
    return failure;
  }
}
