import { isIP } from 'node:net';
import type { OtherSide, PresentedCertificate } from '../../tls.js';
import { NONE, type Handle, type OpenSsl } from './library.js';

/** The certificate that the other side of a handshake has shown. */
export class HandshakeOtherSide implements OtherSide {
  readonly #shown: Handle;

  /** @param ssl is used as long as this is */
  constructor(
    private readonly library: OpenSsl,
    private readonly ssl: Handle,
  ) {
    this.#shown = library.c.SSL_get0_peer_certificate(ssl);
  }

  certificate(): PresentedCertificate | undefined {
    const bytes = this.#shown === NONE ? undefined : this.library.encoded(this.#shown, 'i2d_X509');
    const number = this.#verification;
    return bytes && { bytes, error: number === 0n ? undefined : this.#textOf(number), errorNumber: Number(number) };
  }

  problem(): string | undefined {
    const number = this.#verification;
    return number === 0n ? undefined : `${number}:${this.#textOf(number)}`;
  }

  isFor(name: string): boolean {
    const { c } = this.library;
    if (this.#shown === NONE || name === '') return false;
    if (isIP(name) !== 0) return c.X509_check_ip_asc(this.#shown, name, 0) === 1;
    const bytes = Buffer.from(name);
    return c.X509_check_host(this.#shown, bytes, BigInt(bytes.length), 0, NONE) === 1;
  }

  get #verification(): bigint {
    return this.library.c.SSL_get_verify_result(this.ssl);
  }

  #textOf(number: bigint): string {
    return this.library.name(this.library.c.X509_verify_cert_error_string(number));
  }
}
