import type * as Ffi from 'node:ffi';
import type { CertificateChain, StatusInquiry } from '../../../../contract/tls-library.js';
import { NONE, type Handle, type OpenSsl } from './library.js';
import { eachCertificate } from './pem.js';

const DEFINITIONS = {
  ASN1_TIME_diff: { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  OCSP_BASICRESP_free: { arguments: ['pointer'], return: 'void' },
  OCSP_CERTID_free: { arguments: ['pointer'], return: 'void' },
  OCSP_REQUEST_free: { arguments: ['pointer'], return: 'void' },
  OCSP_REQUEST_new: { arguments: [], return: 'pointer' },
  OCSP_RESPONSE_free: { arguments: ['pointer'], return: 'void' },
  OCSP_basic_verify: { arguments: ['pointer', 'pointer', 'pointer', 'u64'], return: 'i32' },
  OCSP_cert_status_str: { arguments: ['i64'], return: 'pointer' },
  OCSP_cert_to_id: { arguments: ['pointer', 'pointer', 'pointer'], return: 'pointer' },
  OCSP_check_validity: { arguments: ['pointer', 'pointer', 'i64', 'i64'], return: 'i32' },
  OCSP_request_add0_id: { arguments: ['pointer', 'pointer'], return: 'pointer' },
  OCSP_resp_find_status: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  OCSP_response_get1_basic: { arguments: ['pointer'], return: 'pointer' },
  OCSP_response_status: { arguments: ['pointer'], return: 'i32' },
  OCSP_response_status_str: { arguments: ['i64'], return: 'pointer' },
  OPENSSL_sk_free: { arguments: ['pointer'], return: 'void' },
  OPENSSL_sk_new_null: { arguments: [], return: 'pointer' },
  OPENSSL_sk_push: { arguments: ['pointer', 'pointer'], return: 'i32' },
  OPENSSL_sk_value: { arguments: ['pointer', 'i32'], return: 'pointer' },
  X509_STORE_CTX_free: { arguments: ['pointer'], return: 'void' },
  X509_STORE_CTX_get1_issuer: { arguments: ['pointer', 'pointer', 'pointer'], return: 'i32' },
  X509_STORE_CTX_init: { arguments: ['pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  X509_STORE_CTX_new: { arguments: [], return: 'pointer' },
  X509_STORE_free: { arguments: ['pointer'], return: 'void' },
  X509_STORE_new: { arguments: [], return: 'pointer' },
  X509_check_issued: { arguments: ['pointer', 'pointer'], return: 'i32' },
  X509_email_free: { arguments: ['pointer'], return: 'void' },
  X509_get1_ocsp: { arguments: ['pointer'], return: 'pointer' },
  X509_up_ref: { arguments: ['pointer'], return: 'i32' },
  d2i_OCSP_RESPONSE: { arguments: ['pointer', 'pointer', 'i64'], return: 'pointer' },
  i2d_OCSP_REQUEST: { arguments: ['pointer', 'pointer'], return: 'i32' },
} as const;

type Functions = Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];

/** `X509_V_OK`. */
const VALID = 0;
/** `OCSP_RESPONSE_STATUS_SUCCESSFUL`, `V_OCSP_CERTSTATUS_GOOD`. */
const SUCCESSFUL = 0;
const GOOD = 0;
/** Flags of OCSP_basic_verify: `OCSP_NOVERIFY`, `OCSP_TRUSTOTHER`. */
const NOT_VERIFIED = 0x10n;
const TRUSTS_CHAIN = 0x200n;
/** Seconds that the clock of a responder may differ (nginx). */
const SKEW = 300n;
const DAY = 86_400_000;

/** A certificate as OpenSSL has it, with what its issuer is looked for in. */
interface ReadChain {
  readonly certificate: Handle;
  /** Certificates that it sends along. */
  readonly chain: readonly Handle[];
  readonly store: Handle;
}

/** OCSP by OpenSSL: questions and responses. Everything of a call is freed at its end. */
export class OcspCalls {
  readonly #c: Functions;
  /** Numbers and pointers that functions fill in. */
  readonly #words = Buffer.alloc(32);
  readonly #at: Handle;

  /** @throws Error if a function is missing */
  constructor(private readonly ssl: OpenSsl) {
    this.#c = ssl.ffi.dlopen(null, DEFINITIONS).functions;
    this.#at = ssl.ffi.getRawPointer(this.#words);
  }

  inquiryOf(subject: CertificateChain): StatusInquiry | undefined {
    return this.#within(subject, (read, freed) => {
      const id = this.#idOf(read, freed);
      if (id === NONE) return undefined;
      const request = freed(this.#c.OCSP_REQUEST_new(), this.#c.OCSP_REQUEST_free);
      // The request has it then.
      if (this.#c.OCSP_request_add0_id(request, id) === NONE) {
        this.#c.OCSP_CERTID_free(id);
        throw this.#failure('OCSP_request_add0_id');
      }
      return { request: this.#encoded(request), responder: this.#responderOf(read.certificate) };
    });
  }

  validityOf(response: Buffer, subject: CertificateChain, verifies: boolean): number {
    const c = this.#c;
    return this.#within(subject, (read, freed) => {
      const whole = freed(this.#decoded(response), c.OCSP_RESPONSE_free);
      const status = c.OCSP_response_status(whole);
      if (status !== SUCCESSFUL)
        throw new Error(`OCSP response not successful (${status}: ${this.ssl.name(c.OCSP_response_status_str(BigInt(status)))})`);
      const basic = freed(c.OCSP_response_get1_basic(whole), c.OCSP_BASICRESP_free);
      if (basic === NONE) throw this.#failure('OCSP_response_get1_basic');
      const others = freed(c.OPENSSL_sk_new_null(), c.OPENSSL_sk_free);
      for (const other of read.chain) c.OPENSSL_sk_push(others, other);
      if (c.OCSP_basic_verify(basic, others, read.store, verifies ? TRUSTS_CHAIN : NOT_VERIFIED) !== 1)
        throw this.#failure('OCSP_basic_verify');
      return this.#validity(basic, freed(this.#idOf(read, freed), c.OCSP_CERTID_free));
    });
  }

  /** @throws Error */
  assertResponse(bytes: Buffer): void {
    this.#c.OCSP_RESPONSE_free(this.#decoded(bytes));
  }

  /** @returns milliseconds */
  #validity(basic: Handle, id: Handle): number {
    const c = this.#c;
    const [status, begin, end] = [this.#at, this.#at + 8n, this.#at + 16n];
    this.#words.fill(0);
    if (id === NONE || c.OCSP_resp_find_status(basic, id, status, NONE, NONE, begin, end) !== 1)
      throw new Error('certificate status not found in the OCSP response');
    const number = this.#words.readInt32LE(0);
    if (number !== GOOD)
      throw new Error(`certificate status "${this.ssl.name(c.OCSP_cert_status_str(BigInt(number)))}" in the OCSP response`);
    const [from, until] = [this.#words.readBigUInt64LE(8), this.#words.readBigUInt64LE(16)];
    if (c.OCSP_check_validity(from, until, SKEW, -1n) !== 1) throw this.#failure('OCSP_check_validity');
    if (until === NONE) return Infinity;
    // From now on.
    if (c.ASN1_TIME_diff(this.#at, this.#at + 4n, NONE, until) !== 1) throw new Error('invalid nextUpdate time in certificate status');
    return this.#words.readInt32LE(0) * DAY + this.#words.readInt32LE(4) * 1000;
  }

  /** `NONE`: the issuer is not known. */
  #idOf({ certificate, chain, store }: ReadChain, freed: Freed): Handle {
    const c = this.#c;
    const issuer =
      chain.find((one) => c.X509_check_issued(one, certificate) === VALID) ??
      freed(this.#issuerIn(store, certificate), this.ssl.c.X509_free);
    return issuer === NONE ? NONE : c.OCSP_cert_to_id(NONE, certificate, issuer);
  }

  #issuerIn(store: Handle, certificate: Handle): Handle {
    const c = this.#c;
    const search = c.X509_STORE_CTX_new();
    this.#words.fill(0);
    const isFound =
      c.X509_STORE_CTX_init(search, store, NONE, NONE) === 1 && c.X509_STORE_CTX_get1_issuer(this.#at, search, certificate) === 1;
    c.X509_STORE_CTX_free(search);
    return isFound ? this.#words.readBigUInt64LE(0) : NONE;
  }

  #responderOf(certificate: Handle): string | undefined {
    const c = this.#c;
    const urls = c.X509_get1_ocsp(certificate);
    if (urls === NONE) return undefined;
    const first = c.OPENSSL_sk_value(urls, 0);
    const url = first === NONE ? undefined : (this.ssl.ffi.toString(first) ?? undefined);
    c.X509_email_free(urls);
    return url;
  }

  #encoded(request: Handle): Buffer {
    const c = this.#c;
    const length = c.i2d_OCSP_REQUEST(request, NONE);
    if (length <= 0) throw this.#failure('i2d_OCSP_REQUEST');
    const bytes = Buffer.alloc(length);
    this.#words.writeBigUInt64LE(this.ssl.ffi.getRawPointer(bytes), 0);
    c.i2d_OCSP_REQUEST(request, this.#at);
    return bytes;
  }

  #decoded(bytes: Buffer): Handle {
    this.#words.writeBigUInt64LE(bytes.length === 0 ? NONE : this.ssl.ffi.getRawPointer(bytes), 0);
    const response = bytes.length === 0 ? NONE : this.#c.d2i_OCSP_RESPONSE(NONE, this.#at, BigInt(bytes.length));
    if (response === NONE) throw this.#failure('d2i_OCSP_RESPONSE');
    return response;
  }

  #failure(what: string): Error {
    const reason = this.ssl.takeErrors();
    return new Error(reason === '' ? `${what}() failed` : `${what}() failed (SSL: ${reason})`);
  }

  /** @throws Error of OpenSSL for what is not PEM, and what `use` throws */
  #within<T>({ chain, trusted }: CertificateChain, use: (read: ReadChain, freed: Freed) => T): T {
    const { ssl } = this;
    const c = this.#c;
    const after: (() => void)[] = [];
    const freed: Freed = (object, free) => {
      if (object !== NONE) after.push(() => free(object));
      return object;
    };
    try {
      ssl.c.ERR_clear_error();
      const store = freed(c.X509_STORE_new(), c.X509_STORE_free);
      const certificates: Handle[] = [];
      eachCertificate(ssl, chain, (certificate) => {
        c.X509_up_ref(certificate);
        certificates.push(freed(certificate, ssl.c.X509_free));
        return true;
      });
      if (trusted !== undefined) eachCertificate(ssl, trusted, (authority) => ssl.c.X509_STORE_add_cert(store, authority) === 1);
      const [certificate = NONE, ...others] = certificates;
      return use({ certificate, chain: others, store }, freed);
    } finally {
      for (const free of after.reverse()) free();
      ssl.c.ERR_clear_error();
    }
  }
}

/** Frees an object when the call is over. @returns the object */
type Freed = (object: Handle, free: (object: Handle) => void) => Handle;
