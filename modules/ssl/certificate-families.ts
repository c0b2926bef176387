import { certificatesIn, keyKindOf, type ServedCertificate, type ServedCertificates } from '../../core/contract/certificates.js';
import type { FigureFamily, Sample } from '../../core/contract/families.js';
import type { VirtualServers } from '../../core/contract/virtual-servers.js';

interface Expiry {
  readonly kind: string;
  /** Epoch milliseconds. */
  readonly at?: number;
}

/** When the certificates of servers expire, for monitoring. */
export class CertificateFamilies {
  /** By chain: each is parsed once. Without `at` it cannot be parsed. */
  readonly #known = new WeakMap<Buffer, Expiry>();

  constructor(
    private readonly servers: VirtualServers,
    private readonly certificates: ServedCertificates,
  ) {}

  *families(): Generator<FigureFamily> {
    yield {
      name: 'srv_tls_certificate_expiry_timestamp',
      help: 'When the certificate of a server expires, since 1970.',
      unit: 'seconds',
      kind: 'gauge',
      samples: this.#samples(),
    };
  }

  *#samples(): Generator<Sample> {
    for (const { directive, addresses, names } of this.servers.all()) {
      for (const certificate of this.certificates.of(directive)) {
        const expiry = this.#expiryOf(certificate);
        if (expiry.at === undefined) continue;
        yield { labels: { server: names[0] ?? '', address: addresses[0] ?? '', type: expiry.kind }, value: expiry.at };
      }
    }
  }

  #expiryOf({ chain }: ServedCertificate): Expiry {
    let expiry = this.#known.get(chain);
    if (expiry === undefined) {
      expiry = expiryIn(chain);
      this.#known.set(chain, expiry);
    }
    return expiry;
  }
}

function expiryIn(chain: Buffer): Expiry {
  try {
    const [first] = certificatesIn(chain.toString('latin1'));
    if (first === undefined) return { kind: 'other' };
    return { kind: keyKindOf(first) ?? 'other', at: first.validToDate.getTime() };
  } catch {
    return { kind: 'other' };
  }
}
