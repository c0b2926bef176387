import type { TlsCommand, TlsLibrary } from '../../contract/tls-library.js';
import { isSuite } from './conf-commands.js';

/** Text that OpenSSL adds about a command, after the reason itself. */
const OF_COMMAND = / error:\w+:SSL routines::bad value:cmd=.*$/s;

/** Checks ciphers and groups where the configuration is checked, in nginx's words. */
export class NegotiationCheck {
  /** By the command: most servers have the same. */
  readonly #problems = new Map<string, string | undefined>();

  constructor(private readonly library: TlsLibrary) {}

  /** Why OpenSSL rejects a list of ciphers. Undefined: it does not, or its functions cannot be called here. */
  ofCiphers(ciphers: string): string | undefined {
    const list = ciphers.split(':').filter((name) => !isSuite(name));
    if (list.length === 0) return undefined;
    return this.#problem({ command: 'CipherString', value: list.join(':') }, `SSL_CTX_set_cipher_list("${ciphers}")`);
  }

  /** The same for groups of the key exchange. */
  ofGroups(groups: string): string | undefined {
    return groups === 'auto' ? undefined : this.#problem({ command: 'Groups', value: groups }, `SSL_CTX_set1_curves_list("${groups}")`);
  }

  /** @param call of nginx, for the message */
  #problem(command: TlsCommand, call: string): string | undefined {
    if (this.#problems.has(call)) return this.#problems.get(call);
    const reason = this.#reasonOf(command);
    const problem = reason === undefined ? undefined : `${call} failed${reason}`;
    this.#problems.set(call, problem);
    return problem;
  }

  #reasonOf(command: TlsCommand): string | undefined {
    if (this.library.obstacle !== undefined) return undefined;
    try {
      this.library.assertCommand(command);
      return undefined;
    } catch (error) {
      const [, reason] = /\(SSL: (.*)\)$/s.exec((error as Error).message) ?? [];
      return reason === undefined ? '' : ` (SSL: ${reason.replace(OF_COMMAND, '')})`;
    }
  }
}
