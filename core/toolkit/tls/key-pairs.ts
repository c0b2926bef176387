import { certificatesIn, keyKindOf, type KeyKind } from '../../contract/certificates.js';

/** A certificate chain and its key, both in PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  /** Of the certificate, for messages. */
  readonly path: string;
  readonly key: Buffer;
  /** Of one that came by API: it takes the place of others of its kind. */
  readonly dynamicKind: KeyKind | undefined;
}

/** Certificates of a server: for each kind the one set by the API, else that of the file. */
export function pairsInForce(ofFile: readonly KeyPair[], dynamic: readonly KeyPair[]): readonly KeyPair[] {
  if (dynamic.length === 0) return ofFile;
  const kinds = new Set(dynamic.map(({ dynamicKind }) => dynamicKind));
  return [...ofFile.filter(({ cert }) => !kinds.has(kindOf(cert))), ...dynamic];
}

/** Undefined: it is of another kind, or none that could be read; that is reported where it is used. */
function kindOf(chain: Buffer): KeyKind | undefined {
  try {
    const [first] = certificatesIn(chain.toString('latin1'));
    return first && keyKindOf(first);
  } catch {
    return undefined;
  }
}
