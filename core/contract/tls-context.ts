/** Versions of TLS. */
export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** A private key in PEM, with the password that opens it. */
export interface LockedKey {
  readonly pem: Buffer;
  readonly passphrase: string;
}

/** A text in PEM. */
export type PemText = string | Buffer;

/** Private keys in PEM: one, or those of the certificates, in their order. */
export type PrivateKeys = PemText | readonly (PemText | LockedKey)[];

/** Certificates, versions and ciphers of one side of TLS. Certificates and keys are texts in PEM. */
export interface TlsContextSettings {
  /** Chains to show, each beginning with the certificate itself. */
  readonly cert?: PemText | readonly PemText[] | undefined;
  /** Keys of the certificates. */
  readonly key?: PrivateKeys | undefined;
  /** Authorities that are trusted. */
  readonly ca?: PemText | readonly PemText[] | undefined;
  /** Certificates that were revoked. */
  readonly crl?: PemText | readonly PemText[] | undefined;
  readonly minVersion?: TlsVersion | undefined;
  readonly maxVersion?: TlsVersion | undefined;
  /** In the form of OpenSSL; those of TLS 1.3 are a part of it. */
  readonly ciphers?: string | undefined;
  /** The order of the server decides, not that of the client. */
  readonly honorCipherOrder?: boolean | undefined;
  /** Groups of the key exchange, the preferred one first, with `:` in between; `auto`: those of OpenSSL. */
  readonly ecdhCurve?: string | undefined;
  /** Signature algorithms, with `:` in between. */
  readonly sigalgs?: string | undefined;
  /** Parameters of DHE in PEM; `auto`: those of OpenSSL. */
  readonly dhparam?: 'auto' | Buffer | undefined;
  /** Most bytes of content in a record that is sent: 512 to 16384 (RFC 8446, 5.1). */
  readonly recordSize?: number | undefined;
  /** Bits of `SSL_OP_…`. */
  readonly secureOptions?: number | undefined;
  /** Sessions are good for servers with the same one. 32 bytes at most. */
  readonly sessionIdContext?: string | undefined;
  /** Seconds. */
  readonly sessionTimeout?: number | undefined;
  /** Name, HMAC key and AES key of tickets: 48 or 80 bytes. */
  readonly ticketKeys?: Buffer | undefined;
}
