import { argType } from '../arg-type.js';
import { file, type ConfFile } from '../file.js';
import type { InputFile } from '../resource.js';
import type { ArgType } from '../spec.js';

/** What stands in front of a certificate or key that the configuration itself has, instead of the path of a file. */
const DATA = 'data:';

const bytesOf = ({ bytes }: InputFile): Buffer => bytes;
const inFile = file(bytesOf);

/** Certificates or a key in PEM: the path of a file, or the text itself behind `data:`. */
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
