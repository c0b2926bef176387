import type { CertificateChain, StatusInquiry, TlsCommand, TlsLibrary } from '../../../../contract/tls-library.js';
import { foreignFunctions } from '../foreign-functions.js';
import { ConfCommands } from './conf-commands.js';
import { OpenSsl } from './library.js';
import { OcspCalls } from './ocsp.js';

/** The functions that one thread has called so far, or why none can be. */
interface Calls {
  readonly ssl: OpenSsl;
  readonly ocsp: OcspCalls;
  readonly commands: ConfCommands;
}

/** The OpenSSL that is in Node.js, opened with the first use. */
export class SystemTlsLibrary implements TlsLibrary {
  #opened: Calls | string | undefined = undefined;

  get obstacle(): string | undefined {
    const opened = this.#open();
    return typeof opened === 'string' ? opened : undefined;
  }

  inquiryOf(certificate: CertificateChain): StatusInquiry | undefined {
    return this.#calls.ocsp.inquiryOf(certificate);
  }

  validityOf(response: Buffer, certificate: CertificateChain, verifies: boolean): number {
    return this.#calls.ocsp.validityOf(response, certificate, verifies);
  }

  assertResponse(bytes: Buffer): void {
    this.#calls.ocsp.assertResponse(bytes);
  }

  assertCommand(command: TlsCommand): void {
    const { ssl, commands } = this.#calls;
    const context = ssl.c.SSL_CTX_new(ssl.c.TLS_method());
    try {
      commands.apply(context, [command]);
    } finally {
      ssl.c.SSL_CTX_free(context);
      ssl.c.ERR_clear_error();
    }
  }

  get #calls(): Calls {
    const opened = this.#open();
    if (typeof opened === 'string') throw new Error(`OpenSSL's own functions cannot be used: ${opened}`);
    return opened;
  }

  #open(): Calls | string {
    return (this.#opened ??= openCalls());
  }
}

function openCalls(): Calls | string {
  const ffi = foreignFunctions();
  if (typeof ffi === 'string') return ffi;
  try {
    const ssl = new OpenSsl(ffi);
    return { ssl, ocsp: new OcspCalls(ssl), commands: new ConfCommands(ssl) };
  } catch (error) {
    return (error as Error).message;
  }
}
