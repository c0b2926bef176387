import type { CertificateChooser, ChosenCertificates } from '../../contract/manifest.js';
import { systemErrorText } from '../../contract/system-error.js';
import { leavesFolder } from '../../contract/path-template.js';
import type { CertificateCache } from './certificate-cache.js';
import { unlocked } from './encrypted-keys.js';
import { digestOf } from './digest.js';
import type { EqualTexts, VariablePem } from './pem.js';

/** A chain or a key: its bytes, or what they are found by. */
export type PemContent<R> = Buffer | VariablePem<R>;

export interface SourcePair<R> {
  readonly cert: PemContent<R>;
  readonly key: PemContent<R>;
}

/** Last choice with a chain in the first place. */
interface Known {
  readonly bytes: readonly Buffer[];
  readonly chosen: ChosenCertificates;
}

/** Certificates and keys whose files, or whose text, variables name. They are the same objects as long as their bytes are the same. */
export class VariableCertificates<R extends object> implements CertificateChooser {
  readonly #known = new WeakMap<Buffer, Known>();

  constructor(
    private readonly pairs: readonly SourcePair<R>[],
    private readonly cache: CertificateCache,
    private readonly texts: EqualTexts,
    /** Of keys, see {@link unlocked}. */
    private readonly passwords: readonly string[],
  ) {}

  /** Undefined: the name of the first certificate is empty. */
  choose(subject: R): ChosenCertificates | undefined {
    const bytes: Buffer[] = [];
    for (const { cert, key } of this.pairs) {
      const chain = this.#read(cert, subject, 'certificate');
      if (chain === undefined && bytes.length === 0) return undefined;
      const secret = this.#read(key, subject, 'certificate key');
      if (chain === undefined || secret === undefined) throw new Error('cannot load certificate "": no certificate found');
      bytes.push(chain, secret);
    }
    const [first] = bytes;
    if (first === undefined) return undefined;
    const known = this.#known.get(first);
    if (known?.bytes.every((one, at) => one === bytes[at]) === true) return known.chosen;
    const chosen = this.#chosen(bytes);
    this.#known.set(first, { bytes, chosen });
    return chosen;
  }

  #chosen(bytes: readonly Buffer[]): ChosenCertificates {
    const chains = bytes.filter((_, at) => at % 2 === 0);
    const keys = bytes.filter((_, at) => at % 2 === 1);
    return { cert: chains, key: keys.map((key) => unlocked(key, this.passwords)), digest: digestOf(chains) };
  }

  /** @throws Error whose message is for the error log */
  #read(source: PemContent<R>, subject: R, what: string): Buffer | undefined {
    if (Buffer.isBuffer(source)) return source;
    const { text, isData, absolute } = source;
    const value = text.of(subject);
    if (value === '') return undefined;
    if (isData) return this.#one(Buffer.from(value, 'latin1'));
    const path = absolute(Buffer.from(value, 'latin1').toString());
    if (/(?:^|\/)\.\.(?:\/|$)|\0/.test(value) || leavesFolder(text, path, absolute))
      throw new Error(`cannot load ${what} "${path}": it is outside of its folder`);
    try {
      return this.#one(this.cache.read(path));
    } catch (error) {
      throw new Error(`cannot load ${what} "${path}": ${systemErrorText(error)}${hintFor(error)}`, { cause: error });
    }
  }

  readonly #digests = new WeakMap<Buffer, string>();

  #one(bytes: Buffer): Buffer {
    const digest = this.#digests.get(bytes) ?? digestOf([bytes]);
    const one = this.texts.one(bytes, digest);
    this.#digests.set(bytes, digest);
    return one;
  }
}

/** Root reads the files that the configuration names, and none whose names requests make. */
function hintFor(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code !== 'EACCES') return '';
  return ', files that variables name are read by the user of the server: let it read this one';
}
