import type * as Ffi from 'node:ffi';

/**
 * Functions of OpenSSL that the folder uses, from the library that Node.js has itself. Those of each request take numbers as pointers, which
 * node:ffi does not check, see calls.ts.
 */
const DEFINITIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  BIO_ctrl: { arguments: ['pointer', 'i32', 'i64', 'pointer'], return: 'i64' },
  BIO_free: { arguments: ['pointer'], return: 'i32' },
  BIO_new_mem_buf: { arguments: ['pointer', 'i32'], return: 'pointer' },
  BIO_new_socket: { arguments: ['i32', 'i32'], return: 'pointer' },
  BIO_up_ref: { arguments: ['pointer'], return: 'i32' },
  CRYPTO_free: { arguments: ['pointer', 'pointer', 'i32'], return: 'void' },
  CRYPTO_memdup: { arguments: ['pointer', 'u64', 'pointer', 'i32'], return: 'pointer' },
  ERR_clear_error: { arguments: [], return: 'void' },
  ERR_error_string_n: { arguments: ['u64', 'pointer', 'u64'], return: 'void' },
  ERR_get_error_all: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'u64' },
  EVP_DecryptInit_ex: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  EVP_EncryptInit_ex: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  EVP_MAC_CTX_set_params: { arguments: ['pointer', 'pointer'], return: 'i32' },
  EVP_PKEY_free: { arguments: ['pointer'], return: 'void' },
  EVP_PKEY_get_bits: { arguments: ['pointer'], return: 'i32' },
  EVP_aes_128_cbc: { arguments: [], return: 'pointer' },
  EVP_aes_256_cbc: { arguments: [], return: 'pointer' },
  PEM_read_bio_Parameters: { arguments: ['pointer', 'pointer'], return: 'pointer' },
  PEM_read_bio_PrivateKey: { arguments: ['pointer', 'pointer', 'pointer', 'string'], return: 'pointer' },
  PEM_read_bio_X509: { arguments: ['pointer', 'pointer', 'pointer', 'string'], return: 'pointer' },
  PEM_read_bio_X509_AUX: { arguments: ['pointer', 'pointer', 'pointer', 'string'], return: 'pointer' },
  PEM_read_bio_X509_CRL: { arguments: ['pointer', 'pointer', 'pointer', 'string'], return: 'pointer' },
  RAND_bytes: { arguments: ['pointer', 'i32'], return: 'i32' },
  SSL_CIPHER_get_name: { arguments: ['pointer'], return: 'pointer' },
  SSL_CTX_add_client_CA: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_CTX_callback_ctrl: { arguments: ['pointer', 'i32', 'pointer'], return: 'i64' },
  SSL_CTX_ctrl: { arguments: ['pointer', 'i32', 'i64', 'pointer'], return: 'i64' },
  SSL_CTX_free: { arguments: ['pointer'], return: 'void' },
  SSL_CTX_get_cert_store: { arguments: ['pointer'], return: 'pointer' },
  SSL_CTX_new: { arguments: ['pointer'], return: 'pointer' },
  SSL_CTX_sess_set_get_cb: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_CTX_sess_set_new_cb: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_CTX_set0_tmp_dh_pkey: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_CTX_set_alpn_select_cb: { arguments: ['pointer', 'pointer', 'pointer'], return: 'void' },
  SSL_CTX_set_cipher_list: { arguments: ['pointer', 'string'], return: 'i32' },
  SSL_CTX_set_ciphersuites: { arguments: ['pointer', 'string'], return: 'i32' },
  SSL_CTX_set_max_early_data: { arguments: ['pointer', 'u32'], return: 'i32' },
  SSL_CTX_set_keylog_callback: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_CTX_set_options: { arguments: ['pointer', 'u64'], return: 'u64' },
  SSL_CTX_set_session_id_context: { arguments: ['pointer', 'pointer', 'u32'], return: 'i32' },
  SSL_CTX_set_timeout: { arguments: ['pointer', 'i64'], return: 'i64' },
  SSL_CTX_set_tlsext_ticket_key_evp_cb: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_CTX_set_verify: { arguments: ['pointer', 'i32', 'pointer'], return: 'void' },
  SSL_CTX_set_verify_depth: { arguments: ['pointer', 'i32'], return: 'void' },
  SSL_CTX_use_PrivateKey: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_CTX_use_certificate: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_SESSION_free: { arguments: ['pointer'], return: 'void' },
  SSL_SESSION_get_id: { arguments: ['pointer', 'pointer'], return: 'pointer' },
  SSL_ctrl: { arguments: ['pointer', 'i32', 'i64', 'pointer'], return: 'i64' },
  SSL_do_handshake: { arguments: ['pointer'], return: 'i32' },
  SSL_free: { arguments: ['pointer'], return: 'void' },
  SSL_get0_alpn_selected: { arguments: ['pointer', 'pointer', 'pointer'], return: 'void' },
  SSL_get0_peer_certificate: { arguments: ['pointer'], return: 'pointer' },
  SSL_get_certificate: { arguments: ['pointer'], return: 'pointer' },
  SSL_get_current_cipher: { arguments: ['pointer'], return: 'pointer' },
  SSL_get_error: { arguments: ['pointer', 'i32'], return: 'i32' },
  SSL_get_peer_signature_type_nid: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_get_session: { arguments: ['pointer'], return: 'pointer' },
  SSL_get_signature_type_nid: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_get_verify_result: { arguments: ['pointer'], return: 'i64' },
  SSL_get_version: { arguments: ['pointer'], return: 'pointer' },
  SSL_has_pending: { arguments: ['pointer'], return: 'i32' },
  SSL_is_init_finished: { arguments: ['pointer'], return: 'i32' },
  SSL_new: { arguments: ['pointer'], return: 'pointer' },
  SSL_read: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
  SSL_read_early_data: { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  SSL_session_reused: { arguments: ['pointer'], return: 'i32' },
  SSL_set_alpn_protos: { arguments: ['pointer', 'pointer', 'u32'], return: 'i32' },
  SSL_set0_rbio: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_set0_wbio: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_set_accept_state: { arguments: ['pointer'], return: 'void' },
  SSL_set_connect_state: { arguments: ['pointer'], return: 'void' },
  SSL_set_session: { arguments: ['pointer', 'pointer'], return: 'i32' },
  SSL_set_shutdown: { arguments: ['pointer', 'i32'], return: 'void' },
  SSL_shutdown: { arguments: ['pointer'], return: 'i32' },
  SSL_write: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
  SSL_write_early_data: { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  TLS_method: { arguments: [], return: 'pointer' },
  X509_CRL_free: { arguments: ['pointer'], return: 'void' },
  X509_STORE_CTX_get_error: { arguments: ['pointer'], return: 'i32' },
  X509_STORE_CTX_set_error: { arguments: ['pointer', 'i32'], return: 'void' },
  X509_STORE_add_cert: { arguments: ['pointer', 'pointer'], return: 'i32' },
  X509_STORE_add_crl: { arguments: ['pointer', 'pointer'], return: 'i32' },
  X509_STORE_set_flags: { arguments: ['pointer', 'u64'], return: 'i32' },
  X509_check_host: { arguments: ['pointer', 'pointer', 'u64', 'u32', 'pointer'], return: 'i32' },
  X509_check_ip_asc: { arguments: ['pointer', 'string', 'u32'], return: 'i32' },
  X509_free: { arguments: ['pointer'], return: 'void' },
  X509_verify_cert_error_string: { arguments: ['i64'], return: 'pointer' },
  d2i_SSL_SESSION: { arguments: ['pointer', 'pointer', 'i64'], return: 'pointer' },
  i2d_SSL_SESSION: { arguments: ['pointer', 'pointer'], return: 'i32' },
  i2d_X509: { arguments: ['pointer', 'pointer'], return: 'i32' },
} as const;

type Functions = Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];

