import type * as Ffi from 'node:ffi';
import type { TlsCommand } from '../../../../contract/tls-library.js';
import type { Handle, OpenSsl } from './library.js';

const DEFINITIONS = {
  SSL_CONF_CTX_finish: { arguments: ['pointer'], return: 'i32' },
  SSL_CONF_CTX_free: { arguments: ['pointer'], return: 'void' },
  SSL_CONF_CTX_new: { arguments: [], return: 'pointer' },
  SSL_CONF_CTX_set_flags: { arguments: ['pointer', 'u32'], return: 'u32' },
  SSL_CONF_CTX_set_ssl_ctx: { arguments: ['pointer', 'pointer'], return: 'void' },
  SSL_CONF_cmd: { arguments: ['pointer', 'string', 'string'], return: 'i32' },
} as const;

type Functions = Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];

/** `SSL_CONF_FLAG_…` FILE, CLIENT, SERVER, SHOW_ERRORS and CERTIFICATE: as in nginx, every command is for both sides. */
const FLAGS = 0x2 | 0x4 | 0x8 | 0x10 | 0x20;

/** Commands of OpenSSL's configuration (SSL_CONF_cmd(3)). */
export class ConfCommands {
  readonly #c: Functions;

  /** @throws Error if a function is missing */
  constructor(private readonly ssl: OpenSsl) {
    this.#c = ssl.ffi.dlopen(null, DEFINITIONS).functions;
  }

  /** Changes a context by all commands. @throws Error for the first that is not possible, in nginx's words */
  apply(context: Handle, commands: readonly TlsCommand[]): void {
    const c = this.#c;
    const at = c.SSL_CONF_CTX_new();
    try {
      c.SSL_CONF_CTX_set_flags(at, FLAGS);
      c.SSL_CONF_CTX_set_ssl_ctx(at, context);
      this.ssl.c.ERR_clear_error();
      for (const { command, value } of commands) {
        if (c.SSL_CONF_cmd(at, command, value) <= 0) throw this.#failure(`SSL_CONF_cmd("${command}", "${value}") failed`);
      }
      if (c.SSL_CONF_CTX_finish(at) !== 1) throw this.#failure('SSL_CONF_CTX_finish() failed');
    } finally {
      c.SSL_CONF_CTX_free(at);
    }
  }

  #failure(text: string): Error {
    const reason = this.ssl.takeErrors();
    return new Error(reason === '' ? text : `${text} (SSL: ${reason})`);
  }
}
