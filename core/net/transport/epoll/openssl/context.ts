import type { StapledStatus, TlsCommand } from '../../../../contract/tls-library.js';
import type { TlsContextOptions } from '../../tls.js';
import { Control, NONE, type Handle, type OpenSsl } from './library.js';
import type { Callbacks } from './callbacks.js';
import { ConfCommands } from './conf-commands.js';
import { eachCertificate, eachRevocationList, readPem } from './pem.js';

/** `SSL_OP_…`: bits of options. */
const CIPHER_SERVER_PREFERENCE = 1n << 22n;
const NO_COMPRESSION = 1n << 17n;
const NO_RENEGOTIATION = 1n << 30n;
/** Early data is not looked for in a memory of what came before: as in nginx, replays are left to what handles requests (RFC 8470). */
const NO_ANTI_REPLAY = 1n << 24n;
/** Bytes of early data that a client may send, as in nginx. */
const MOST_EARLY_DATA = 16_384;
/** The end of a connection without close_notify is an end (as in nginx). */
const IGNORE_UNEXPECTED_EOF = 1n << 7n;
/** `SSL_MODE_…`: partial writes, buffers that may move, memory that idle connections do not hold. */
const MODE = 1n | 2n | 16n;
/** `SSL_SESS_CACHE_…`: of the client and the server, without the memory of OpenSSL. */
const CACHE_MODE = 1n | 2n | 0x80n | 0x300n;
/** `X509_V_FLAG_CRL_CHECK` and `…_ALL`: of each certificate of a chain. */
const CHECK_REVOKED = 4n | 8n;
/** As Node.js has it: shorter parameters are not safe. */
const LEAST_DH_BITS = 1024;

const VERSIONS: Readonly<Record<string, bigint>> = { TLSv1: 0x301n, 'TLSv1.1': 0x302n, 'TLSv1.2': 0x303n, 'TLSv1.3': 0x304n };

/**
 * A context (SSL_CTX) for connections of either side. Freed by SSL_CTX_free; connections have a reference of their own.
 * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
 */
export function makeContext(ssl: OpenSsl, options: TlsContextOptions, callbacks: Callbacks): Handle {
  const context = ssl.c.SSL_CTX_new(ssl.c.TLS_method());
  ssl.assert(context !== NONE);
  try {
    new ContextSetup(ssl, context).apply(options, callbacks);
    return context;
  } catch (error) {
    ssl.c.SSL_CTX_free(context);
    ssl.c.ERR_clear_error();
    throw error;
  }
}

class ContextSetup {
  constructor(
    private readonly ssl: OpenSsl,
    private readonly context: Handle,
  ) {}

  apply(options: TlsContextOptions, callbacks: Callbacks): void {
    const { ssl, context } = this;
    const { c } = ssl;
    this.#control(Control.SetMode, MODE);
    this.#control(Control.SetReadAhead, 1n);
    this.#control(Control.SetSessionCacheMode, CACHE_MODE);
    const order = options.honorCipherOrder === true ? CIPHER_SERVER_PREFERENCE : 0n;
    c.SSL_CTX_set_options(context, BigInt(options.secureOptions ?? 0) | order | NO_COMPRESSION | NO_RENEGOTIATION | IGNORE_UNEXPECTED_EOF);
    if (options.earlyData === true) {
      c.SSL_CTX_set_options(context, NO_ANTI_REPLAY);
      c.SSL_CTX_set_max_early_data(context, MOST_EARLY_DATA);
    }
    if (options.recordSize !== undefined) this.#control(Control.SetMaxSendFragment, BigInt(options.recordSize));
    this.#negotiation(options);
    const statuses = this.#certificates(options);
    if (statuses.size > 0) callbacks.addStatuses(context, options, statuses);
    this.#authorities(options);
    if (options.sessionTimeout !== undefined) c.SSL_CTX_set_timeout(context, BigInt(options.sessionTimeout));
    if (options.sessionIdContext !== undefined) {
      const name = Buffer.from(options.sessionIdContext);
      ssl.assert(c.SSL_CTX_set_session_id_context(context, name, name.length) === 1);
    }
    callbacks.addTo(context, options);
    if (options.commands !== undefined && options.commands.length > 0) this.#commands(options.commands);
  }