/** Of functions that OpenSSL calls. */
type Argument = 'pointer' | 'i32' | 'u32';
type Value<A> = A extends 'pointer' ? Handle : number;
type Given<A extends readonly Argument[]> = { [at in keyof A]: Value<A[at]> };

/** An object of OpenSSL. */
export type Handle = bigint;

export const NONE: Handle = 0n;

/** Results of SSL_get_error. */
export const enum SslError {
  Ssl = 1,
  WantRead = 2,
  WantWrite = 3,
  Syscall = 5,
  ZeroReturn = 6,
}

/** Commands of SSL_CTX_ctrl and SSL_ctrl (openssl/ssl.h). */
export const enum Control {
  SetMode = 33,
  SetReadAhead = 41,
  SetSessionCacheMode = 44,
  SetMaxSendFragment = 52,
  SetServerNameCallback = 53,
  SetServerName = 55,
  SetStatusCallback = 63,
  SetStatusResponse = 71,
  ClearExtraChain = 83,
  AddChainCertificate = 89,
  SetGroups = 92,
  SetSignatureAlgorithms = 98,
  GetPeerSignatureHash = 108,
  SetDhAuto = 118,
  SetMinVersion = 123,
  SetMaxVersion = 124,
  GetMinVersion = 130,
  GetMaxVersion = 131,
  GetSignatureHash = 132,
  NegotiatedGroup = 134,
}

