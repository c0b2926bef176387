/** Private keys that are encrypted (`ssl_password_file`). */
import type { InputFile } from '../../contract/resource.js';
import type { LockedKey } from '../../contract/tls-context.js';

/** The lines of a file of passwords, which are tried in turn. */
export function passwordsIn({ text }: InputFile): readonly string[] {
  return text.split(/\r?\n/).filter((line) => line !== '');
}

/** Where a key is, and the directive of its passwords. */
interface KeyPlace {
  readonly path: string;
  /** Name of the directive. */
  readonly place: string;
  readonly file: string;
}

/** Rejects an encrypted key without passwords. */
export function assertPasswords(
  scope: { fail(message: string, place: string, hint: string): never },
  pem: Buffer,
  passwords: readonly string[],
  { path, place, file }: KeyPlace,
): void {
  if (passwords.length > 0 || !pem.includes('ENCRYPTED')) return;
  scope.fail(`cannot load certificate key "${path}": it is encrypted`, place, `name a file with its password: ${file} passwords;`);
}

/**
 * The key with the password that opens it; without passwords, or if it is not encrypted, as it is.
 * @throws Error of OpenSSL: no password opens it
 */
export function unlocked(pem: Buffer, passwords: readonly string[]): Buffer | LockedKey {
  if (passwords.length === 0 || !pem.includes('ENCRYPTED')) return pem;
  const { createPrivateKey } = process.getBuiltinModule('node:crypto');
  let failure: unknown;
  for (const passphrase of passwords) {
    try {
      createPrivateKey({ key: pem, passphrase });
      return { pem, passphrase };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
