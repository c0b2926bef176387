/** The connection of a client, as the HTTP engine shows it. */

/** One end of a connection. */
export interface ConnectionEnd {
  readonly address: string;
  readonly port: number;
}

/** Content of a header of the PROXY protocol (`listen … proxy_protocol`). */
export interface ProxyHeader {
  /** The client of the proxy. Undefined: the proxy speaks for itself (LOCAL), or of something else than TCP over IP (UNKNOWN). */
  readonly source: ConnectionEnd | undefined;
  /** Where that client connected to. */
  readonly destination: ConnectionEnd | undefined;
  /** The TLVs of version 2 as bytes. */
  readonly tlvs: Buffer;
}

/** The certificate that a client has shown (`ssl_verify_client`). */
export interface ClientCertificate {
  /** Why it is not valid: OpenSSL's words. Undefined: an authority that the server trusts has signed it. */
  readonly error: string | undefined;
  /** The same as OpenSSL's number (`X509_V_ERR_…`, openssl/x509_vfy.h); 0: it is valid. */
  readonly errorNumber: number;
  /** Name of what it was verified against, see {@link TlsSettings.clientAuthority}. */
  readonly authority: string;
  /** In the form of RFC 2253: `CN=deploy,O=Example`. */
  readonly subject: string;
  readonly issuer: string;
  /** Hexadecimal digits in capitals. */
  readonly serial: string;
  /** SHA-1 and SHA-256 of it in hexadecimal digits. */
  readonly fingerprint: string;
  readonly fingerprint256: string;
  /** Epoch milliseconds of its begin and its end. */
  readonly validFrom: number;
  readonly validTo: number;
  readonly pem: string;
  /** Parts of the names as `subject` and `issuer` have them, in the order of the certificate; those of several values have `+` in between. */
  readonly subjectParts: readonly string[];
  readonly issuerParts: readonly string[];
}

/** Result of a TLS handshake. */
export interface ConnectionTls {
  /** `TLSv1.3`. */
  readonly protocol: string;
  /** As OpenSSL names it. */
  readonly cipher: string;
  readonly isReused: boolean;
  /** Requests come from early data (RFC 8446, 2.3), and the handshake is not over: an attacker may have recorded them, and sent them again. */
  readonly isEarly: boolean;
  readonly alpn: string | undefined;
  /** Hexadecimal digits. Empty: the session has none, or has none yet. */
  readonly sessionId: string;
  /** The group of the key exchange by its number (RFC 8446, 4.2.7); 0: there was none. */
  readonly group: number;
  /** Algorithms with which the server and the client have signed the handshake, by their numbers (RFC 8446, 4.2.3); 0: not signed, or not known. */
  readonly signature: number;
  readonly clientSignature: number;
  /** Offer of the client, as the `ClientHello` of `client-hello.ts` has it; empty: its hello could not be read. */
  readonly offered: { readonly ciphers: string; readonly groups: string; readonly signatures: string };
}

/** The client's connection. */
export interface ClientConnection {
  readonly id: number;
  /** Textual address; `unix:` for a unix socket. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  readonly secure: boolean;
  /** The host name that the client asked for in its TLS handshake with this server (SNI), in lower case. */
  readonly serverName: string | undefined;
  /** Undefined: it does not speak TLS with this server, or not yet. */
  readonly tls: ConnectionTls | undefined;
  /** Milliseconds since 1970 when it was accepted. */
  readonly acceptedAt: number;
  /** Requests read on it so far, this one included. */
  readonly requests: number;
  /** The present request was sent before the response to the one before it was complete. HTTP/2: false. */
  readonly isPipelined: boolean;
  /** Header of the PROXY protocol before its first request; undefined: nothing is expected there. */
  readonly proxy: ProxyHeader | undefined;
  /** The client's certificate. Undefined: it has shown none, or was not asked for one. */
  readonly certificate: ClientCertificate | undefined;
  /** Authority of certificates that the handshake requested: {@link TlsSettings.clientAuthority}. Undefined: it did not. */
  readonly clientAuthority: string | undefined;
}
