import { NONE, type Handle, type OpenSsl } from './library.js';

/** Calls `read` with a BIO over the text, which ends with it. @throws what `read` throws */
export function readPem(ssl: OpenSsl, pem: string | Buffer, read: (bio: Handle) => Handle): Handle {
  const bytes = Buffer.from(pem);
  if (bytes.length === 0) throw new Error('error:0480006C:PEM routines::no start line');
  const bio = ssl.c.BIO_new_mem_buf(bytes, bytes.length);
  ssl.assert(bio !== NONE);
  try {
    return read(bio);
  } finally {
    ssl.c.BIO_free(bio);
  }
}

/**
 * Reads all certificates of a text.
 * @param use false: OpenSSL cannot use it. The certificate is freed afterwards
 * @throws Error of OpenSSL, also if there is none
 */
export function eachCertificate(ssl: OpenSsl, pem: string | Buffer, use: (certificate: Handle, at: number) => boolean): void {
  const { c } = ssl;
  readPem(ssl, pem, (bio) => {
    for (let at = 0; ; at++) {
      const certificate = c.PEM_read_bio_X509_AUX(bio, NONE, NONE, '');
      if (certificate === NONE) {
        ssl.assert(at > 0);
        // The end of the text.
        c.ERR_clear_error();
        return NONE;
      }
      const isUsed = use(certificate, at);
      c.X509_free(certificate);
      ssl.assert(isUsed);
    }
  });
}