/** Arguments of BIO_ctrl (openssl/bio.h). */
export const BIO_SET_END_RESULT = 130;

/** Bytes for the text of one error. */
const ERROR_SIZE = 256;
/** Errors of one failure that are reported. */
const MOST_ERRORS = 4;
/** ERR_TXT_STRING: the data of an error are a text. */
const IS_TEXT = 2;

/** OpenSSL in one thread. Memory that is given to it is kept permanently, or as long as the object that refers to it. */
export class OpenSsl {
  readonly c: Functions;
  readonly #lib: Ffi.DynamicLibrary;
  readonly #errno: Handle;
  readonly #error: Buffer = Buffer.alloc(ERROR_SIZE);
  /** Two pointers and a number that functions fill in. */
  readonly #words: Buffer = Buffer.alloc(24);
  readonly #wordsAt: Handle;
  readonly #names = new Map<Handle, string>();
  #last: Uint8Array | undefined = undefined;
  #lastAt = NONE;
  /** Of the memory that {@link at} was last asked for. */
  lastLength = 0n;

  /** @throws Error if a function is missing */
  constructor(readonly ffi: typeof Ffi) {
    const { lib, functions } = ffi.dlopen(null, DEFINITIONS);
    this.#lib = lib;
    this.c = functions;
    this.#errno = functions.__errno_location();
    this.#wordsAt = ffi.getRawPointer(this.#words);
  }

  /** A function that OpenSSL calls, within a call of this thread. It must not throw. Kept permanently. */
  callback<const A extends readonly Argument[], const R extends Argument | 'void'>(
    given: A,
    result: R,
    call: (...values: Given<A>) => R extends 'void' ? void : Value<R>,
  ): Handle {
    return this.#lib.registerCallback({ arguments: given, return: result }, call as () => never);
  }

