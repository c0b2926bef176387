import type { TlsContextOptions } from '../../tls.js';
import { NONE, type Handle, type OpenSsl } from './library.js';

/** Bytes of the name of a key, and of the initialization vector. */
const PART = 16;

/** Results of the callback (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)). */
const FAILED = -1;
const UNKNOWN = 0;
const USE = 1;
/** Use it, and give the client another ticket. */
const RENEW = 2;

/** `struct ossl_param_st`: name, kind, data, size and size of the result. */
const PARAMETER_SIZE = 40;
const KIND_TEXT = 4;
const KIND_BYTES = 5;

interface TicketKey {
  readonly name: Buffer;
  readonly aes: Buffer;
  /** AES-128 or AES-256, by the length of its key. */
  readonly cipher: Handle;
  /** Parameters of the HMAC, which lead to the memory after them. */
  readonly mac: Buffer;
  readonly memory: readonly Buffer[];
}

/** Tickets of one thread: encrypted with the first key of a context, and accepted with each of its keys. */
export class TicketKeys {
  readonly #keys = new WeakMap<TlsContextOptions, readonly TicketKey[]>();
  readonly #vector: Buffer = Buffer.alloc(PART);

  constructor(private readonly ssl: OpenSsl) {}

  /** Encrypts the next ticket. @returns see SSL_CTX_set_tlsext_ticket_key_evp_cb(3), as {@link open} */
  seal(options: TlsContextOptions, name: Handle, vector: Handle, cipher: Handle, mac: Handle): number {
    const [key] = this.#keysOf(options);
    if (key === undefined) return FAILED;
    const { c, ffi } = this.ssl;
    if (c.RAND_bytes(this.#vector, PART) !== 1) return FAILED;
    ffi.exportBuffer(key.name, name, PART);
    ffi.exportBuffer(this.#vector, vector, PART);
    const isReady = c.EVP_EncryptInit_ex(cipher, key.cipher, NONE, key.aes, this.#vector) === 1;
    return isReady && c.EVP_MAC_CTX_set_params(mac, key.mac) === 1 ? USE : FAILED;
  }

  /** Decrypts a ticket of a client. */
  open(options: TlsContextOptions, name: Handle, vector: Handle, cipher: Handle, mac: Handle): number {
    const { c } = this.ssl;
    const asked = this.ssl.bytes(name, PART);
    const keys = this.#keysOf(options);
    const key = keys.find((one) => one.name.equals(asked));
    if (key === undefined) return UNKNOWN;
    const isReady = c.EVP_MAC_CTX_set_params(mac, key.mac) === 1 && c.EVP_DecryptInit_ex(cipher, key.cipher, NONE, key.aes, vector) === 1;
    if (!isReady) return FAILED;
    return key === keys[0] ? USE : RENEW;
  }

  #keysOf(options: TlsContextOptions): readonly TicketKey[] {
    const known = this.#keys.get(options);
    if (known !== undefined) return known;
    const { ticketKeys, formerTicketKeys = [] } = options;
    const keys = ticketKeys === undefined ? [] : [ticketKeys, ...formerTicketKeys].map((key) => this.#key(key));
    this.#keys.set(options, keys);
    return keys;
  }

  #key(key: Buffer): TicketKey {
    const length = (key.length - PART) / 2;
    const part = (from: number, to: number): Buffer => Buffer.from(key.subarray(from, to));
    const [name, hmac, aes] = [part(0, PART), part(PART, PART + length), part(PART + length, key.length)];
    const { c } = this.ssl;
    const cipher = length === PART ? c.EVP_aes_128_cbc() : c.EVP_aes_256_cbc();
    const [keyName, digestName, digest] = [Buffer.from('key\0'), Buffer.from('digest\0'), Buffer.from('sha256\0')];
    // An empty one ends the list.
    const mac = Buffer.alloc(3 * PARAMETER_SIZE);
    this.#setParameter(mac, 0, keyName, KIND_BYTES, hmac, hmac.length);
    this.#setParameter(mac, PARAMETER_SIZE, digestName, KIND_TEXT, digest, digest.length - 1);
    return { name, aes, cipher, mac, memory: [keyName, digestName, digest, hmac] };
  }

  #setParameter(list: Buffer, at: number, name: Buffer, kind: number, data: Buffer, size: number): void {
    const { ffi } = this.ssl;
    list.writeBigUInt64LE(ffi.getRawPointer(name), at);
    list.writeUInt32LE(kind, at + 8);
    list.writeBigUInt64LE(ffi.getRawPointer(data), at + 16);
    list.writeBigUInt64LE(BigInt(size), at + 24);
  }
}
