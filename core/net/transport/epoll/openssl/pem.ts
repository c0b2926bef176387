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

/** Functions of OpenSSL for one kind of object in PEM. */
interface Kind {
  readonly read: 'PEM_read_bio_X509_AUX' | 'PEM_read_bio_X509_CRL';
  readonly free: 'X509_free' | 'X509_CRL_free';
}

const CERTIFICATE: Kind = { read: 'PEM_read_bio_X509_AUX', free: 'X509_free' };
const REVOCATION_LIST: Kind = { read: 'PEM_read_bio_X509_CRL', free: 'X509_CRL_free' };

/**
 * Reads all certificates of a text.
 * @param use false: OpenSSL cannot use it. The certificate is freed afterwards
 * @throws Error of OpenSSL, also if there is none
 */
export function eachCertificate(ssl: OpenSsl, pem: string | Buffer, use: (certificate: Handle, at: number) => boolean): void {
  each(ssl, CERTIFICATE, pem, use);
}

/** The same with lists of revoked certificates: a file has one for each authority. */
export function eachRevocationList(ssl: OpenSsl, pem: string | Buffer, use: (list: Handle) => boolean): void {
  each(ssl, REVOCATION_LIST, pem, use);
}

function each(ssl: OpenSsl, { read, free }: Kind, pem: string | Buffer, use: (object: Handle, at: number) => boolean): void {
  const { c } = ssl;
  readPem(ssl, pem, (bio) => {
    for (let at = 0; ; at++) {
      const object = c[read](bio, NONE, NONE, '');
      if (object === NONE) {
        ssl.assert(at > 0);
        // The end of the text.
        c.ERR_clear_error();
        return NONE;
      }
      const isUsed = use(object, at);
      c[free](object);
      ssl.assert(isUsed);
    }
  });
}
