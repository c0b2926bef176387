import { argType } from '../../contract/arg-type.js';
import { file, type ConfFile } from '../../contract/file.js';
import type { InputFile } from '../../contract/resource.js';
import type { ArgType } from '../../contract/spec.js';
import type { EngineTemplate } from '../../contract/template.js';

/** Prefix of a certificate or key that is in the configuration itself, instead of the path of a file. */
const DATA = 'data:';

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;
const inFile = file(bytesOf);

/** Certificates or a key in PEM: the path of a file, or the text itself after `data:`. */
export function pem(): ArgType<ConfFile<Buffer>, string> {
  return argType({
    kind: 'path',
    form: 'path | data:text',
    parse(text, context, written) {
      if (!text.startsWith(DATA)) return inFile.parse(text, context, written);
      const bytes = Buffer.from(text.slice(DATA.length));
      return { path: DATA, in: () => bytes };
    },
  });
}

/** Certificates or a key whose place is known with each handshake or connection only. */
export interface VariablePem<R> {
  /** The path of a file, or the text itself. */
  readonly text: EngineTemplate<R>;
  readonly isData: boolean;
  /** Makes a path absolute. */
  readonly absolute: (path: string) => string;
}

/** As {@link pem} gives it, or with variables. */
export interface PemSource<R> extends ConfFile<Buffer> {
  /** Undefined: there are no variables in it. */
  readonly variable: VariablePem<R> | undefined;
}

/** As {@link pem}, with variables in the path or after `data:`. */
export function pemSource<R>(): ArgType<PemSource<R>, string> {
  const constant = pem();
  return argType({
    kind: 'path',
    form: 'path | data:text',
    parse(text, context, written) {
      // PEM has no such sign.
      if (!text.includes('$')) return { ...constant.parse(text, context, written), variable: undefined };
      const isData = text.startsWith(DATA);
      if (!isData) context.names?.(text, 'conf');
      const variable: VariablePem<R> = {
        text: context.template(isData ? text.slice(DATA.length) : text) as EngineTemplate<R>,
        isData,
        absolute: (path) => context.path(path, 'conf'),
      };
      return { path: isData ? DATA : text, in: (scope, place) => scope.file(text, bytesOf, place), variable };
    },
  });
}

export function isVariable(certificate: PemSource<never>, key: PemSource<never> | undefined): boolean {
  return certificate.variable !== undefined || key?.variable !== undefined;
}

/** Gives equal texts the same memory, so that servers with the same certificate share a TLS context. */
export class EqualTexts {
  readonly #known = new Map<string, WeakRef<Buffer>>();

  /** @param digest of the bytes */
  one(bytes: Buffer, digest: string): Buffer {
    const known = this.#known.get(digest)?.deref();
    if (known !== undefined) return known;
    for (const [old, reference] of this.#known) if (reference.deref() === undefined) this.#known.delete(old);
    this.#known.set(digest, new WeakRef(bytes));
    return bytes;
  }
}
