/** A certificate of a server, with what its issuer is looked for in. All of it in PEM. */
export interface CertificateChain {
  /** The certificate, and others that it sends along. */
  readonly chain: Buffer;
  /** Authorities (`ssl_trusted_certificate`); undefined: none. */
  readonly trusted: Buffer | undefined;
}

/** A question to a responder of OCSP (RFC 6960). */
export interface StatusInquiry {
  /** In DER. */
  readonly request: Buffer;
  /** URL in the certificate; undefined: it has none. */
  readonly responder: string | undefined;
}

/** The response of a responder for one certificate of a server, which clients get along with it (RFC 6066, 8). */
export interface StapledStatus {
  /** In DER; undefined: there is none that is valid now. */
  response(): Uint8Array | undefined;
}

/** A command of OpenSSL (`ssl_conf_command`, SSL_CONF_cmd(3)). */
export interface TlsCommand {
  readonly command: string;
  /** Paths are absolute. */
  readonly value: string;
}

/** OpenSSL's own functions, for what Node.js has none for. To be used where the configuration is checked: it takes memory. Since api `'1.2'`. */
export abstract class TlsLibrary {
  /** Why the functions cannot be called here, for operators; undefined: they can. */
  abstract readonly obstacle: string | undefined;
  /** A question about the status of a certificate. Undefined: its issuer is not known. @throws Error with what OpenSSL says */
  abstract inquiryOf(certificate: CertificateChain): StatusInquiry | undefined;
  /**
   * Checks a response (ssl_stapling).
   * @param verifies also its signature, with the authorities of the certificate (ssl_stapling_verify)
   * @returns milliseconds for which it is valid; Infinity: it does not say
   * @throws Error in nginx's words, if it does not say that the certificate is good
   */
  abstract validityOf(response: Buffer, certificate: CertificateChain, verifies: boolean): number;
  /** @throws Error with what OpenSSL says, if it is not a response of OCSP in DER */
  abstract assertResponse(bytes: Buffer): void;
  /** Tries a command. @throws Error with what OpenSSL says */
  abstract assertCommand(command: TlsCommand): void;
}