  /** Number of the error of the last system call. */
  get errno(): number {
    return this.ffi.getInt32(this.#errno);
  }

  /** Where memory is that outlives the use of the pointer. Nearly all reads go to the same buffer. */
  at(bytes: Uint8Array): Handle {
    if (bytes === this.#last) return this.#lastAt;
    this.#last = bytes;
    this.lastLength = BigInt(bytes.length);
    return (this.#lastAt = this.ffi.getRawPointer(bytes));
  }

  /** Text that OpenSSL keeps permanently. */
  name(text: Handle): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = text === NONE ? '' : (this.ffi.toString(text) ?? '');
    this.#names.set(text, name);
    return name;
  }

  /** Takes the errors of the last call, the first one first: `error:0A00010B:SSL routines::wrong version number`. */
  takeErrors(): string {
    const texts: string[] = [];
    for (let code = this.#nextError(); code !== 0n; code = this.#nextError()) {
      if (texts.length === MOST_ERRORS) continue;
      this.c.ERR_error_string_n(code, this.#error, BigInt(ERROR_SIZE));
      const text = this.#error.latin1Slice(0, this.#error.indexOf(0));
      const data = (this.#words.readInt32LE(16) & IS_TEXT) === 0 ? '' : (this.ffi.toString(this.#words.readBigUInt64LE(8)) ?? '');
      texts.push(data === '' ? text : `${text}:${data}`);
    }
    return texts.join(' ');
  }

  /** Memory in which functions say how many bytes they have moved, for {@link moved}. */
  get movedAt(): Handle {
    return this.#wordsAt;
  }

  get moved(): number {
    return Number(this.#words.readBigUInt64LE(0));
  }

  #nextError(): bigint {
    return this.c.ERR_get_error_all(NONE, NONE, NONE, this.#wordsAt + 8n, this.#wordsAt + 16n);
  }

  /** @throws Error with what OpenSSL says */
  assert(succeeded: boolean): void {
    if (!succeeded) throw new Error(this.takeErrors() || 'OpenSSL has failed');
  }

  /** An object as bytes in DER. @param encode `i2d_…` @returns undefined: it cannot be encoded */
  encoded(object: Handle, encode: 'i2d_SSL_SESSION' | 'i2d_X509'): Buffer | undefined {
    this.#words.writeBigUInt64LE(NONE, 0);
    const length = this.c[encode](object, NONE);
    if (length <= 0) {
      this.c.ERR_clear_error();
      return undefined;
    }
    const bytes = Buffer.allocUnsafeSlow(length);
    this.#words.writeBigUInt64LE(this.ffi.getRawPointer(bytes), 0);
    this.c[encode](object, this.#wordsAt);
    return bytes;
  }

  /** A session of {@link encoded}. `NONE`: it is none. */
  session(bytes: Buffer): Handle {
    this.#words.writeBigUInt64LE(this.ffi.getRawPointer(bytes), 0);
    const session = this.c.d2i_SSL_SESSION(NONE, this.#wordsAt, BigInt(bytes.length));
    if (session === NONE) this.c.ERR_clear_error();
    return session;
  }

  /** The id of a session, as a string of bytes. */
  sessionId(session: Handle): string {
    if (session === NONE) return '';
    const at = this.c.SSL_SESSION_get_id(session, this.#wordsAt);
    return this.bytes(at, this.#words.readUInt32LE(0)).latin1Slice();
  }

  /** Hexadecimal digits. */
  sessionIdHex(session: Handle): string {
    return Buffer.from(this.sessionId(session), 'latin1').toString('hex');
  }

  /** The protocol that ALPN has chosen. */
  protocolOf(ssl: Handle): string | undefined {
    this.c.SSL_get0_alpn_selected(ssl, this.#wordsAt, this.#wordsAt + 16n);
    const length = this.#words.readUInt32LE(16);
    return length === 0 ? undefined : this.bytes(this.#words.readBigUInt64LE(0), length).latin1Slice();
  }

  /**
   * How this side of a handshake, or the other one, has signed it: OpenSSL's numbers of the names of a type of key and a hash.
   * Undefined: it has not.
   */
  signatureOf(ssl: Handle, side: 'own' | 'other'): readonly [type: number, hash: number] | undefined {
    const { c } = this;
    const isOwn = side === 'own';
    this.#words.writeBigUInt64LE(NONE, 0);
    const isSigned = (isOwn ? c.SSL_get_signature_type_nid : c.SSL_get_peer_signature_type_nid)(ssl, this.#wordsAt) === 1;
    if (!isSigned) return undefined;
    c.SSL_ctrl(ssl, isOwn ? Control.GetSignatureHash : Control.GetPeerSignatureHash, 0n, this.#wordsAt + 4n);
    return [this.#words.readInt32LE(0), this.#words.readInt32LE(4)];
  }

  /** A copy. */
  bytes(at: Handle, length: number): Buffer {
    return at === NONE || length === 0 ? Buffer.alloc(0) : this.ffi.toBuffer(at, length, true);
  }
}
