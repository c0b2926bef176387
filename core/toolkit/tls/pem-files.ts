/** Files in PEM that OpenSSL reads without a word where they are broken: as nginx does, the configuration is rejected then. */
import type { ConfFile } from '../../contract/file.js';
import type { InputFile } from '../../contract/resource.js';

/** One kind of object in a file, and its labels in PEM (RFC 7468). */
interface Kind {
  readonly name: string;
  readonly labels: readonly string[];
  /** @throws Error with the reason */
  assert(block: string, der: Buffer): void;
}

const CERTIFICATE: Kind = {
  name: 'certificate',
  labels: ['CERTIFICATE', 'TRUSTED CERTIFICATE', 'X509 CERTIFICATE'],
  assert(block) {
    const { X509Certificate } = process.getBuiltinModule('node:crypto');
    void new X509Certificate(block);
  },
};
const REVOCATION_LIST: Kind = { name: 'CRL', labels: ['X509 CRL'], assert: () => undefined };
const DH_PARAMETERS: Kind = {
  name: 'DH parameters',
  labels: ['DH PARAMETERS', 'X9.42 DH PARAMETERS'],
  assert(_, der) {
    // The modulus comes first.
    if (der[contentOf(der)] !== INTEGER) throw new Error('bad ASN.1');
  },
};

/** Tags of ASN.1 (X.690, 8.1.2). */
const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Content of a file, or why it cannot be used. */
type Checked = { readonly bytes: Buffer } | { readonly problem: string };

/** Certificates of authorities. */
export const authoritiesIn = (file: InputFile): Checked => checked(file, CERTIFICATE);
/** Lists of revoked certificates, one for each authority. */
export const revocationListsIn = (file: InputFile): Checked => checked(file, REVOCATION_LIST);
export const dhParametersIn = (file: InputFile): Checked => checked(file, DH_PARAMETERS);

/** A scope in which a file is read. */
export type FileScope = Parameters<ConfFile<Checked>['in']>[0] & { fail(message: string, place: string, hint?: string): never };

/**
 * Reads a file.
 * @param what in the message: `certificate`
 * @param place name of the directive
 */
export function readChecked(scope: FileScope, file: ConfFile<Checked>, what: string, place: string, hint?: string): Buffer {
  const message = (reason: string): string => `cannot load ${what} "${file.path}": ${reason}`;
  const result = file.in(scope, place, message);
  return 'bytes' in result ? result.bytes : scope.fail(message(result.problem), place, hint);
}

function checked({ bytes, text }: InputFile, kind: Kind): Checked {
  let count = 0;
  for (const [, label = ''] of text.matchAll(/-----BEGIN ([^\n-]+)-----/g)) if (kind.labels.includes(label)) count++;
  if (count === 0) return { problem: `no ${kind.name} found` };
  let at = 0;
  for (const block of text.split(/(?=-----BEGIN )/)) {
    const [, label = ''] = /^-----BEGIN ([^\n-]+)-----/.exec(block) ?? [];
    if (!kind.labels.includes(label)) continue;
    at++;
    try {
      kind.assert(block, derOf(block, label));
    } catch (error) {
      const { message } = error as Error;
      return { problem: count === 1 ? message : `${kind.name} ${at} of ${count}: ${message}` };
    }
  }
  return { bytes };
}

/** @throws Error: it is cut off or not of this form */
function derOf(block: string, label: string): Buffer {
  const end = block.indexOf(`-----END ${label}-----`);
  if (end < 0) throw new Error(`no "-----END ${label}-----"`);
  const base64 = block.slice(block.indexOf('\n') + 1, end).replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new Error('bad base64');
  const der = Buffer.from(base64, 'base64');
  if (der[0] !== SEQUENCE || contentOf(der) + lengthOf(der) > der.length) throw new Error('bad ASN.1');
  return der;
}

/** Where the content of an element begins, which is the first one. */
function contentOf(der: Buffer): number {
  const length = der[1] ?? 0;
  return length < 0x80 ? 2 : 2 + (length & 0x7f);
}

function lengthOf(der: Buffer): number {
  const length = der[1] ?? 0;
  if (length < 0x80) return length;
  const size = length & 0x7f;
  return size === 0 || size > 4 || der.length < 2 + size ? Infinity : der.readUIntBE(2, size);
}