  /** Versions that were turned off stay off. */
  #commands(commands: readonly TlsCommand[]): void {
    const { c } = this.ssl;
    const limit = (command: Control): bigint => c.SSL_CTX_ctrl(this.context, command, 0n, NONE);
    const [least, most] = [limit(Control.GetMinVersion), limit(Control.GetMaxVersion)];
    new ConfCommands(this.ssl).apply(this.context, commands);
    if (limit(Control.GetMinVersion) < least) this.#control(Control.SetMinVersion, least);
    const newMost = limit(Control.GetMaxVersion);
    if (newMost === 0n || newMost > most) this.#control(Control.SetMaxVersion, most);
  }

  #negotiation({ minVersion, maxVersion, ciphers, ecdhCurve, sigalgs, dhparam }: TlsContextOptions): void {
    const { ssl, context } = this;
    const { c } = ssl;
    this.#control(Control.SetMinVersion, VERSIONS[minVersion ?? 'TLSv1.2'] ?? 0n);
    this.#control(Control.SetMaxVersion, VERSIONS[maxVersion ?? 'TLSv1.3'] ?? 0n);
    if (ciphers !== undefined) {
      const names = ciphers.split(':');
      ssl.assert(c.SSL_CTX_set_ciphersuites(context, names.filter(isSuite).join(':')) === 1);
      const list = names.filter((name) => !isSuite(name)).join(':');
      if (list !== '') ssl.assert(c.SSL_CTX_set_cipher_list(context, list) === 1);
      else this.#control(Control.SetMinVersion, VERSIONS['TLSv1.3'] as bigint);
    }
    if (ecdhCurve !== undefined && ecdhCurve !== 'auto') this.#text(Control.SetGroups, ecdhCurve);
    if (sigalgs !== undefined) this.#text(Control.SetSignatureAlgorithms, sigalgs);
    if (dhparam === 'auto') this.#control(Control.SetDhAuto, 1n);
    else if (dhparam !== undefined) this.#dhParameters(dhparam);
  }

  #dhParameters(pem: string | Buffer): void {
    const { ssl } = this;
    const { c } = ssl;
    const parameters = readPem(ssl, pem, (bio) => c.PEM_read_bio_Parameters(bio, NONE));
    ssl.assert(parameters !== NONE);
    const isUsed = c.EVP_PKEY_get_bits(parameters) >= LEAST_DH_BITS && c.SSL_CTX_set0_tmp_dh_pkey(this.context, parameters) === 1;
    if (isUsed) return;
    c.EVP_PKEY_free(parameters);
    throw new Error('DH parameter is less than 1024 bits');
  }

  /** Each type of key has a chain of its own. @returns the statuses that clients may get, by the certificate */
  #certificates({ cert, key, statuses = [] }: TlsContextOptions): ReadonlyMap<Handle, StapledStatus> {
    const { ssl, context } = this;
    const { c } = ssl;
    const stapled = new Map<Handle, StapledStatus>();
    for (const [place, pem] of [cert ?? []].flat().entries()) {
      eachCertificate(ssl, pem, (certificate, at) => {
        const status = at === 0 ? statuses[place] : undefined;
        // The context has a reference.
        if (status !== undefined) stapled.set(certificate, status);
        if (at > 0) return c.SSL_CTX_ctrl(context, Control.AddChainCertificate, 1n, certificate) === 1n;
        return c.SSL_CTX_use_certificate(context, certificate) === 1;
      });
    }
    for (const one of [key ?? []].flat()) {
      const [pem, passphrase = ''] = typeof one === 'string' || Buffer.isBuffer(one) ? [one] : [one.pem, one.passphrase];
      // Without a text for the password OpenSSL would ask for it at the terminal.
      const privateKey = readPem(ssl, pem, (bio) => c.PEM_read_bio_PrivateKey(bio, NONE, NONE, passphrase));
      ssl.assert(privateKey !== NONE);
      const isUsed = c.SSL_CTX_use_PrivateKey(context, privateKey) === 1;
      c.EVP_PKEY_free(privateKey);
      ssl.assert(isUsed);
    }
    return stapled;
  }

  #authorities({ ca, trusted = [], crl, clientAuthority, verifyDepth }: TlsContextOptions): void {
    const { ssl, context } = this;
    const { c } = ssl;
    const store = c.SSL_CTX_get_cert_store(context);
    const isServer = clientAuthority !== undefined;
    for (const pem of [ca ?? []].flat())
      eachCertificate(ssl, pem, (authority) => {
        const isNamed = !isServer || c.SSL_CTX_add_client_CA(context, authority) === 1;
        return c.X509_STORE_add_cert(store, authority) === 1 && isNamed;
      });
    for (const pem of trusted) eachCertificate(ssl, pem, (authority) => c.X509_STORE_add_cert(store, authority) === 1);
    for (const pem of [crl ?? []].flat()) {
      eachRevocationList(ssl, pem, (list) => c.X509_STORE_add_crl(store, list) === 1);
      c.X509_STORE_set_flags(store, CHECK_REVOKED);
    }
    if (verifyDepth !== undefined && Number.isFinite(verifyDepth)) c.SSL_CTX_set_verify_depth(context, verifyDepth);
  }

  #control(command: Control, value: bigint): void {
    this.ssl.c.SSL_CTX_ctrl(this.context, command, value, NONE);
  }

  #text(command: Control, text: string): void {
    this.ssl.assert(this.ssl.c.SSL_CTX_ctrl(this.context, command, 0n, Buffer.from(`${text}\0`, 'latin1')) === 1n);
  }
}

/** Suites of TLS 1.3 have a list of their own. */
function isSuite(name: string): boolean {
  return name.startsWith('TLS_');
}
